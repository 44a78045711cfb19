/* collective: timed collectives of all ranks.
 *
 * All ranks of the world make the same calls in the same order. Each call has a sequence number and records a span. Buffers are
 * device memory. The receive buffer is either the send buffer, which saves memory and a copy, or separate memory, and then the
 * send buffer keeps its contents. The two never overlap in part. */
#ifndef LOCKSTEP_COLLECTIVE_H
#define LOCKSTEP_COLLECTIVE_H

#include "base/check_failures.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;
struct spans;
struct collective;

enum wire {
    WIRE_F32,
    WIRE_BF16, /* upper half of a float; each partial sum is rounded to nearest even */
};

enum { COLLECTIVE_STARTED_MOST = 256 }; /* started and unfinished at one time */

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

/* Open the collectives of a world. `spans` may be NULL: then nothing is recorded. */
struct collective *collective_open(struct world *world, struct spans *spans);
void collective_close(struct collective *collective);

/* Sum `count` elements over ranks: receive[i] = sum of send[i]. Elements are floats, or uint16_t for WIRE_BF16. Device work
 * after this call reads the result. If `receive` is `send` on one rank, it must be so on all ranks. */
void collective_sum(struct collective *collective, enum wire wire, const void *send, void *receive, size_t count);

/* Use `way` for blocking sums of floats from now on, with the same stamps and checks. It replaces data (count), each rank's
 * terms, by their sum, bit-equal on all ranks. NULL restores the library's all-reduce. */
typedef void allreduce_impl(void *argument, float *data, size_t count);
void collective_sum_by(struct collective *collective, allreduce_impl *way, void *argument);

/* Start a sum by the library and return a ticket for collective_finish(). Do not touch the buffers until then. */
int collective_start(struct collective *collective, enum wire wire, const void *send, void *receive, size_t count);
void collective_finish(struct collective *collective, int ticket);

/* Let started sums advance. Without these calls they may stand still until collective_finish(): most MPI libraries have no
 * progress thread. */
void collective_progress(struct collective *collective);

/* Return when every rank has called it. */
void collective_barrier(struct collective *collective);

/* Choose the checks of the sums that follow. CHECK_EACH compares sampled elements of every sum with a sum in double precision.
 * The sample moves each time and covers all elements in the end. This costs a second exchange after the stamp, so use it in
 * warm-up steps. All ranks must then finish started sums in the same order. CHECK_KEPT, for a last step, only keeps the terms
 * that collective_check_last() needs of a sum in place. */
enum check { CHECK_NOTHING, CHECK_EACH, CHECK_KEPT };
void collective_check(struct collective *collective, enum check check);

/* all: check the sum that ended last, unless it was checked already. Call it when nothing is measured any more. `receive` must
 * still hold the result. The terms must still be in `send`, or have been kept; otherwise the sum counts as wrong. */
void collective_check_last(struct collective *collective);

/* Return the failed checks on this rank since the last call. */
struct check_failures collective_wrong(struct collective *collective);

#endif
