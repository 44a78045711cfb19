/* flight_diagnosis: which rank is missing in which collective, from the dumps of flight recorders.
 *
 * Per group the collectives are compared by number, from the first on. The first of these findings ends the group:
 *
 *     different calls   the members called another kind or size. The smaller party is named, or both if they are equal.
 *     missing           a member's dump ends before this collective, which others have called. Members that are missing only because
 *                       they wait in a collective of another group are not named.
 *     no dump           all dumps have reached this last collective, it has not ended on all, and a member has no dump.
 *     stalled           all members have called it alike, and it has not ended on all. No rank is named: the network, or a dump taken
 *                       in the middle of the collective.
 *
 * A collective that completed on one rank cannot lack another one. Then the dumps are of different moments, or of different jobs.
 * gloo does not tell completion from failure: calls that ended beyond the last call of a rank contradict its dump if there are
 * several, and none is still open. A single one names the rank. */
#ifndef LOCKSTEP_FLIGHT_DIAGNOSIS_H
#define LOCKSTEP_FLIGHT_DIAGNOSIS_H

#include "flight_teams.h"

#include <stdio.h>

enum flight_verdict {
    FLIGHT_NOTHING = 0,       /* no rank is named */
    FLIGHT_CONTRADICTION = 1, /* the dumps do not belong together */
    FLIGHT_NAMED = 10,
};

/* Print the findings. *is_well: all calls are alike, and none is under way. */
enum flight_verdict flight_diagnose(FILE *out, const struct flight_job *job, bool *is_well);

#endif
