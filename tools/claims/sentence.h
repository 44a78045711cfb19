/* sentence: all verdicts of a call in one sentence. */
#ifndef LOCKSTEP_SENTENCE_H
#define LOCKSTEP_SENTENCE_H

#include "verdict.h"

/* Numbers of verdicts. `once`: of those too noisy, how many were measured in one round only, which shows no noise. `terms`: claims about
 * all cases; `noticed` of these would be wrong if their term were off by a fifth. */
struct verdict_counts {
    int of[VERDICTS], once, terms, noticed;
};

/* Count a verdict on a claim with `rounds` rounds; rounds_to_notice counts for claims about all cases, and is negative for others. */
void verdict_count(struct verdict_counts *counts, enum verdict verdict, int rounds, int rounds_to_notice);

/* Return, in new memory, "Of 151 claims about time, 139 came out as predicted, 0 wrong, 12 are undecided (5 too noisy, 3 disturbed,
 * 4 measured only once, for lack of time); 672 exact checks hold, 0 fail." and, if there are any, how many claims cannot be tested. */
char *sentence_of(const struct verdict_counts *counts);

#endif
