/* collective_call: a collective as records and messages show it. */
#ifndef LOCKSTEP_COLLECTIVE_CALL_H
#define LOCKSTEP_COLLECTIVE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum collective_kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, SEND_RECEIVE, BARRIER, COLLECTIVE_KINDS };

extern const char *const collective_names[COLLECTIVE_KINDS]; /* "all-reduce" */

/* A rank's call of a collective. */
struct collective_call {
    enum collective_kind kind;
    int opened;       /* tells apart the collectives that the same ranks opened one after another; -1: unknown */
    int group;        /* number of the group of ranks; 0: ranks 0 to ranks - 1 */
    uint64_t members; /* of another group: its ranks below 64, as bits */
    int sequence;     /* number of the collective in its group */
    int ranks;        /* size of the group */
    int step;         /* in the block, warm-up included; -1: none */
    int bucket;       /* of a reducer: 1 is the first that each step sums; 0: none */
    size_t bytes;     /* of the larger buffer of one rank; of a message, the bytes sent or received; 0: a barrier */
};

/* True if a rank is in the group of the call. Of ranks from 64 on only group 0 is known. */
static inline bool collective_call_has(const struct collective_call *call, int rank)
{
    return call->group == 0 ? rank < call->ranks : rank < 64 && call->members >> rank & 1;
}

/* True if two calls belong to one group, so that their sequence numbers can be compared. */
static inline bool collective_call_is_of_group(const struct collective_call *a, const struct collective_call *b)
{
    return a->group == b->group && a->ranks == b->ranks && a->members == b->members && a->opened == b->opened;
}

/* Print "all-gather 5 of 12.5 MB in group 2 of ranks 0 and 2 (step 7)"; the group only if it is not group 0. */
void collective_call_print(FILE *out, const struct collective_call *call);

/* Print parts of it: " in group 2 of ranks 0 and 2", also of group 0; "all-gather of 12.5 MB" or, of a reducer, "bucket 3 of 12.5 MB";
 * "12.5 MB", "640 B". */
void collective_call_print_group(FILE *out, const struct collective_call *call);
void collective_call_print_content(FILE *out, const struct collective_call *call);
void collective_call_print_bytes(FILE *out, size_t bytes);

#endif
