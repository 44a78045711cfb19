/* test_worker_queue.c: test the queue of loader workers on series worked out by hand, and on the step series that the post "Profiling a
 * PyTorch Training Job End to End" published: seven of its numbers set the parameters (platforms/gpu_post.h), the others are predicted. */
#include "card/worker_queue.h"
#include "platforms/gpu_post.h"
#include "support/near.h"
#include "support/unit.h"

#include <math.h>
#include <string.h>

enum { STEPS_MOST = 5000 };

/* A queue whose workers never wait for a core. */
static struct worker_queue queue_of(int workers, double batch, double step)
{
    return (struct worker_queue){
        .workers = workers, .ahead = WORKER_QUEUE_AHEAD, .batch = batch, .busy = 1, .cores = INFINITY, .step = step
    };
}

/* Return a bound of the mean step of a long job: the largest of step, batch / workers, and needed core time / cores. A job without
 * a step on a core reaches it; one with such a step may need a little more, where cores are idle in one part and lack in another. */
static double period_of(const struct worker_queue *queue)
{
    if (queue->workers == 0)
        return queue->batch * fmax(1, queue->busy / queue->cores) +
               queue->step / fmin(1, queue->is_step_on_core ? queue->cores : 1);
    const double on_core = queue->busy * queue->batch + (queue->is_step_on_core ? queue->step + queue->take : 0);
    return fmax(fmax(queue->step + queue->take, queue->batch / queue->workers), on_core / queue->cores);
}

static void assert_series(const struct worker_queue *queue, const struct queue_step *expected, int steps)
{
    struct queue_step of[STEPS_MOST];
    worker_queue_steps(queue, of, steps);
    for (int i = 0; i < steps; i++)
        if (!(fabs(of[i].data - expected[i].data) <= 1e-9 && fabs(of[i].rest - expected[i].rest) <= 1e-9))
            fail_msg("step %d: %g + %g, not %g + %g", i, of[i].data, of[i].rest, expected[i].data, expected[i].rest);
}

TEST(without_workers_the_step_makes_its_batch)
{
    struct worker_queue queue = queue_of(0, 10, 4);
    queue.first = 7;
    queue.start = 100; /* of no worker */
    assert_series(&queue, (struct queue_step[]){ { 10, 11 }, { 10, 4 }, { 10, 4 } }, 3);
    assert_near(period_of(&queue), 14, 1e-12);
}

TEST(one_worker_hides_the_step)
{
    const struct worker_queue slow = queue_of(1, 10, 4), fast = queue_of(1, 3, 4);
    assert_series(&slow, (struct queue_step[]){ { 10, 4 }, { 6, 4 }, { 6, 4 } }, 3);
    assert_series(&fast, (struct queue_step[]){ { 3, 4 }, { 0, 4 }, { 0, 4 } }, 3);
    assert_near(period_of(&slow), 10, 1e-12);
    assert_near(period_of(&fast), 4, 1e-12);
}

/* The worker makes two batches ahead beside step 0. Then each taken batch wakes it up. */
TEST(a_worker_that_slept_goes_before_the_step)
{
    struct worker_queue queue = queue_of(1, 2, 4);
    queue.ahead = 2;
    queue.cores = 1;
    queue.is_step_on_core = true;
    assert_series(&queue, (struct queue_step[]){ { 2, 8 }, { 0, 6 }, { 0, 6 } }, 3);
    queue.slice = 1;
    assert_series(&queue, (struct queue_step[]){ { 2, 8 }, { 1, 5 }, { 1, 5 } }, 3);
    queue.slice = 3;
    assert_series(&queue, (struct queue_step[]){ { 2, 8 }, { 2, 4 }, { 2, 4 } }, 3);
}

/* Taking a batch lengthens every step, but a worker goes on meanwhile: batches 0, 1, 2 are there at 10, 20, 30. */
TEST(taking_a_batch_is_part_of_the_step)
{
    struct worker_queue slow = queue_of(1, 10, 4), fast = queue_of(1, 3, 4), none = queue_of(0, 10, 4);
    slow.take = fast.take = none.take = 0.5;
    assert_series(&slow, (struct queue_step[]){ { 10.5, 4 }, { 6, 4 }, { 6, 4 } }, 3);
    assert_series(&fast, (struct queue_step[]){ { 3.5, 4 }, { 0.5, 4 }, { 0.5, 4 } }, 3);
    assert_series(&none, (struct queue_step[]){ { 10, 4 }, { 10, 4 } }, 2);
    assert_near(period_of(&slow), 10, 1e-12);
    assert_near(period_of(&fast), 4.5, 1e-12);
}

