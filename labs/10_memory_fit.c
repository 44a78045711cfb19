/* 10_memory_fit: calculators of lab 10, which measure nothing. --zero-table: the table of the ZeRO paper. --fit: the smallest change after
 * which a well-known model trains within so much memory of each rank.
 *
 *     memory = parameters, gradients, moments of a rank's stage + buffers for whole layers + activations + logits
 *     step   = operations / speed + bytes / link
 *
 * Stage 3 gathers one layer ahead. Attention stores no scores. Logits: 2 bytes, and as floats with their gradient. Six operations a parameter
 * and token, eight if all blocks are computed again, and attention. A rank's batch is cut into micro-batches, whose gradients are added up;
 * stages 2 and 3 send for each of them. Nothing is hidden. A part of the memory stays free, for what is not counted. */
#include "10_memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct memory_estimate mixed_precision(double parameters)
{
    return (struct memory_estimate){ .of = { [MEMORY_PARAMETERS] = 2 * parameters,
                                             [MEMORY_GRADIENTS] = 2 * parameters,
                                             [MEMORY_MOMENTS] = 12 * parameters } };
}

bool zero_table(const struct options *o, FILE *out)
{
    const double all = o->parameters;
    if (!o->has_zero_table || !out)
        return o->has_zero_table;
    fprintf(out, "stage,gb_per_rank,elements_sent\n");
    for (int stage = 0; stage < ZERO_STAGES; stage++) {
        const struct memory_estimate share = zero_share(mixed_precision(all), stage, o->run.ranks);
        fprintf(out, "%d,%.9g,%.9g\n", stage, memory_estimate_sum(&share) / 1e9, (stage < 3 ? 2 : 3) * all);
    }
    return true;
}

/* --- the smallest change ---------------------------------------------------------------------------------------------- */

static const double FREE_SHARE = 0.05;

/* How a model is trained. */
struct plan {
    int ranks, stage, micro; /* micro: texts of a micro-batch */
    bool recomputes;
};

static const struct known_shape *shape_of(const struct options *o)
{
    return &known_shapes[o->known];
}

/* Return the bytes that a rank holds. */
static double held_bytes(const struct options *o, const struct plan *plan)
{
    const struct known_shape *s = shape_of(o);
    const double all = known_shape_parameters(s), tokens = (double)plan->micro * o->length;
    const struct memory_estimate share = zero_share(mixed_precision(all), plan->stage, plan->ranks);
    const double largest = 2 * fmax(known_shape_block(s), s->vocabulary * s->width),
                 buffers = (plan->stage < 2   ? 0
                            : plan->stage < 3 ? 1
                                              : 3) *
                           largest,
                 of_block = known_shape_token_bytes(s),
                 kept = plan->recomputes ? s->layers * 2 * s->width + of_block : s->layers * of_block,
                 logits = s->vocabulary * (2 + 4 + 4);
    return memory_estimate_sum(&share) + buffers + tokens * (kept + logits);
}

static bool fits(const struct options *o, const struct plan *plan, double bytes)
{
    return held_bytes(o, plan) <= (1 - FREE_SHARE) * bytes;
}

/* Return the seconds of a step, without data and update. */
static double step_seconds(const struct options *o, const struct plan *plan)
{
    const struct known_shape *s = shape_of(o);
    const double all = known_shape_parameters(s), tokens = (double)o->run.batch_size * o->length,
                 micro_batches = ceil((double)o->run.batch_size / plan->micro);
    const double of_token = 2 * all + 4 * s->layers * s->width * o->length, /* of forward, which backward has twice */
        passes = tokens * of_token * (plan->recomputes ? 4 : 3);
    const double rounds = plan->stage < 2 ? 2 : plan->stage < 3 ? micro_batches + 1 : 3 * micro_batches;
    return passes / (o->tflops * 1e12) + rounds * 2 * all * (plan->ranks - 1) / plan->ranks / (o->link_gb * 1e9);
}

/* --- what changes ---------------------------------------------------------------------------------------------------- */

static struct plan plan_as_it_is(const struct options *o)
{
    return (struct plan){ .ranks = o->run.ranks, .micro = o->run.batch_size };
}

static int changes_of(const struct options *o, const struct plan *plan)
{
    return (plan->ranks > o->run.ranks) + (plan->stage > 0) + (plan->micro < o->run.batch_size) + plan->recomputes;
}

static bool is_better(const struct options *o, const struct plan *a, const struct plan *b)
{
    const int changes = changes_of(o, a) - changes_of(o, b);
    const double seconds = step_seconds(o, a) - step_seconds(o, b);
    return changes != 0 ? changes < 0 : a->ranks != b->ranks ? a->ranks < b->ranks : seconds < 0;
}

/* Find the plan with the fewest changes that fits; of these that with the fewest ranks, then the shortest step. Return false if none does. */
static bool find_fit(const struct options *o, double bytes, struct plan *best)
{
    bool found = false;
    for (int ranks = o->run.ranks; ranks <= RANKS_MOST; ranks *= 2)
        for (int micro = o->run.batch_size; micro >= 1; micro = micro > 1 ? (micro + 1) / 2 : 0)
            for (int stage = 0; stage < ZERO_STAGES; stage++)
                for (int again = 0; again < 2; again++) {
                    const struct plan plan = {
                        .ranks = ranks, .stage = stage, .micro = micro, .recomputes = again == 1
                    };
                    if (!fits(o, &plan, bytes) || (found && !is_better(o, &plan, best)))
                        continue;
                    *best = plan;
                    found = true;
                }
    return found;
}

