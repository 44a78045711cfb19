/* 10_memory_fit: what lab 10 answers without measuring. --zero-table: the table of the ZeRO paper. --fit: the smallest change after which a
 * well-known model trains within so much memory of each rank, by the calculator (10_memory_calculator.c). A part of the memory stays free,
 * for what that does not count. */
#include "10_memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

static const double FREE_SHARE = 0.1;
enum { USUAL_LENGTH = 4096 };

/* What is asked: a model on GPUs, and how it is trained without any change. */
struct question {
    struct calculated model;
    struct speeds speeds;
    double bytes;     /* of a rank */
    int global_batch; /* texts of all ranks in a step */
    struct plan now;
};

/* Return the plan on so many ranks: they train the same global batch, or one text each if there are more. */
static struct plan on_ranks(const struct question *q, struct plan plan, int ranks)
{
    plan.ranks = ranks;
    plan.batch = plan.micro = (q->global_batch + ranks - 1) / ranks;
    return plan;
}

static bool fits(const struct question *q, const struct plan *plan)
{
    return calculated_bytes(&q->model, plan) <= (1 - FREE_SHARE) * q->bytes;
}

/* --- the smallest change ---------------------------------------------------------------------------------------------- */

enum { RECOMPUTINGS = 4 };

/* The ways to recompute: none, attention alone, runs of as many blocks as there are runs, each block. */
static void list_recomputings(const struct question *q, struct recomputing how[RECOMPUTINGS])
{
    const struct recomputing all[RECOMPUTINGS] = {
        { 0 }, { .attention_only = true }, { .every = (int)lround(sqrt(q->model.shape.layers)) }, { .every = 1 }
    };
    memcpy(how, all, sizeof all);
}

static bool recomputes(const struct plan *plan)
{
    return plan->recompute.attention_only || plan->recompute.every > 0;
}

static int changes_of(const struct question *q, const struct plan *plan)
{
    return (plan->ranks > q->now.ranks) + (plan->stage > 0) + (plan->micro < plan->batch) + recomputes(plan);
}

static bool is_better(const struct question *q, const struct plan *a, const struct plan *b)
{
    const int ranks = a->ranks - b->ranks, changes = changes_of(q, a) - changes_of(q, b);
    const double seconds = calculated_seconds(&q->model, a, &q->speeds) - calculated_seconds(&q->model, b, &q->speeds);
    return ranks != 0 ? ranks < 0 : changes != 0 ? changes < 0 : seconds < 0;
}

/* Take the plan as the best if it fits and is better. */
static void consider(const struct question *q, const struct plan *plan, struct plan *best)
{
    if (fits(q, plan) && (best->ranks == 0 || is_better(q, plan, best)))
        *best = *plan;
}

/* Find the plan with the fewest ranks that fits; of these that with the fewest changes, then the shortest step. Its ranks are 0 if none
 * does. More ranks are multiples of those that are asked for. */
static struct plan find_fit(const struct question *q)
{
    struct recomputing how[RECOMPUTINGS];
    struct plan best = { .ranks = 0 };
    list_recomputings(q, how);
    for (int ranks = q->now.ranks; ranks <= RANKS_MOST && best.ranks == 0; ranks += q->now.ranks) {
        struct plan plan = on_ranks(q, q->now, ranks);
        for (; plan.micro >= 1; plan.micro = plan.micro > 1 ? (plan.micro + 1) / 2 : 0)
            for (plan.stage = 0; plan.stage < ZERO_STAGES; plan.stage++)
                for (int i = 0; i < RECOMPUTINGS; i++) {
                    plan.recompute = how[i];
                    consider(q, &plan, &best);
                }
    }
    return best;
}

/* --- what is printed ------------------------------------------------------------------------------------------------- */

/* Append a change to a text. */
static void add_change(char **text, char *change)
{
    char *longer = memory_text("%s%s%s", *text, **text ? ", " : "", change);
    free(*text);
    free(change);
    *text = longer;
}

