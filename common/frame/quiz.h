/* riddle: what the supervisor does with a case that ran without its name (blind.h): the evidence, the question, the truth. */
#ifndef LOCKSTEP_RIDDLE_H
#define LOCKSTEP_RIDDLE_H

#include "frame/lab_spec.h"

/* Shows what each rank did, asks on standard input which case it was and which rank is the cause, tells the truth and keeps
 * the answer in blind.csv among the results, a row per riddle: `case` and `rank` are the truth, `answered_case` and
 * `answered_rank` what was said, blank where nothing was; a rank is a number or "nobody"; `right` judges the case: right,
 * half, wrong or blank. `platform` as in run_folder(); `arguments` are the program's. */
void quiz_play(const struct lab_spec *spec, const struct options *base, const char *platform, char *const *arguments);

#endif
