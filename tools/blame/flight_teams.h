/* flight_teams: the process groups of a job, and the calls of each member side by side, from the dumps of its flight recorders. */
#ifndef LOCKSTEP_FLIGHT_TEAMS_H
#define LOCKSTEP_FLIGHT_TEAMS_H

#include "flight_file.h"

struct flight_member {
    int rank;
    bool has_dump;
    const struct flight_call *call; /* (count) its collectives in this group, by sequence */
    int count;
};

/* Members are the ranks that a dump lists. If none does, as with gloo, they are all ranks of the job for PyTorch's default group,
 * and else the ranks that called in the group. */
struct flight_team {
    const char *name, *description;
    bool is_listed; /* all members are known */
    int members;
    struct flight_member *member; /* (members) by rank */
    int64_t lowest, highest;      /* sequence of any member's first and last call */
};

struct flight_job {
    const struct flight_dump *dump; /* (dumps) by rank */
    int dumps;
    int teams;
    struct flight_team *team;
    int64_t newest; /* when the last call of all was made */
    int messages;
};

/* Take dumps of different ranks, sorted by rank. */
struct flight_job flight_job_of(const struct flight_dump *dump, int dumps);
void flight_job_close(struct flight_job *job);

/* Return the call with this number; NULL if the member made none, or if its dump has lost it or is missing. */
const struct flight_call *flight_call_at(const struct flight_member *member, int64_t sequence);

/* True if the member's dump ends before this number. */
bool flight_is_behind(const struct flight_member *member, int64_t sequence);

#endif
