/* hint: suggests what to look at next, from the parts of a case's steps. */
#ifndef LOCKSTEP_HINT_H
#define LOCKSTEP_HINT_H

#include "culprit.h"

struct hint {
    char *next;         /* "rank 1 is late in its data; notebooks-md/01_straggler.md tries what helps." Free it */
    const char *lesson; /* its file's stem; NULL: none fits */
    const char *remedy; /* what to try in PyTorch: the row of notebooks-md/cheat_sheet.md; NULL: nothing yet */
};

struct hint hint_of(const struct outcome *outcome, const struct culprit *culprit, const struct hosts *hosts);

#endif
