/* collective: where ranks meet, and what is timed.
 *
 * Every call is made by all ranks of the world in the same order, carries a sequence number and stamps itself
 * into the spans. Buffers are device memory. The result may take the place of what a rank sent, which saves a buffer and a
 * copy; or it goes elsewhere, and what was sent is still there afterwards. Nothing between. */
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
    WIRE_BF16, /* the upper half of a float; each partial sum is rounded to nearest even */
};

enum { COLLECTIVE_STARTED_MOST = 256 }; /* started and not yet finished, at one time */

/* all: call once, before any is opened: whether several ranks share a GPU on purpose, which NCCL is then talked into, and after
 * how long a rank that waits for others gives up; 0 for the backend's own choice. */
void collective_begin(struct world *world, bool shares_gpus, double deadline_s);

/* What a result says of them: "mpi", "sim" or "nccl", and the library: "Open MPI v4.1.4". */
const char *collective_backend(void);
const char *collective_library(void);
/* How they add: "ring". */
const char *collective_algorithm(void);

/* Why it cannot be known when the ranks came to a collective, so that waiting and transfer cannot be told apart; NULL where
 * it can. */
const char *collective_hides_arrivals(void);

/* `spans` may be NULL: then nothing is recorded. */
struct collective *collective_open(struct world *world, struct spans *spans);
void collective_close(struct collective *collective);

/* receive[i] = sum over ranks of send[i], `count` floats (uint16_t for WIRE_BF16). Blocks until it is there. `receive` may be
 * `send`, on all ranks alike. */
void collective_sum(struct collective *collective, enum wire wire, const void *send, void *receive, size_t count);

/* From now on blocking sums of floats are carried out so, within the same stamps and checks: data (count), each rank's terms,
 * becomes their sum, bit by bit the same on all ranks. NULL: by the library, as at first. */
typedef void allreduce_impl(void *argument, float *data, size_t count);
void collective_sum_by(struct collective *collective, allreduce_impl *way, void *argument);

/* A sum by the library in two halves: neither buffer may be touched in between. Returns a ticket for collective_finish. */
int collective_start(struct collective *collective, enum wire wire, const void *send, void *receive, size_t count);
void collective_finish(struct collective *collective, int ticket);

/* Lets started sums advance. Without such calls nothing may move until collective_finish: most MPI libraries
 * have no thread that would do it. */
void collective_progress(struct collective *collective);

/* Returns when every rank has called it. */
void collective_barrier(struct collective *collective);

/* From now on, sampled elements of every sum are compared with a sum in double precision (CHECK_EACH): others each time, so
 * that in the end it was the turn of each. That costs a second exchange after the stamp, so it is for warm-up steps; started
 * sums must be finished in the same order by all. Or only what collective_check_last() would need is kept (CHECK_KEPT): of
 * sums whose result takes the place of the terms, those that it would look at; that is for a last step. */
enum check { CHECK_NOTHING, CHECK_EACH, CHECK_KEPT };
void collective_check(struct collective *collective, enum check check);

/* all: the same for the sum that ended last, unless it was checked: when nothing is measured any more. What was received must
 * lie there still, and so must what was sent, or it was kept: else the sum counts as wrong. */
void collective_check_last(struct collective *collective);

/* The checked sums that were wrong on this rank since the last call. */
struct check_failures collective_wrong(struct collective *collective);

#endif
