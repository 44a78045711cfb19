/* collective_call: a collective as records and messages show it. */
#ifndef LOCKSTEP_COLLECTIVE_CALL_H
#define LOCKSTEP_COLLECTIVE_CALL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum collective_kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, SEND_RECEIVE, BARRIER, COLLECTIVE_KINDS };

extern const char *const collective_names[COLLECTIVE_KINDS]; /* "all-reduce" */

/* A rank's call of a collective. */
struct collective_call {
    enum collective_kind kind;
    int group;        /* number of the group of ranks; 0: ranks 0 to ranks - 1 */
    uint64_t members; /* of another group: its ranks below 64, as bits */
    int sequence;     /* number of the collective in its group */
    int ranks;        /* size of the group */
    int step;         /* in the block, warm-up included; -1: none */
    size_t bytes;     /* of the larger buffer of one rank; of a message, the bytes sent or received; 0: a barrier */
};

/* Print "all-gather 5 of 12.5 MB in group 2 of ranks 0 and 2 (step 7)"; the group only if it is not group 0. */
void collective_call_print(FILE *out, const struct collective_call *call);

#endif
