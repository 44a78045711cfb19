/* watch_nccl: ends the job if a rank's wait for its GPU or for NCCL would not end. NCCL has no timeout, even for a rank that never
 * arrives. So a waiting rank asks about every tenth of a second: has NCCL failed, has a rank died, do the ranks make different calls, has
 * nothing been done for too long? Then it prints where the ranks wait, aborts NCCL and ends all ranks. */
#ifndef LOCKSTEP_WATCH_NCCL_H
#define LOCKSTEP_WATCH_NCCL_H

#include "collective/collective.h"
#include "device/device_cuda.h"

#include <nccl.h>
#include <stdbool.h>
#include <stdint.h>

struct world;

enum { NCCL_SLOTS = COLLECTIVE_STARTED_MOST + 1 }; /* started operations, and a blocking one */

/* An engine as the watch sees it. */
struct nccl_watched {
    struct world *world;
    ncclComm_t comm;
    struct nccl_operation {
        struct collective_call call;
        bool is_open;     /* handed over, not known to be done */
        uint64_t turn;    /* number among this rank's operations handed over */
        cudaEvent_t done; /* NULL before the first use */
    } operation[NCCL_SLOTS];
    struct nccl_watched *next; /* of the open ones */
};

/* Set the timeout of every wait. */
void nccl_watch_begin(double timeout_s);

/* Watch an engine's operations whenever this rank waits for its GPU; end that before the engine closes. */
void nccl_watch_add(struct nccl_watched *watched);
void nccl_watch_remove(struct nccl_watched *watched);

/* Give an operation its turn, before it is handed to NCCL. The caller records `done` after it and then sets is_open. */
void nccl_watch_hand_over(struct nccl_operation *operation, const struct collective_call *call);

/* Wait until NCCL has done a call's work on the host; `what` and `result`: the call's name and what it returned. */
void nccl_watch_await(struct nccl_watched *watched, const struct collective_call *call, const char *what,
                      ncclResult_t result);

/* Wait until a communicator has started; `result`: what its initialisation returned. Return ncclSuccess, or why NCCL refuses. */
ncclResult_t nccl_watch_await_start(struct nccl_watched *watched, ncclResult_t result);

#endif
