/* judge: evaluates claims. Claims that must hold are judged by summary.csv, claims about time by the rounds of rounds.csv. */
#ifndef LOCKSTEP_JUDGE_H
#define LOCKSTEP_JUDGE_H

#include "judgement.h"

/* Evaluate all claims at one place. `gate` keeps only those that must hold. Claims about time have their evidence
 * afterwards and no verdict yet. */
void judge_place(struct lab *lab, int at, bool gate);

/* Return the number of claims of the place that are tested by rounds. */
int judge_count_tests(const struct place *place);

/* Give the verdicts on claims about time. `tests`: claims tested by rounds in this call, of all labs and places. */
void judge_decide(struct place *place, int tests);

#endif
