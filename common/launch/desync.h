/* desync: which rank called other collectives than the others, and why. Such a job is called desynchronised:
 * its ranks wait for each other without end, or add up data that do not belong together.
 *
 * The evidence is what each rank recorded: its last calls, the one that it waits in, whether it has ended. Ranks of a group number
 * their calls, so that calls of one number must be alike: same kind, size, step and bucket. Of the first number where they are not,
 * or that a rank never reaches:
 *
 *     left out          a rank makes the next call of the others instead; numbers of buckets or steps show the gap
 *     another order     a rank makes the call of the others later, and theirs first
 *     another size      the same bucket, or kind of call, with other bytes
 *     another call      another kind of collective
 *     ended early       a rank has ended, or has left its steps, where the others begin another step
 *     crossed groups    ranks wait in different groups, each for a call that the other has not made
 *
 * The party of fewer ranks is at fault. If both are equal, it is the party whose call differs from its call at this place of the step
 * before; if this shows nothing either, both are named. */
#ifndef LOCKSTEP_DESYNC_H
#define LOCKSTEP_DESYNC_H

#include "launch/collective_call.h"
#include "launch/flight_recorder.h"

/* State of a rank, and its last calls. */
struct rank_record {
    int rank;
    bool is_gone, has_finished; /* its process ended: anyhow, or normally */
    bool is_inside;
    struct collective_call inside; /* the call that it waits in, if is_inside */
    int calls;
    struct collective_call call[FLIGHT_RECORDER_CALLS]; /* (calls) the last ones, the oldest first */
};

/* True if two calls of one number belong together. Ranks at the ends of a chain send or receive nothing. */
bool desync_is_alike(const struct collective_call *a, const struct collective_call *b);

/* Return one line about the records (count), which are in order of their ranks: ranks, group, collective, sizes, cause and cure; NULL if
 * all fits together so far. *is_settled: the ranks concerned wait or have ended, so that they will make no further call. Free the line. */
char *desync_text(const struct rank_record *record, int count, bool *is_settled);

#endif
