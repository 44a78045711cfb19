/* blog_gpu: compares the post about profiling a training job on a GPU with what follows from some of its numbers (gpu_post.h)
 *
 *     blog_gpu --expected expected [--out FOLDER]
 *
 * Prints the parameters; per case the published mean step, ours, the error and the role (fitted rows agree by construction); the single
 * long steps; and what the post's numbers say beyond its sentences. With --out, also writes
 *
 *     blog_gpu.csv         a row per case: published and our mean, median and throughput
 *     blog_gpu_series.csv  a row per step of the cases with a slow loader
 *
 * Limits, for exit status 0: single long steps within 5 %, means of predicted rows within 10 %. */
#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "gpu_post.h"
#include "options/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double spike_error_most = 0.05, mean_error_most = 0.1;
static const double LONG_STEP_MS = 100; /* beyond: the step waited for a batch of the slow loader */

struct options {
    const char *expected, *out;
};
#define AT(member) offsetof(struct options, member)
static const struct option_row rows[] = {
    { "--expected", OPTION_TEXT, AT(expected), 0, 0, "DIR", "folder of the published numbers" },
    { "--out", OPTION_TEXT, AT(out), 0, 0, "DIR", "folder to write tables to; empty: none" },
    { 0 },
};
#undef AT

struct one {
    const char *slug;
    int steps;
    struct queue_step of[GPU_POST_STEPS_MOST];
    struct queue_means means;
    double published, median, all, rate, our_rate; /* ms, and samples per second */
};

static struct one one_of(const struct gpu_post *post, int row)
{
    struct one o = { .slug = csv_field(&post->cases, row, "slug"),
                     .steps = (int)csv_value(&post->cases, row, "steps") };
    const struct worker_queue queue = gpu_post_queue(post, o.slug);
    worker_queue_steps(&queue, o.of, o.steps);
    o.means = worker_queue_means(o.of, o.steps, GPU_POST_SKIPPED);
    o.published = gpu_post_value(post, o.slug, "steady_step_ms");
    o.median = gpu_post_value(post, o.slug, "p50_step_ms");
    o.all = gpu_post_value(post, o.slug, "all_steps_mean_ms");
    o.rate = gpu_post_value(post, o.slug, "samples_per_s");
    o.our_rate = gpu_post_value(post, o.slug, "batch_size") / o.means.steady;
    return o;
}

static double ms_of(const struct one *o, int step)
{
    return 1e3 * (o->of[step].data + o->of[step].rest);
}

/* Print the steps that wait for a batch beside the published ones. Return the number of steps that are off by too much. */
static int show_spikes(const struct gpu_post *post, const struct one *o)
{
    int off = 0;
    for (int i = 0; i < o->steps; i++) {
        const double published = gpu_post_step(post, o->slug, i);
        if (isnan(published) || !(fmax(published, ms_of(o, i)) > LONG_STEP_MS))
            continue;
        const double error = ms_of(o, i) / published - 1;
        off += fabs(error) > spike_error_most;
        printf("  step %-2d of %-16s %9.2f %9.2f %+6.1f %%%s\n", i, o->slug, published, ms_of(o, i), 100 * error,
               i == 0 ? "  fitted" : "");
    }
    return off;
}

static int show_case(const struct one *o)
{
    const double error = 1e3 * o->means.steady / o->published - 1;
    const bool is_fitted = gpu_post_is_fitted(o->slug);
    printf("  %-27s %9.2f %9.2f %+6.1f %%%s\n", o->slug, o->published, 1e3 * o->means.steady, 100 * error,
           is_fitted ? "  fitted" : "");
    return !is_fitted && fabs(error) > mean_error_most;
}

static const struct one *find(const struct one *list, int count, const char *slug)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].slug, slug) == 0)
            return &list[i];
    die(STATUS_USAGE, "blog_triage.csv has no %s", slug);
}

