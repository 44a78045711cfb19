/* brief: with LOCKSTEP_BRIEF_CARD in the environment, the machine card, probes and a lab's own tables are measured as briefly as
 * possible: one lap or call of each kind on little memory, also while other programs have the cores, and a card on disk is not checked.
 * For tests of a program whose times are not checked; predictions from such a card are noise. */
#ifndef LOCKSTEP_BRIEF_H
#define LOCKSTEP_BRIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static inline bool card_is_brief(void)
{
    return getenv("LOCKSTEP_BRIEF_CARD") != NULL;
}

/* Return the number of times to measure: `usual`, or 1 if brief. */
static inline int card_times(int usual)
{
    return card_is_brief() ? 1 : usual;
}

/* Return the number of bytes or elements to measure with: `usual`, or a part of it if brief. */
static inline size_t card_size(size_t usual)
{
    enum { BRIEFER = 32 };
    return card_is_brief() ? usual / BRIEFER : usual;
}

#endif
