/* shape_bench: training steps of one rank, without any collective, on batches of several shapes. The machine card fits costs to them,
 * and the gradient check differentiates one. Shapes are numbered from the smallest batch on; none of them is a lab's own. The number
 * after the last is the usual batch of the run, which no cost is fitted to, and the next a small batch of the same samples. */
#ifndef LOCKSTEP_SHAPE_BENCH_H
#define LOCKSTEP_SHAPE_BENCH_H

#include "model/trainer.h"

struct shape_bench;

/* Number of shapes, which is also the number of the usual batch; and the terms of their costs: bits 1 << COST_... */
int shape_bench_shapes(const struct workload *workload);
unsigned shape_bench_terms(const struct workload *workload);

enum { SHAPES_MOST = 8, SHAPES_OF_USUAL = 2 };

/* Open shapes `first` … first + count - 1. `trainer`: one of the same workload, whose buffers hold these batches and whose training is
 * restarted before it goes on; its hooks do not run meanwhile. NULL: the bench opens a trainer of its own. */
struct shape_bench *shape_bench_open(const struct workload *workload, const struct run *run, int first, int count,
                                     struct trainer *trainer);
void shape_bench_close(struct shape_bench *bench);

/* Return the memory of a bench that opens these shapes, with a trainer of its own; and that of their data alone. */
struct memory_estimate shape_bench_memory(const struct workload *workload, const struct run *run, int first, int count);
struct memory_estimate shape_bench_data_memory(const struct workload *workload, const struct run *run, int first,
                                               int count);

/* Choose an open shape for the calls below, and return the work of its batch. */
struct work shape_bench_choose(struct shape_bench *bench, int shape);

/* The parts of a step: the next batch, forward and backward (both: passes), the optimizer. */
void shape_bench_fetch(struct shape_bench *bench);
void shape_bench_forward(struct shape_bench *bench);
void shape_bench_backward(struct shape_bench *bench);
void shape_bench_passes(struct shape_bench *bench);
void shape_bench_hooked_backward(struct shape_bench *bench, struct model_hooks hooks); /* the others run none */
void shape_bench_update(struct shape_bench *bench);

/* All parts of a step, until the device has finished them. */
void shape_bench_step(struct shape_bench *bench);

/* What a rank does from one sum of the gradients to the next: update, fetch, both passes. Gradients must be there: after passes. A GPU
 * may still compute. */
void shape_bench_between_sums(struct shape_bench *bench);

/* Return the trainer. */
struct trainer *shape_bench_trainer(const struct shape_bench *bench);

#endif
