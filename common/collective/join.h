/* join: lets ranks with different numbers of batches train together, as torch.distributed.algorithms.join.Join. Before each step the
 * ranks add up how many of them have a batch. A rank without one goes on in the sums of the others with zeros (reducer_shadow()) until
 * no rank has one. The price: an all-reduce of a flag for each rank in each step, which no work hides.
 *
 *     while (join_step(join, batches > 0))
 *         if (batches-- > 0) { forward, backward, reducer_finish } else reducer_shadow
 *
 * The sum over ranks keeps its scale, as under Join's divide_by_initial_world_size. */
#ifndef LOCKSTEP_JOIN_H
#define LOCKSTEP_JOIN_H

#include "collective/collective.h"

struct join;
struct join *join_open(struct collective *collective);
void join_close(struct join *join);

/* all: return how many ranks have a batch for this step; 0: all ranks end. On a modelled machine, which adds nothing up: all of them. */
int join_step(struct join *join, bool has_batch);

#endif
