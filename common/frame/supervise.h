/* supervise: the work of the process that the user started, before and around its ranks. */
#ifndef LOCKSTEP_SUPERVISE_H
#define LOCKSTEP_SUPERVISE_H

#include "frame/cases.h"

/* Choose what ranks train on, and where. Refuse a run that does not fit this machine's memory. With --dry-run, print what would
 * run and exit. Otherwise make the results folder, ask for the guess if a user can answer (from the card, measured if missing),
 * start the ranks, and exit with their status. */
_Noreturn void supervise(const struct lab_spec *spec, const struct options *base, struct cases *cases,
                         const struct option_row *const *tables, char *const *arguments);

#endif
