/* sentence: all verdicts of a call in one sentence. */
#ifndef LOCKSTEP_SENTENCE_H
#define LOCKSTEP_SENTENCE_H

#include "verdict.h"

/* Return, in new memory, "Of 151 claims about time, 139 came out as predicted, 0 wrong, 12 are undecided (9 too noisy, 3
 * disturbed); 672 exact checks hold, 0 fail." and, if there are any, how many claims cannot be tested. `count` is by verdict. */
char *sentence_of(const int count[VERDICTS]);

#endif
