/* quiz: the supervisor's part of --blind (blind.h), after the run: evidence, questions, answer. */
#ifndef LOCKSTEP_QUIZ_H
#define LOCKSTEP_QUIZ_H

#include "frame/lab_spec.h"

/* Print the actions of each rank. Ask on standard input which case it was and which rank is the cause, then print the truth. Add a row
 * to blind.csv among the results: `case` and `rank` are the truth, `answered_case` and `answered_rank` the answer, blank if skipped. A
 * rank is a number or "none"; in labs about memory it is an owner (quiz_owner.h) or "none". `right` grades the case: right, half, wrong
 * or blank. `platform` as in run_folder(); `arguments` are the program's. */
void quiz_play(const struct lab_spec *spec, const struct options *base, const char *platform, char *const *arguments);

#endif
