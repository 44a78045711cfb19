/* worker_queue: the steps of a job whose batches come from worker processes or threads, as PyTorch's DataLoader hands them out.
 *
 *     batch i is made by worker i mod workers, and the batches are taken in order
 *     a worker has at most `ahead` batches that are finished or begun and not yet taken: taking batch i lets its worker begin
 *         batch i + ahead x workers
 *     step i = data + rest: data lasts until batch i is finished; rest is the step itself, in step 0 with `first` in addition
 *
 * Workers that began together finish together. So a job that waits for its data has one long step in `workers` steps and short
 * steps in between: the median step says nothing about it. Sums over few steps flatter it as well: the first ahead x workers
 * batches may be made while earlier steps run, some of them while the device starts.
 *
 * Cores: a worker in the making of a batch needs a core for the share `busy` of its time; so does the training step if
 * is_step_on_core. If all that run need more cores than there are, each slows down by the same factor: fluid processor sharing. Only a
 * worker that begins after it slept comes first, for a slice: a kernel prefers a thread that has slept.
 * Limits: batches take equally long, a worker's sleeping and busy times are spread evenly over its batch, and nothing but cores is
 * shared (no memory bus, no disk).
 *
 * Sources: torch/utils/data/dataloader.py of PyTorch 2, _MultiProcessingDataLoaderIter: _try_put_index() is called
 * prefetch_factor x num_workers times after the workers' start, then once per batch taken; prefetch_factor is 2. */
#ifndef LOCKSTEP_WORKER_QUEUE_H
#define LOCKSTEP_WORKER_QUEUE_H

#include <stdbool.h>

enum { WORKER_QUEUE_WORKERS_MOST = 256, WORKER_QUEUE_AHEAD = 2 /* PyTorch's prefetch_factor */ };

/* The shortest slice of Linux: kernel/sched/fair.c, sysctl_sched_base_slice, times 1 + log2(cores). */
#define WORKER_QUEUE_SLICE_S 0.75e-3

/* Times in seconds. */
struct worker_queue {
    int workers;  /* 0: the training step makes its batch itself */
    int ahead;    /* at least 1 */
    double batch; /* a worker's time for a batch, with a core whenever it needs one */
    double busy;  /* share of `batch` on a core, 0 to 1 */
    double cores; /* for workers, and for the step if is_step_on_core; INFINITY: always enough */
    double start; /* of one worker: workers are started one after another in step 0, before any batch is begun */
    double step;  /* rest of a step */
    double take;  /* of taking a batch from a worker and letting it begin the next one, each step, on the step's core */
    double first; /* additional rest of step 0, as the start of a device */
    double slice; /* of a kernel, for which a worker without sleeps goes before the step when it may begin; 0: none */
    bool is_step_on_core;
};

struct queue_step {
    double data; /* from the step's start until its batch is finished and taken, and a worker has had its slice */
    double rest;
};

/* Set `of` (steps) to the first steps of a job. */
void worker_queue_steps(const struct worker_queue *queue, struct queue_step *of, int steps);

/* Means of a series, in seconds: over the steps from `skipped` on, their median, and over all steps. */
struct queue_means {
    double steady, median, all;
};
struct queue_means worker_queue_means(const struct queue_step *of, int steps, int skipped);

#endif
