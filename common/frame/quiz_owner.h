/* quiz_owner: a quiz (quiz.h) in a lab about memory asks which owner (ledger.h) takes more than in the baseline, instead of a rank. */
#ifndef LOCKSTEP_QUIZ_OWNER_H
#define LOCKSTEP_QUIZ_OWNER_H

#include "frame/lab_spec.h"

/* Return the owner whose memory grows most from the baseline to a case, as the lab foresees it: lab_spec.case_need(). -1: none grows by a
 * hundredth of all. */
int quiz_owner_that_grew(const struct lab_spec *spec, const struct options *base, const struct variant *variant);

/* Return the owner that is called so; -1 for any other word. */
int quiz_owner_called(const char *word);

/* Print the memory of each owner at the peak of a step, in the baseline and in the hidden case, by memory.csv in this folder. */
void quiz_owner_show(const char *folder, const char *baseline, const char *hidden);

#endif