/* Return what a plan changes: "4 micro-batches of 1, ZeRO 3". Free it. */
static char *text_of(const struct question *q, const struct plan *plan)
{
    char *text = memory_text("%s", "");
    if (plan->micro < plan->batch)
        add_change(&text,
                   memory_text("%d micro-batches of %d", (plan->batch + plan->micro - 1) / plan->micro, plan->micro));
    if (plan->recompute.attention_only)
        add_change(&text, memory_text("%s", "recompute attention"));
    else if (plan->recompute.every == 1)
        add_change(&text, memory_text("%s", "recompute each block"));
    else if (plan->recompute.every > 1)
        add_change(&text, memory_text("recompute runs of %d blocks", plan->recompute.every));
    if (plan->stage > 0)
        add_change(&text, memory_text("ZeRO %d", plan->stage));
    if (plan->ranks > q->now.ranks)
        add_change(&text,
                   memory_text("%d ranks with %d text%s each", plan->ranks, plan->batch, plan->batch > 1 ? "s" : ""));
    if (!*text)
        add_change(&text, memory_text("%s", "no change"));
    return text;
}

static void print_heads(FILE *out)
{
    fprintf(out, "%-56s %10s %9s %11s %7s %9s  %s\n%56s %10s %9s %11s %7s\n", "change", "parameters", "optimizer",
            "activations", "all", "step", "fits", "", "+gradients", "", "+buffers", "GB");
}

static void print_plan(FILE *out, const struct question *q, const struct plan *plan)
{
    const struct memory_estimate memory = calculated_memory(&q->model, plan);
    const double *of = memory.of;
    char *text = text_of(q, plan);
    fprintf(out, "%-56s %10.1f %9.1f %11.1f %7.1f %7.2f s  %s\n", text,
            (of[MEMORY_PARAMETERS] + of[MEMORY_GRADIENTS]) / 1e9, of[MEMORY_MOMENTS] / 1e9,
            (of[MEMORY_ACTIVATIONS] + of[MEMORY_COMMUNICATION]) / 1e9, memory_estimate_sum(&memory) / 1e9,
            calculated_seconds(&q->model, plan, &q->speeds), fits(q, plan) ? "yes" : "no");
    free(text);
}

/* Print each change by itself. */
static void print_single_changes(FILE *out, const struct question *q)
{
    struct recomputing how[RECOMPUTINGS];
    struct plan plan = q->now;
    list_recomputings(q, how);
    print_plan(out, q, &plan);
    plan.micro = 1;
    if (q->now.micro > 1)
        print_plan(out, q, &plan);
    plan.micro = q->now.micro;
    for (int i = 1; i < RECOMPUTINGS; i++) {
        plan.recompute = how[i];
        print_plan(out, q, &plan);
    }
    plan.recompute = how[0];
    for (plan.stage = 1; plan.stage < ZERO_STAGES && q->now.ranks > 1; plan.stage++)
        print_plan(out, q, &plan);
}

/* Columns of summary.csv: what a rank holds of its model, by owner, and more that a run must have. */
static const char *const owner_columns[] = { "parameters_mb",    "gradients_mb", "moments_mb",      "activations_mb",
                                             "communication_mb", "case",         "slowest_step_ms", NULL };
enum { OWNERS_OF_MODEL = 5 };

/* How far the calculator was off in a run's cases: memory by a share, a step as a multiple of the measured one. */
struct errors {
    int cases;
    double memory, shortest, longest;
};

static struct errors errors_of(const struct csv_table *calculated, const struct csv_table *measured)
{
    struct errors e = { .shortest = INFINITY };
    for (int row = 0; row < calculated->rows; row++) {
        const int there = csv_find(measured, "case", csv_field(calculated, row, "case"));
        double held = 0;
        for (int i = 0; i < OWNERS_OF_MODEL; i++)
            held += csv_value(measured, there, owner_columns[i]);
        if (there < 0)
            continue;
        const double step = csv_value(calculated, row, "calculated_ms") / csv_value(measured, there, "slowest_step_ms");
        e.cases++;
        e.memory = fmax(e.memory, fabs(csv_value(calculated, row, "calculated_mb") / held - 1));
        e.shortest = fmin(e.shortest, step);
        e.longest = fmax(e.longest, step);
    }
    return e;
}

/* Print these errors of this lab's newest run. */
static void print_error(FILE *out, const char *folder, const char *results)
{
    char *ours = memory_text("%s/calculator.csv", folder), *theirs = memory_text("%s/summary.csv", folder);
    struct csv_table calculated = csv_open_if_there(
                         ours, (const char *const[]){ "case", "calculated_mb", "calculated_ms", NULL }),
                     measured = csv_open_if_there(theirs, owner_columns);
    const struct errors e = errors_of(&calculated, &measured);
    if (e.cases > 0)
        fprintf(
            out,
            "Error of the calculator for %d cases of a small model in the newest run (%s):\n"
            "memory at most %.1f %%. Steps came out as %.2f to %.2f of the measured ones: small products are slower "
            "than large ones.\n",
            e.cases, folder, 100 * e.memory, e.shortest, e.longest);
    else
        fprintf(out,
                "Error of the calculator: not known, since there is no %s. build/bin/10_memory --out %s measures it.\n",
                ours, results);
    csv_free(&calculated);
    csv_free(&measured);
    free(ours);
    free(theirs);
}

