/* guess: asks the user for a prediction before the run, and logs it with the outcome. */
#ifndef LOCKSTEP_GUESS_H
#define LOCKSTEP_GUESS_H

#include "report/run_report.h"

/* Seconds guessed for case `name` in a list of CASE=MS words; NaN without a guess. */
double guess_of(const struct option_list *guesses, const char *name);

/* End the program with STATUS_USAGE if a word is not CASE=MS or names no case of `names` (NULL-terminated). */
void guess_refuse(const struct option_list *guesses, const char *const *names);

/* Ask `question` on the terminal until the user types a number. Returns milliseconds, or NaN for Enter or the end of input. */
double guess_ask(const char *question);

/* Append every guess of this run, with prediction and measurement, to folder/guesses.csv among the run's files. */
void guess_keep(const struct report *report, const char *folder);

#endif
