/* test_hidden_faults.c: 200 hidden faults on a modelled machine, and what the interventions of lab 07 make of them. A step is a chain of
 * known terms behind a loader with workers (card/worker_queue.h); each round measures the case and each change with noise. As in the lab,
 * bound_by_changes() judges once, after all rounds, and must name the term that was made the largest. Prints the confusion matrix. */
#include "analysis/bound_by.h"
#include "base/random.h"
#include "card/worker_queue.h"
#include "support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DATA, LAUNCH, MEMORY, COMPUTE, WAIT, TERMS, FAULTS = 200, STEPS_MOST = 256 };
static const char *const names[TERMS] = { "data", "launch", "memory", "compute", "wait" };
static const double factors[TERMS] = { 1, 1, 2, 2, 1 };
/* Verdicts of 16 s on two cores had 25, 30 and 41 rounds, and one beside many other programs 11: with so few, 195 faults of 200 are named
 * right and the others not at all. */
enum { ROUNDS = 24 };
static const double NOISE = 0.03, DRIFT = 0.08; /* of a measured block, and of a whole round */

/* A step, in seconds. Operations are of two kinds: in those of `memory` bytes take longer and arithmetic runs beside them for
 * beside[MEMORY] of that time, in those of `compute` the other way round. */
struct job {
    double term[TERMS]; /* term[DATA]: by which a step waits for its batch */
    double rest;
    double beside[TERMS];
    struct worker_queue loader;
};

/* Return the step with its batch in memory after a change (-1: none). */
static double body(const struct job *job, int change)
{
    const double bytes = change == MEMORY ? 0.5 : 1, flops = change == COMPUTE ? 0.5 : 1;
    return job->rest + (change == LAUNCH ? 0 : job->term[LAUNCH]) + (change == WAIT ? 0 : job->term[WAIT]) +
           job->term[MEMORY] * fmax(bytes, flops * job->beside[MEMORY]) +
           job->term[COMPUTE] * fmax(flops, bytes * job->beside[COMPUTE]);
}

/* Return the mean step behind the loader, over whole turns of its workers, once these are in step. */
static double behind_loader(const struct job *job)
{
    struct queue_step of[STEPS_MOST];
    struct worker_queue queue = job->loader;
    const int turn = queue.workers > 0 ? queue.workers : 1, steps = 12 * turn;
    queue.step = body(job, -1);
    worker_queue_steps(&queue, of, steps);
    return worker_queue_means(of, steps, 8 * turn).steady;
}

static double between(struct random *random, double low, double high)
{
    return low + (high - low) * random_unit(random);
}

/* Set a loader by which a step of `seconds` waits for its batch as long as job->term[DATA] says. With workers and nothing to wait for,
 * a loader that is busy for 30 to 95 % of the time. */
static void set_loader(struct job *job, struct random *random, double seconds)
{
    static const int workers[] = { 0, 1, 2, 4, 8 };
    job->loader = (struct worker_queue){ .workers = workers[random_below(random, 5)],
                                         .ahead = WORKER_QUEUE_AHEAD,
                                         .cores = INFINITY };
    const int count = job->loader.workers;
    job->loader.batch = count == 0            ? job->term[DATA]
                        : job->term[DATA] > 0 ? count * seconds
                                              : count * between(random, 0.3, 0.95) * body(job, -1);
}

/* Draw a job whose step takes 1: `first` gets `share`, the others what is left, by chance and none more than `most`. */
static struct job draw(struct random *random, int first, double share, double most)
{
    struct job job = { 0 };
    double part[TERMS + 1], sum = 0, worst = INFINITY;
    while (worst > most) {
        sum = worst = 0;
        for (int k = 0; k <= TERMS; k++)
            sum += part[k] = k == first ? 0 : -log(1 - random_unit(random)) * (random_unit(random) < 0.6);
        for (int k = 0; k < TERMS; k++)
            worst = sum > 0 ? fmax(worst, (1 - share) * part[k] / sum) : worst;
    }
    for (int k = 0; k < TERMS; k++)
        job.term[k] = k == first ? share : sum > 0 ? (1 - share) * part[k] / sum : 0;
    job.rest = sum > 0 ? (1 - share) * part[TERMS] / sum : 1 - share;
    job.beside[MEMORY] = between(random, 0, 0.5);
    job.beside[COMPUTE] = between(random, 0, 0.5);
    set_loader(&job, random, 1);
    return job;
}

static double measured(struct random *random, double seconds, double drift)
{
    const double burst = random_unit(random) < 1. / 30 ? 0.15 * random_unit(random) : 0;
    return seconds * drift * (1 + burst) * exp(NOISE * random_normal(random));
}

