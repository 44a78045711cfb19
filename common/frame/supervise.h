/* supervise: what the program a person typed does before and around its ranks. */
#ifndef LOCKSTEP_SUPERVISE_H
#define LOCKSTEP_SUPERVISE_H

#include "frame/cases.h"

/* Decides what ranks train on, and where; refuses what cannot fit into this machine's memory; tells what would run, where
 * that was all that was asked (--dry-run). Else it makes the folder of the results, shows the card and asks for the guess where somebody can
 * answer, starts the ranks, exits with their status. */
_Noreturn void supervise(const struct lab_spec *spec, const struct options *base, struct cases *cases,
                         const struct option_row *const *tables, char *const *arguments);

#endif
