/* guess: what the learner thinks will happen, before it does. */
#ifndef LOCKSTEP_GUESS_H
#define LOCKSTEP_GUESS_H

#include "report/run_report.h"

/* The seconds guessed for `name` in a list of CASE=MS words; NaN when there is none. */
double guess_of(const struct option_list *guesses, const char *name);

/* Ends the program with STATUS_USAGE when a word is not CASE=MS or names no case of `names` (NULL-terminated). */
void guess_refuse(const struct option_list *guesses, const char *const *names);

/* Asks `question` on the terminal until a number comes. Returns milliseconds, or NaN for Enter or the end of input. */
double guess_ask(const char *question);

/* Adds every guess of this run, its formula and its measurement to folder/guesses.csv, among the run's files. */
void guess_keep(const struct report *report, const char *folder);

#endif