/* Print the smallest change. */
static void print_answer(FILE *out, const struct question *q, const char *size)
{
    const struct plan best = find_fit(q);
    if (best.ranks == 0) {
        fprintf(out, "\nNothing fits into %s (of which %g %% stay free), up to %d ranks.\n", size, 100 * FREE_SHARE,
                RANKS_MOST);
        return;
    }
    fprintf(out,
            "\nSmallest change that fits into %s, of which %g %% stay free: fewest ranks, then fewest changes, then "
            "the shortest step.\n",
            size, 100 * FREE_SHARE);
    print_plan(out, q, &best);
}

static const char assumptions[] =
    "Assumed: mixed-precision Adam as in ZeRO's paper, 2 bytes a parameter, 2 for its gradient, 12 for the optimizer "
    "(a copy and two moments in\n"
    "float). Attention stores no scores (FlashAttention). Each token attends to the whole text. Communication overlaps "
    "nothing. ZeRO 2 and 3\n"
    "communicate in each micro-batch. More ranks share the same global batch, at least a text each. GB are 10^9 bytes.\n"
    "Not counted: the framework and NCCL, fragments of the allocator, what dropout keeps, time for data.\n"
    "How to make these changes in PyTorch: notebooks-md/10_memory.md, section 9.\n";

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

/* Return the speeds that the options give, or those of the newest run. */
static struct speeds speeds_of(const struct options *o, const char *folder)
{
    struct speeds speeds = { o->tflops * 1e12, o->link_gb * 1e9, o->memory_gb * 1e9 };
    if (o->measured_speeds && !speeds_of_run(folder, &speeds))
        die(STATUS_USAGE,
            "--measured-speeds, but %s has no card.csv with the three speeds; run this lab there with at least two "
            "ranks",
            folder);
    return speeds;
}

/* Return the folder of this lab's newest run, here or on the simulated machine that the options name. Free it. */
static char *folder_of(const struct options *o)
{
    char *of_machine = run_folder(&o->run, o->run.platform ? o->run.platform : "here"),
         *folder = memory_text("%s/10_memory", of_machine);
    free(of_machine);
    return folder;
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
    const double positions = known_shapes[o->known].positions;
    if (positions > 0 && o->length > positions)
        die(STATUS_USAGE, "--length %d, but %s has positions for %g tokens; choose at most as many", o->length,
            known_shapes[o->known].name, positions);
    char *folder = folder_of(o);
    const struct question q = { .model = calculated_shape(&known_shapes[o->known]),
                                .speeds = speeds_of(o, folder),
                                .bytes = bytes,
                                .global_batch = o->run.ranks * o->run.batch_size,
                                .now = { .ranks = o->run.ranks,
                                         .batch = o->run.batch_size,
                                         .micro = o->run.batch_size,
                                         .length = o->length > 0   ? o->length
                                                   : positions > 0 ? (int)positions
                                                                   : USUAL_LENGTH } };
    fprintf(
        out,
        "%s, %.0f parameters, on %d rank%s. A step trains %d text%s of %d tokens on each: a global batch of %d.\n\n",
        q.model.shape.name, q.model.parameters, q.now.ranks, q.now.ranks > 1 ? "s" : "", q.now.batch,
        q.now.batch > 1 ? "s" : "", q.now.length, q.global_batch);
    print_heads(out);
    print_single_changes(out, &q);
    print_answer(out, &q, o->fit);
    fprintf(out, "\nSpeeds, %s: large products %.4g TFLOP/s on each rank, link %.4g GB/s, memory %.4g GB/s.\n",
            o->measured_speeds ? "as the newest run measured them"
                               : "assumed for an H100 (--tflops, --link-gb, --memory-gb)",
            q.speeds.flops / 1e12, q.speeds.link / 1e9, q.speeds.memory / 1e9);
    print_error(out, folder, o->run.out);
    fputs(assumptions, out);
    free(folder);
    return true;
}
