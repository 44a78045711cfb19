/* flight_arrivals: which ranks called the collectives last, where none is missing. */
#ifndef LOCKSTEP_FLIGHT_ARRIVALS_H
#define LOCKSTEP_FLIGHT_ARRIVALS_H

#include "flight_teams.h"

#include <stdio.h>

/* Print a table for each group whose members all have dumps: how often a rank called last, and how long after the one before. The
 * times are those of the hosts' clocks, and on a GPU of the CPU's call. They name no rank: a recorder knows no phases. */
void flight_arrivals_print(FILE *out, const struct flight_job *job);

#endif