/* Measure all rounds, then judge once. */
static struct bound_by judge(struct random *random, const struct job *job)
{
    static const char *name[TERMS];
    static double step[ROUNDS], in_memory[ROUNDS], after[TERMS][ROUNDS];
    const double whole = behind_loader(job);
    struct change changes[TERMS];
    for (int k = 0; k < TERMS; k++)
        changes[k] = (struct change){ names[k], factors[k], k == DATA ? step : in_memory, after[k] };
    for (int round = 0; round < ROUNDS; round++) {
        const double drift = exp(DRIFT * random_normal(random));
        step[round] = measured(random, whole, drift);
        in_memory[round] = after[DATA][round] = measured(random, body(job, -1), drift);
        for (int k = DATA + 1; k < TERMS; k++)
            after[k][round] = measured(random, body(job, k), drift);
    }
    return bound_by_changes(changes, TERMS, step, ROUNDS, name);
}

/* The step that was drawn is the step of the queue, and without noise the shares are the terms. */
TEST(jobs_are_what_was_drawn)
{
    struct random random;
    random_seed(&random, 7);
    for (int i = 0; i < 500; i++) {
        const int first = (int)random_below(&random, TERMS);
        const struct job job = draw(&random, first, between(&random, 0.3, 0.9), 1);
        assert_true(fabs(behind_loader(&job) - 1) < 1e-9);
        assert_true(fabs(body(&job, -1) - (1 - job.term[DATA])) < 1e-9);
        for (int k = DATA + 1; k < TERMS; k++)
            assert_true(fabs(factors[k] * (body(&job, -1) - body(&job, k)) - job.term[k]) < 1e-9);
    }
}

/* One cause makes up 40 to 90 % of the step, and leads by at least 15 points. */
TEST(hidden_faults_are_found)
{
    int matrix[TERMS][TERMS + 1] = { { 0 } }, right = 0, wrong = 0; /* the last column: undetermined */
    struct random random;
    random_seed(&random, 2026);
    for (int i = 0; i < FAULTS; i++) {
        const int cause = i % TERMS;
        const double share = between(&random, 0.4, 0.9);
        const struct job job = draw(&random, cause, share, share - 0.15);
        const struct bound_by b = judge(&random, &job);
        matrix[cause][b.reason == BOUND_NAMED ? b.first : TERMS]++;
        right += b.reason == BOUND_NAMED && b.first == cause;
        wrong += b.reason == BOUND_NAMED && b.first != cause;
    }
    print_message("%-10s", "truth");
    for (int k = 0; k < TERMS; k++)
        print_message(" %9s", names[k]);
    print_message(" %12s\n", "undetermined");
    for (int cause = 0; cause < TERMS; cause++) {
        print_message("%-10s", names[cause]);
        for (int k = 0; k < TERMS; k++)
            print_message(" %9d", matrix[cause][k]);
        print_message(" %12d\n", matrix[cause][TERMS]);
    }
    print_message("%d of %d named right, %d wrong\n", right, FAULTS, wrong);
    assert_int_equal(wrong, 0);
    assert_true(right >= 0.98 * FAULTS);
}

/* Any mixture: shares within 10 points, and no wrong name. */
TEST(mixtures_are_shares)
{
    int near = 0, named = 0, wrong = 0;
    double worst = 0;
    struct random random;
    random_seed(&random, 2027);
    for (int i = 0; i < FAULTS; i++) {
        const struct job job = draw(&random, (int)random_below(&random, TERMS), between(&random, 0, 0.6), 1);
        const struct bound_by b = judge(&random, &job);
        int largest = 0;
        for (int k = 0; k < TERMS; k++) {
            const double off = fabs(b.share[k].value - job.term[k]);
            near += off <= 0.1;
            worst = fmax(worst, off);
            largest = job.term[k] > job.term[largest] ? k : largest;
        }
        named += b.reason == BOUND_NAMED;
        wrong += b.reason == BOUND_NAMED && b.first != largest;
    }
    print_message("mixtures: %d of %d shares within 10 points, worst %.1f; %d of %d named, %d wrong\n", near,
                  FAULTS * TERMS, 100 * worst, named, FAULTS, wrong);
    assert_true(near >= 0.99 * FAULTS * TERMS);
    assert_true(wrong <= 0.01 * FAULTS);
}

/* The limit that the header names: arithmetic beside the bytes for nine tenths of their time hides four fifths of that term. The share
 * is too small then, but it is no other term's. */
TEST(terms_side_by_side_are_in_the_rest)
{
    struct random random;
    random_seed(&random, 2028);
    struct job job = { .term = { [MEMORY] = 0.8, [COMPUTE] = 0.2 }, .beside = { [MEMORY] = 0.9 } };
    set_loader(&job, &random, 1);
    const struct bound_by b = judge(&random, &job);
    assert_true(fabs(b.share[MEMORY].value - 2 * 0.8 * 0.1) < 0.1);
    assert_true(fabs(b.rest.value - 0.64) < 0.15);
    assert_false(b.reason == BOUND_NAMED && b.first == LAUNCH);
}
