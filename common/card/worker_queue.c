#include "card/worker_queue.h"

#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

static const double DONE = 1e-12; /* of a batch or step: what rounding leaves over */

/* A worker makes a batch while made < taken + ahead. */
struct worker {
    int made, taken; /* batches */
    double left;     /* seconds of the batch in the making */
};

struct job {
    const struct worker_queue *queue;
    struct worker worker[WORKER_QUEUE_WORKERS_MOST];
};

static bool makes_a_batch(const struct job *job, const struct worker *worker)
{
    return worker->made < worker->taken + job->queue->ahead;
}

/* Return the speed of everything on a core, 1 if there are enough. */
static double speed_of(const struct job *job, bool is_training)
{
    const struct worker_queue *queue = job->queue;
    double needed = is_training && queue->is_step_on_core;
    for (int w = 0; w < queue->workers; w++)
        needed += makes_a_batch(job, &job->worker[w]) ? queue->busy : 0;
    return needed > queue->cores ? queue->cores / needed : 1;
}

/* Let time pass until a worker finishes a batch, or those `left` seconds are over that the step has, or a worker if no step runs. Return
 * the time. */
static double pass_time(struct job *job, double *left, bool is_training)
{
    const struct worker_queue *queue = job->queue;
    const double speed = speed_of(job, is_training), own_speed = is_training && !queue->is_step_on_core ? 1 : speed;
    double time = *left / own_speed;
    for (int w = 0; w < queue->workers; w++)
        if (makes_a_batch(job, &job->worker[w]))
            time = fmin(time, job->worker[w].left / speed);
    for (int w = 0; w < queue->workers; w++) {
        struct worker *worker = &job->worker[w];
        if (!makes_a_batch(job, worker))
            continue;
        worker->left -= time * speed;
        if (worker->left <= DONE * queue->batch) {
            worker->made++;
            worker->left = queue->batch;
        }
    }
    *left -= time * own_speed;
    return time;
}

static double wait_for_batch(struct job *job, int i)
{
    const struct worker_queue *queue = job->queue;
    if (queue->workers == 0)
        return queue->batch * (queue->busy > queue->cores ? queue->busy / queue->cores : 1);
    struct worker *worker = &job->worker[i % queue->workers];
    double waited = i == 0 ? queue->workers * queue->start : 0, left = INFINITY;
    while (worker->made == worker->taken)
        waited += pass_time(job, &left, false);
    worker->taken++;
    return waited;
}

static double run_step(struct job *job, double seconds)
{
    double left = seconds, took = 0;
    while (left > DONE * seconds)
        took += pass_time(job, &left, true);
    return took;
}

/* Let the worker of batch i, which was just taken, begin before the step goes on, if it slept until now and lacks a core. */
static double let_begin(struct job *job, int i)
{
    const struct worker_queue *queue = job->queue;
    if (queue->workers == 0 || queue->busy < 1 || speed_of(job, true) >= 1)
        return 0;
    const struct worker *worker = &job->worker[i % queue->workers];
    const bool has_slept = worker->made == worker->taken - 1 + queue->ahead;
    double left = has_slept ? fmin(queue->slice, worker->left) : 0, took = 0;
    while (left > DONE * queue->batch)
        took += pass_time(job, &left, false);
    return took;
}

void worker_queue_steps(const struct worker_queue *queue, struct queue_step *of, int steps)
{
    struct job job = { .queue = queue };
    for (int w = 0; w < queue->workers; w++)
        job.worker[w].left = queue->batch;
    for (int i = 0; i < steps; i++) {
        of[i].data = wait_for_batch(&job, i);
        of[i].data += queue->workers > 0 ? run_step(&job, queue->take) + let_begin(&job, i) : 0;
        of[i].rest = run_step(&job, queue->step + (i == 0 ? queue->first : 0));
    }
}

struct queue_means worker_queue_means(const struct queue_step *of, int steps, int skipped)
{
    double *seconds = memory_new((size_t)steps, sizeof *seconds);
    for (int i = 0; i < steps; i++)
        seconds[i] = of[i].data + of[i].rest;
    const struct queue_means means = { .steady = stats_mean(seconds + skipped, steps - skipped),
                                       .median = stats_quantile(seconds + skipped, steps - skipped, 0.5),
                                       .all = stats_mean(seconds, steps) };
    free(seconds);
    return means;
}
