#include "gpu_post.h"

#include "base/die.h"

#include <math.h>
#include <string.h>

double gpu_post_value(const struct gpu_post *post, const char *slug, const char *column)
{
    const double value = csv_value(&post->cases, csv_find(&post->cases, "slug", slug), column);
    if (isnan(value))
        die(STATUS_USAGE, "blog_triage.csv has no %s of %s", column, slug);
    return value;
}

double gpu_post_step(const struct gpu_post *post, const char *slug, int step)
{
    for (int row = 0; row < post->series.rows; row++)
        if (strcmp(csv_field(&post->series, row, "slug"), slug) == 0 && csv_value(&post->series, row, "step") == step)
            return csv_value(&post->series, row, "step_ms");
    return NAN;
}

static double seconds_of(const struct gpu_post *post, const char *slug, const char *column)
{
    return 1e-3 * gpu_post_value(post, slug, column);
}

static double first_step(const struct gpu_post *post, const char *slug)
{
    const double ms = gpu_post_step(post, slug, 0);
    if (isnan(ms))
        die(STATUS_USAGE, "blog_triage_series.csv has no step 0 of %s", slug);
    return 1e-3 * ms;
}

static bool is_of_slow_loader(const char *slug)
{
    return strncmp(slug, "data_", 5) == 0;
}

struct worker_queue gpu_post_queue(const struct gpu_post *post, const char *slug)
{
    const bool is_eager = strncmp(slug, "torch_", 6) == 0;
    const double samples = gpu_post_value(post, slug, "batch_size");
    return (struct worker_queue){ .workers = (int)gpu_post_value(post, slug, "workers"),
                                  .ahead = WORKER_QUEUE_AHEAD,
                                  .batch = is_of_slow_loader(slug)
                                               ? post->asleep
                                               : post->plain_fixed + post->plain_per_sample * samples,
                                  .busy = 1,
                                  .cores = INFINITY,
                                  .start = post->start,
                                  .step = is_eager ? post->eager : post->step,
                                  .first = post->first };
}

static double mean_step(const struct worker_queue *queue, int steps)
{
    struct queue_step of[GPU_POST_STEPS_MOST];
    worker_queue_steps(queue, of, steps);
    return worker_queue_means(of, steps, GPU_POST_SKIPPED).steady;
}

/* Return the batch time with which the queue of a case has its published mean step. The mean grows with the batch time. */
static double batch_of(const struct gpu_post *post, const char *slug)
{
    const int steps = (int)gpu_post_value(post, slug, "steps");
    const double mean = seconds_of(post, slug, "steady_step_ms");
    struct worker_queue queue = gpu_post_queue(post, slug);
    double low = 0, high = 100 * mean;
    while (high - low > 1e-9 * high) {
        queue.batch = (low + high) / 2;
        *(mean_step(&queue, steps) > mean ? &high : &low) = queue.batch;
    }
    return queue.batch;
}

struct gpu_post gpu_post_open(const char *expected)
{
    static const char *const cases[] = { "slug", "steps", "batch_size", "workers", "steady_step_ms", NULL };
    static const char *const series[] = { "slug", "step", "step_ms", NULL };
    struct gpu_post post = { .cases = csv_open_in(expected, "blog_triage.csv", cases),
                             .series = csv_open_in(expected, "blog_triage_series.csv", series) };
    for (int row = 0; row < post.cases.rows; row++)
        if (!(csv_value(&post.cases, row, "steps") > GPU_POST_SKIPPED &&
              csv_value(&post.cases, row, "steps") <= GPU_POST_STEPS_MOST))
            die(STATUS_USAGE, "blog_triage.csv: steps must be %d to %d", GPU_POST_SKIPPED + 1, GPU_POST_STEPS_MOST);
    post.step = seconds_of(&post, "data_workers4", "p50_step_ms");
    post.asleep = seconds_of(&post, "data_workers0", "steady_step_ms") - post.step;
    post.start = (first_step(&post, "data_workers8") - first_step(&post, "data_workers4")) / 4;
    post.first = first_step(&post, "data_workers4") - 4 * post.start - post.asleep - post.step;
    post.eager = seconds_of(&post, "torch_eager", "steady_step_ms");
    const double few = gpu_post_value(&post, "baseline", "batch_size"),
                 many = gpu_post_value(&post, "torch_batch1024", "batch_size"), of_few = batch_of(&post, "baseline");
    post.plain_per_sample = (batch_of(&post, "torch_batch1024") - of_few) / (many - few);
    post.plain_fixed = of_few - post.plain_per_sample * few;
    return post;
}

void gpu_post_close(struct gpu_post *post)
{
    csv_free(&post->cases);
    csv_free(&post->series);
}

bool gpu_post_is_fitted(const char *slug)
{
    static const char *const fitted[] = { "data_workers0", "torch_eager", "baseline", "torch_batch1024" };
    for (size_t i = 0; i < sizeof fitted / sizeof *fitted; i++)
        if (strcmp(slug, fitted[i]) == 0)
            return true;
    return false;
}