/* Both workers begin at 4, after their start. Batches 0, 1 are there at 14, batches 2, 3 at 24, batches 4, 5 at 34. */
TEST(workers_finish_together)
{
    struct worker_queue queue = queue_of(2, 10, 1);
    queue.start = 2;
    queue.first = 5;
    assert_series(&queue, (struct queue_step[]){ { 14, 6 }, { 0, 1 }, { 3, 1 }, { 0, 1 }, { 8, 1 }, { 0, 1 } }, 6);
}

/* A first step of 51 after its batch: the worker makes batches 1 and 2 and stops at 30. Step 1 takes batch 1 at 61, so batch 3 is
 * there at 71. One batch ahead: batch 1 only. */
TEST(a_worker_stops_when_it_is_ahead)
{
    struct worker_queue queue = queue_of(1, 10, 1);
    queue.first = 50;
    assert_series(&queue, (struct queue_step[]){ { 10, 51 }, { 0, 1 }, { 0, 1 }, { 8, 1 }, { 9, 1 } }, 5);
    queue.ahead = 1;
    assert_series(&queue, (struct queue_step[]){ { 10, 51 }, { 0, 1 }, { 9, 1 }, { 9, 1 } }, 4);
}

TEST(busy_workers_share_the_cores)
{
    struct worker_queue queue = queue_of(4, 10, 0);
    queue.cores = 2;
    assert_series(&queue, (struct queue_step[]){ { 20, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 20, 0 } }, 5);
    assert_near(period_of(&queue), 5, 1e-12);
    queue.workers = 2;
    assert_near(period_of(&queue), 5, 1e-12); /* two more workers on two cores gain nothing */
    queue.workers = 4;
    queue.busy = 0.5; /* half asleep: two cores are enough for four */
    assert_near(period_of(&queue), 2.5, 1e-12);
    assert_series(&queue, (struct queue_step[]){ { 10, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 10, 0 } }, 5);
}

/* One core for a worker and the step: each takes twice as long beside the other. */
TEST(the_step_shares_the_cores)
{
    struct worker_queue queue = queue_of(1, 10, 10);
    queue.cores = 1;
    queue.is_step_on_core = true;
    assert_series(&queue, (struct queue_step[]){ { 10, 20 }, { 0, 20 }, { 0, 20 } }, 3);
    assert_near(period_of(&queue), 20, 1e-12);
    queue.step = 4; /* the step ends after 8; 6 are left of the batch, on a core of its own: 4 + 10 in all */
    assert_series(&queue, (struct queue_step[]){ { 10, 8 }, { 6, 8 }, { 6, 8 } }, 3);
    assert_near(period_of(&queue), 14, 1e-12);
    queue.busy = 0; /* a worker that only sleeps */
    assert_series(&queue, (struct queue_step[]){ { 10, 4 }, { 6, 4 }, { 6, 4 } }, 3);
}

/* Without a step on a core the bound is reached, whatever the numbers; with one the mean step lies at most 30 % above it here. */
TEST(long_jobs_reach_the_bound)
{
    static const double batches[] = { 0.3, 3, 11, 40 }, busy[] = { 0, 0.3, 1 }, cores[] = { 1, 2, 12 };
    struct queue_step of[STEPS_MOST];
    for (int i = 0; i < 4 * 3 * 3 * 9 * 2; i++) {
        struct worker_queue queue = queue_of(1 + i / 2 % 9, batches[i / 18 % 4], 2);
        queue.busy = busy[i / 72 % 3];
        queue.cores = cores[i / 216 % 3];
        queue.is_step_on_core = i % 2;
        worker_queue_steps(&queue, of, STEPS_MOST);
        double mean = worker_queue_means(of, STEPS_MOST, STEPS_MOST / 5).steady, bound = period_of(&queue);
        if (!(mean >= bound * 0.998 && mean <= bound * (queue.is_step_on_core ? 1.3 : 1.002)))
            fail_msg("%d workers, batch %g, busy %g, %g cores, step on core %d: %g, bound %g", queue.workers,
                     queue.batch, queue.busy, queue.cores, queue.is_step_on_core, mean, bound);
    }
}

TEST(means_skip_the_first_steps)
{
    const struct queue_step of[] = { { 90, 10 }, { 1, 1 }, { 0, 3 }, { 1, 0 }, { 11, 1 }, { 2, 2 } };
    const struct queue_means means = worker_queue_means(of, 6, 2);
    assert_near(means.steady, 5, 1e-12); /* 3 1 12 4 */
    assert_near(means.median, 3.5, 1e-12);
    assert_near(means.all, 122. / 6, 1e-12);
}