/* Print results of the post's own numbers that the post does not state. */
static void show_traps(const struct one *list, int count)
{
    const struct one *none = find(list, count, "data_workers0"), *four = find(list, count, "data_workers4"),
                     *eight = find(list, count, "data_workers8"), *fp32 = find(list, count, "kernel_fp32"),
                     *bf16 = find(list, count, "kernel_bf16"), *eager = find(list, count, "torch_eager"),
                     *large = find(list, count, "torch_batch1024");
    printf("\nWhat the numbers say\n"
           "  Four and eight workers: %.2fx and %.2fx without the first two steps; %.2fx and %.2fx over all twelve, as "
           "8 or 16\n"
           "  batches may be made beside them. A long job gains 4x and 8x at most.\n",
           none->published / four->published, none->published / eight->published, none->all / four->all,
           none->all / eight->all);
    printf("  Four workers: the median step is %.2f ms, the mean %.0f: the median step never waits.\n", four->median,
           four->published);
    /* A mean is never farther from the median than the standard deviation. */
    const double spread32 = fabs(fp32->published - fp32->median), spread16 = fabs(bf16->published - bf16->median);
    printf(
        "  bf16 is %+.1f %% by means and %+.1f %% by medians. Mean and median differ by %.2f and %.2f ms, so the "
        "deviations are\n"
        "  at least that, and the difference of %.2f ms between means of ten steps has an error of at least %.2f ms.\n",
        100 * (bf16->published / fp32->published - 1), 100 * (bf16->median / fp32->median - 1), spread32, spread16,
        bf16->published - fp32->published, hypot(spread32, spread16) / sqrt(fp32->steps - GPU_POST_SKIPPED));
    printf("  The line through baseline and torch_batch1024 gives %.2f ms for 512 samples of two workers, with float32 "
           "or bf16. If\n"
           "  those wait for their loader, as that suggests, no change of a kernel shows in their steps.\n",
           1e3 * fp32->means.steady);
    printf("  A tensor of 512 x 4096 floats has %.0f MiB: it may stay in a GPU's cache.\n", 512. * 4096 * 4 / 1048576);
    printf("  Batch x 4: the step grows from %.2f to %.2f ms, samples per second by %.2fx.\n", eager->published,
           large->published, large->rate / eager->rate);
}

static void write_tables(const struct gpu_post *post, const struct one *list, int count, const char *out)
{
    struct file_set files = { 0 };
    struct csv csv = { .out = file_set_begin(&files, out, "blog_gpu.csv") };
    for (int i = 0; i < count; i++)
        do {
            const struct one *o = &list[i];
            csv_text(&csv, "slug", o->slug);
            csv_text(&csv, "role", gpu_post_is_fitted(o->slug) ? "fitted" : "predicted");
            csv_number(&csv, "published_ms", o->published);
            csv_ms(&csv, "our_ms", o->means.steady);
            csv_ratio(&csv, "error", 1e3 * o->means.steady / o->published - 1);
            csv_number(&csv, "published_p50_ms", o->median);
            csv_ms(&csv, "our_p50_ms", o->means.median);
            csv_number(&csv, "published_all_ms", o->all);
            csv_ms(&csv, "our_all_ms", o->means.all);
            csv_number(&csv, "published_samples_per_s", o->rate);
            csv_ratio(&csv, "our_samples_per_s", o->our_rate);
        } while (csv_end_row(&csv));
    csv = (struct csv){ .out = file_set_begin(&files, out, "blog_gpu_series.csv") };
    for (int i = 0; i < count; i++)
        for (int step = 0; step < list[i].steps && strncmp(list[i].slug, "data_", 5) == 0; step++)
            do {
                csv_text(&csv, "slug", list[i].slug);
                csv_integer(&csv, "step", step);
                csv_number(&csv, "published_ms", gpu_post_step(post, list[i].slug, step));
                csv_ms(&csv, "our_ms", 1e-3 * ms_of(&list[i], step));
            } while (csv_end_row(&csv));
    file_set_commit(&files);
}

int main(int argc, char **argv)
{
    struct options o = { .expected = "expected", .out = "" };
    options_parse((const struct option_row *const[]){ rows, NULL }, &o,
                  "blog_gpu: the post about profiling, recomputed", argc, argv);
    struct gpu_post post = gpu_post_open(o.expected);
    const int count = post.cases.rows;
    struct one *list = memory_new((size_t)count, sizeof *list);
    int off = 0;
    for (int row = 0; row < count; row++)
        list[row] = one_of(&post, row);
    printf("From the post's numbers: a step of %.2f ms, %.2f of eager operations; a batch of a worker in %.1f ms (slow "
           "loader) or\n"
           "%.2f ms + %.2f us a sample; %.2f ms to start a worker; %.0f ms more in the first step.\n\n",
           1e3 * post.step, 1e3 * post.eager, 1e3 * post.asleep, 1e3 * post.plain_fixed, 1e6 * post.plain_per_sample,
           1e3 * post.start, 1e3 * post.first);
    printf("  %-27s %9s %9s %8s\n", "ms", "published", "ours", "error");
    for (int i = 0; i < count; i++)
        off += show_case(&list[i]);
    for (int i = 0; i < count; i++)
        off += show_spikes(&post, &list[i]);
    show_traps(list, count);
    if (*o.out)
        write_tables(&post, list, count, o.out);
    free(list);
    gpu_post_close(&post);
    return off ? STATUS_WRONG : 0;
}