/* --- what is printed ------------------------------------------------------------------------------------------------- */

/* Return what a plan changes: "ZeRO 3, micro-batches of 1". Free it. */
static char *text_of(const struct options *o, const struct plan *plan)
{
    char *micro =
        plan->micro < o->run.batch_size ? memory_text(", micro-batches of %d", plan->micro) : memory_text("%s", "");
    char *stage = plan->stage > 0 ? memory_text(", ZeRO %d", plan->stage) : memory_text("%s", "");
    char *ranks = plan->ranks > o->run.ranks ? memory_text(", %d ranks", plan->ranks) : memory_text("%s", "");
    char *all = memory_text("%s%s%s%s", micro, plan->recomputes ? ", recompute all" : "", stage, ranks);
    char *text = memory_text("%s", changes_of(o, plan) > 0 ? all + 2 : "as it is");
    free(micro);
    free(stage);
    free(ranks);
    free(all);
    return text;
}

static void print_plan(FILE *out, const struct options *o, const struct plan *plan, double bytes)
{
    char *text = text_of(o, plan);
    fprintf(out, "%-50s %9.1f %9.2f  %s\n", text, held_bytes(o, plan) / 1e9, step_seconds(o, plan),
            fits(o, plan, bytes) ? "yes" : "no");
    free(text);
}

/* Print how far memory was predicted wrongly in the newest run of this lab. */
static void print_error(FILE *out, const struct options *o)
{
    char *path = memory_text("%s/10_memory/summary.csv", o->run.out);
    struct csv_table table = csv_open_if_there(path, (const char *const[]){ "held_mb", "predicted_held_mb", NULL });
    double most = 0;
    for (int row = 0; row < table.rows; row++)
        most = fmax(most, fabs(csv_value(&table, row, "predicted_held_mb") / csv_value(&table, row, "held_mb") - 1));
    if (table.rows > 0)
        fprintf(out,
                "Error of the rules: in this machine's run of %d cases at most %.2f %% of what a rank held (%s).\n",
                table.rows, 100 * most, path);
    else
        fprintf(out, "Error of the rules: not known here, since there is no %s; build/bin/10_memory measures it.\n",
                path);
    csv_free(&table);
    free(path);
}

/* Read "80GB", "80 GB", "80" or "512MB"; NaN if it is none of these. */
static double bytes_in(const char *text)
{
    char *end = NULL;
    const double number = strtod(text, &end);
    while (*end == ' ')
        end++;
    const double unit = *end == 0 || strcmp(end, "GB") == 0 ? 1e9
                        : strcmp(end, "GiB") == 0           ? (double)(1 << 30)
                        : strcmp(end, "MB") == 0            ? 1e6
                                                            : (double)NAN;
    return end == text || !(number > 0) ? (double)NAN : number * unit;
}

bool fit(const struct options *o, FILE *out)
{
    if (!o->fit)
        return false;
    const double bytes = bytes_in(o->fit);
    if (isnan(bytes))
        die(STATUS_USAGE, "--fit '%s' is no size; write 80GB, 80GiB or 512MB", o->fit);
    if (!out)
        return true;
    struct plan plan = plan_as_it_is(o), best = { 0 };
    fprintf(out, "%s: %.0f parameters. Each of %d ranks trains %d texts of %d tokens in a step.\n\n%-50s %9s %9s  %s\n",
            shape_of(o)->name, known_shape_parameters(shape_of(o)), o->run.ranks, o->run.batch_size, o->length,
            "change", "GB a rank", "step (s)", "fits");
    print_plan(out, o, &plan, bytes);
    if (o->run.batch_size > 1)
        print_plan(out, o, &(struct plan){ .ranks = plan.ranks, .micro = 1 }, bytes);
    print_plan(out, o, &(struct plan){ .ranks = plan.ranks, .micro = plan.micro, .recomputes = true }, bytes);
    for (int stage = 1; stage < ZERO_STAGES && o->run.ranks > 1; stage++)
        print_plan(out, o, &(struct plan){ .ranks = plan.ranks, .micro = plan.micro, .stage = stage }, bytes);
    if (find_fit(o, bytes, &best)) {
        fprintf(out, "\nSmallest change that fits into %s:\n", o->fit);
        print_plan(out, o, &best, bytes);
    } else {
        fprintf(out, "\nNothing fits into %s, up to %d ranks.\n", o->fit, RANKS_MOST);
    }
    fputc('\n', out);
    print_error(out, o);
    fprintf(out,
            "Assumed: mixed-precision Adam, %g TFLOP/s on each GPU, %g GB/s each way between them, nothing hidden; the "
            "step is without "
            "data and update.\nNot counted: the framework, fragments of its allocator, and what dropout keeps; %g %% "
            "of the memory are left for that.\n",
            o->tflops, o->link_gb, 100 * FREE_SHARE);
    return true;
}