/* --- the post ---------------------------------------------------------------------------------------------------- */

enum { POST_STEPS = 12 };

static void assert_within(double value, double expected, double share)
{
    assert_near(value / expected, 1, share);
}

/* By hand: 622.365 - 1.986, (855.08 - 825.84) / 4, 825.84 - 4 x 7.31 - 620.379 - 1.986. */
TEST(parameters_are_those_of_named_numbers)
{
    struct gpu_post post = gpu_post_open(EXPECTED);
    assert_near(post.step, 1.98617e-3, 1e-8);
    assert_near(post.asleep, 620.3789e-3, 1e-7);
    assert_near(post.start, 7.31e-3, 1e-9);
    assert_near(post.first, 174.2349e-3, 1e-7);
    /* In steps 2 to 19, those with odd numbers from 5 on wait for the same worker: 8 batches in 18 steps; 4 in steps 2 to 11. */
    assert_within(post.plain_fixed + 256 * post.plain_per_sample, 3.20212e-3 * 18 / 8, 1e-3);
    assert_within(post.plain_fixed + 1024 * post.plain_per_sample, 9.55942e-3 * 18 / 8, 1e-3);
    gpu_post_close(&post);
}

TEST(the_post_s_spikes_follow)
{
    struct queue_step of[POST_STEPS];
    struct gpu_post post = gpu_post_open(EXPECTED);
    for (int workers = 4; workers <= 8; workers += 4) {
        const char *slug = workers == 4 ? "data_workers4" : "data_workers8";
        const struct worker_queue queue = gpu_post_queue(&post, slug);
        assert_int_equal(queue.workers, workers);
        worker_queue_steps(&queue, of, POST_STEPS);
        for (int i = 0; i < POST_STEPS; i++) {
            double step = 1e3 * (of[i].data + of[i].rest), theirs = gpu_post_step(&post, slug, i);
            if (i % workers == 0)
                assert_within(step, theirs, 0.03); /* -0.5, +0.9 and +2.8 % */
            else
                assert_true(of[i].data < 1e-12 && theirs < 4); /* no wait, in ours and theirs */
        }
    }
    gpu_post_close(&post);
}

static struct queue_means means_of(const struct gpu_post *post, const char *slug)
{
    struct queue_step of[GPU_POST_STEPS_MOST];
    const struct worker_queue queue = gpu_post_queue(post, slug);
    const int steps = (int)gpu_post_value(post, slug, "steps");
    worker_queue_steps(&queue, of, steps);
    return worker_queue_means(of, steps, GPU_POST_SKIPPED);
}

TEST(the_post_s_means_follow)
{
    static const char *const slugs[] = { "data_workers0", "data_workers4", "data_workers8" };
    struct gpu_post post = gpu_post_open(EXPECTED);
    struct queue_means means[3];
    for (int i = 0; i < 3; i++) {
        means[i] = means_of(&post, slugs[i]);
        assert_within(1e3 * means[i].steady, gpu_post_value(&post, slugs[i], "steady_step_ms"), 0.03);
        assert_within(1e3 * means[i].all, gpu_post_value(&post, slugs[i], "all_steps_mean_ms"), 0.01);
    }
    /* The post says 5.83 and 14.21; all twelve steps gained 4.01 and 5.87; a long job gains no more than 4 and 8. */
    assert_near(means[0].steady / means[1].steady, 5.83, 0.05);
    assert_near(means[0].all / means[1].all, 4.01, 0.04);
    assert_near(means[0].steady / means[2].steady, 14.21, 0.45);
    assert_near(means[0].all / means[2].all, 5.87, 0.05);
    const struct worker_queue none = gpu_post_queue(&post, slugs[0]);
    for (int i = 1; i < 3; i++) {
        const struct worker_queue queue = gpu_post_queue(&post, slugs[i]);
        assert_within(period_of(&none) / period_of(&queue), queue.workers, 0.004);
        assert_true(means[i].median < means[i].steady / 20); /* the median hides the waiting */
    }
    /* The line of the plain loader, through batches of 256 and 1024 samples, holds at 512. */
    for (int i = 0; i < 2; i++) {
        const char *slug = i ? "kernel_bf16" : "kernel_fp32";
        assert_within(1e3 * means_of(&post, slug).steady, gpu_post_value(&post, slug, "steady_step_ms"), 0.07);
    }
    gpu_post_close(&post);
}
