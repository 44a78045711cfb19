/* collective: timed collectives of groups of ranks.
 *
 * A collective is an operation (struct collective_op), which is run at once or started and finished later. All ranks of its group
 * make the same calls in the same order. Each call has a sequence number in its group and records a span. Ranks that are in several
 * groups use them in an order that does not make two ranks wait for each other. Buffers are device memory. */
#ifndef LOCKSTEP_COLLECTIVE_H
#define LOCKSTEP_COLLECTIVE_H

#include "base/check_failures.h"
#include "launch/collective_call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;
struct spans;
struct collective;
struct group;

enum element_type {
    TYPE_F32,
    TYPE_BF16, /* upper half of a float, uint16_t; each partial sum is rounded to nearest even */
};

enum { COLLECTIVE_STARTED_MOST = 256 }; /* started and unfinished at one time */

/* An operation; n ranks, this one is rank r of its group.
 *
 *     kind             send            receive         result                                    in place
 *     ALL_REDUCE       (count)         (count)         sum over ranks of send                    receive = send
 *     ALL_GATHER       (count)         (n, count)      the ranks' sends, in rank order           send = receive + r count
 *     REDUCE_SCATTER   (n, count)      (count)         part r of the sum over ranks of send      receive = send + r count
 *     BROADCAST        (count)         (count)         send of rank `from`                       receive = send, on that rank
 *     SEND_RECEIVE     (count)         (count)         send of rank `from`                       no
 *     BARRIER          none            none            every rank has called it                  -
 *
 * Buffers overlap only in place. A send buffer keeps its contents, except in place: of REDUCE_SCATTER all of it is then overwritten.
 * All ranks work in place, or none. In a broadcast, only rank `from` uses its send buffer. In SEND_RECEIVE, which all ranks of the
 * group call, each rank sends to rank `to` and receives from rank `from`, at the same time; -1 is no rank. */
struct collective_op {
    enum collective_kind kind;
    const struct group *group; /* NULL: all ranks of the collective's world */
    enum element_type type;
    const void *send;
    void *receive;
    size_t count; /* elements */
    int to, from; /* ranks of the group */
    int bucket;   /* which bucket of a reducer this sums, for messages: 1 is the first; 0: none */
};

static inline struct collective_op all_reduce(enum element_type type, const void *send, void *receive, size_t count)
{
    return (struct collective_op){ ALL_REDUCE, NULL, type, send, receive, count, -1, -1, 0 };
}

static inline struct collective_op all_gather(enum element_type type, const void *send, void *receive, size_t count)
{
    return (struct collective_op){ ALL_GATHER, NULL, type, send, receive, count, -1, -1, 0 };
}

static inline struct collective_op reduce_scatter(enum element_type type, const void *send, void *receive, size_t count)
{
    return (struct collective_op){ REDUCE_SCATTER, NULL, type, send, receive, count, -1, -1, 0 };
}

static inline struct collective_op broadcast(enum element_type type, int from, const void *send, void *receive,
                                             size_t count)
{
    return (struct collective_op){ BROADCAST, NULL, type, send, receive, count, -1, from, 0 };
}

static inline struct collective_op send_receive(enum element_type type, int to, const void *send, int from,
                                                void *receive, size_t count)
{
    return (struct collective_op){ SEND_RECEIVE, NULL, type, send, receive, count, to, from, 0 };
}

static inline struct collective_op barrier(void)
{
    return (struct collective_op){ BARRIER, NULL, TYPE_F32, NULL, NULL, 0, -1, -1, 0 };
}

static inline struct collective_op in_group(const struct group *group, struct collective_op op)
{
    op.group = group;
    return op;
}

/* all: call once, before the first collective_open(). `shares_gpus`: ranks may share a GPU, for which NCCL needs settings.
 * `deadline_s`: the job's timeout, which also limits a rank's wait for other ranks; 0 for the backend's own choice. */
void collective_begin(struct world *world, bool shares_gpus, double deadline_s);

/* Return the names for the results: the backend ("mpi", "sim" or "nccl") and the library ("Open MPI v4.1.4"). */
const char *collective_backend(void);
const char *collective_library(void);
/* Return the name of the all-reduce algorithm: "ring". */
const char *collective_algorithm(void);

/* Return why arrival times of ranks are unknown, so that waiting and transfer cannot be separated; NULL if they are known. */
const char *collective_hides_arrivals(void);

/* all: open the collectives of a world. `spans` may be NULL: then nothing is recorded. */
struct collective *collective_open(struct world *world, struct spans *spans);
void collective_close(struct collective *collective);
struct world *collective_world(const struct collective *collective);

enum { GROUPS_MOST = 16 }; /* of one rank */

/* all: split the ranks into groups. Ranks with the same color are a group, ordered by key, ranks with equal keys by rank. Return
 * this rank's group, which lives until collective_close(); NULL for a negative color. */
const struct group *collective_split(struct collective *collective, int color, int key);
int group_rank(const struct group *group);
int group_size(const struct group *group);

/* Run an operation. Device work after this call reads its result. */
void collective_run(struct collective *collective, struct collective_op op);

/* Compare each call that follows with those that the other ranks of this host have made with the same number. A rank that finds a
 * difference does not take part in the operation: it records its calls up to the next one that waits, and stands still there, so that
 * the supervisor names the ranks and the cause (launch/desync.h). Without this a difference is seen only if the job hangs, and sums of
 * equal size are added up wrongly. As TORCH_DISTRIBUTED_DEBUG=DETAIL. */
void collective_compare(struct collective *collective, bool is_on);

/* Start an operation by the library and return a ticket for collective_finish(). Do not touch the buffers until then. */
int collective_start(struct collective *collective, struct collective_op op);
void collective_finish(struct collective *collective, int ticket);

/* Say that calls of collective_finish() follow without work in between: what is started does not stand still until then. */
void collective_only_waits(struct collective *collective);

/* Let started operations advance. Without these calls they may stand still until collective_finish(): most MPI libraries have no
 * progress thread. */
void collective_progress(struct collective *collective);

/* Use `way` for all-reduces of floats that all ranks run from now on, with the same stamps and checks. It replaces data (count),
 * each rank's terms, by their sum, bit-equal on all ranks. NULL restores the library's all-reduce. */
typedef void allreduce_impl(void *argument, float *data, size_t count);
void collective_all_reduce_by(struct collective *collective, allreduce_impl *way, void *argument);

/* Choose the checks of the operations that follow. CHECK_EACH compares sampled elements of every result with those that the ranks
 * sent, or with their sum in double precision. The sample moves each time and covers all elements in the end. This costs a second
 * exchange after the stamp, so use it in warm-up steps. All ranks must then finish started operations in the same order.
 * CHECK_KEPT, for a last step, only keeps the terms that collective_check_last() needs of an operation in place. */
enum check { CHECK_NOTHING, CHECK_EACH, CHECK_KEPT };
void collective_check(struct collective *collective, enum check check);

/* all: check the operation that ended last, unless it was checked already. Call it when nothing is measured any more. `receive` must
 * still hold the result. The terms must still be in `send`, or have been kept; otherwise the result counts as wrong. */
void collective_check_last(struct collective *collective);

/* Return the failed checks on this rank since the last call. */
struct check_failures collective_wrong(struct collective *collective);

#endif
