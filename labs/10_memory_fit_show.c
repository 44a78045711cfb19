/* 10_memory_fit_show: prints what --fit of lab 10 found. */
#include "10_memory.h"

#include <math.h>
#include <stdio.h>

/* --- plans ---------------------------------------------------------------------------------------------------------- */

/* Append a change to a text. */
static void add_change(char **text, char *change)
{
    char *longer = memory_text("%s%s%s", *text, **text ? ", " : "", change);
    free(*text);
    free(change);
    *text = longer;
}

/* Return a plan's changes as text: "4 micro-batches of 1, ZeRO 3". Free it. */
static char *text_of(const struct question *q, const struct plan *plan)
{
    char *text = memory_text("%s", "");
    const int micro_batches = (plan->batch + plan->micro - 1) / plan->micro;
    if (micro_batches > 1)
        add_change(&text, memory_text(plan->batch % plan->micro == 0 ? "%d micro-batches of %d"
                                                                     : "%d micro-batches of at most %d",
                                      micro_batches, plan->micro));
    if (plan->recompute.attention_only)
        add_change(&text, memory_text("%s", "recompute attention"));
    else if (plan->recompute.every == 1)
        add_change(&text, memory_text("%s", "recompute each block"));
    else if (plan->recompute.every > 1)
        add_change(&text, memory_text("recompute runs of %d blocks", plan->recompute.every));
    if (plan->stage > 0)
        add_change(&text, memory_text("ZeRO %d", plan->stage));
    if (plan->ranks > q->now.ranks)
        add_change(&text, memory_text("%d ranks with %d text%s each (a global batch of %d)", plan->ranks, plan->batch,
                                      plan->batch > 1 ? "s" : "", plan->ranks * plan->batch));
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

/* --- the calculator's error --------------------------------------------------------------------------------------------- */

/* Columns of summary.csv: what a rank holds of its model, by owner, and more that a run must have. */
static const char *const owner_columns[] = { "parameters_mb",    "gradients_mb", "moments_mb",      "activations_mb",
                                             "communication_mb", "case",         "slowest_step_ms", NULL };
enum { OWNERS_OF_MODEL = 5 };

/* Errors of the calculator in a run's cases: memory by a share, a step as a multiple of the measured one. */
struct errors {
    int cases;
    double memory, shortest, longest;
};

static struct errors errors_of(const struct csv_table *calculated, const struct csv_table *measured)
{
    struct errors e = { .shortest = INFINITY };
    for (int row = 0; row < calculated->rows; row++) {
        const int there = csv_find(measured, "case", csv_field(calculated, row, "case"));
        if (there < 0)
            continue;
        double held = 0;
        for (int i = 0; i < OWNERS_OF_MODEL; i++)
            held += csv_value(measured, there, owner_columns[i]);
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
            "Error of the calculator for this lab's own small model, %d cases of the newest run (%s):\n"
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

/* --- all -------------------------------------------------------------------------------------------------------------- */

/* Print the smallest change. */
static void print_answer(FILE *out, const struct question *q, const char *size)
{
    const struct plan best = find_fit(q);
    const double room = (1 - FREE_SHARE) * q->bytes / 1e9;
    if (best.ranks == 0) {
        fprintf(out, "\nNothing fits into %s less %g %%, %.1f GB, up to %d ranks.\n", size, 100 * FREE_SHARE, room,
                RANKS_MOST);
        return;
    }
    fprintf(
        out,
        "\nSmallest change that fits into %s less %g %% for what is not counted, %.1f GB. Of all combinations: fewest "
        "ranks, then\nfewest changes (micro-batches, recomputing, a stage), then the shortest step.\n",
        size, 100 * FREE_SHARE, room);
    print_plan(out, q, &best);
}

static const char assumptions[] = "Assumed: mixed precision as in ZeRO's paper: 2 bytes a parameter, 2 for its "
                                  "gradient, also while micro-batches add up, 12 for\n"
                                  "the optimizer (a copy and two moments in float). DDP with autocast keeps parameters "
                                  "and gradients in float instead: 4 + 4.\n"
                                  "Attention stores no scores (FlashAttention). Each token attends to the whole text. "
                                  "Communication overlaps nothing. ZeRO 2 and 3\n"
                                  "communicate in each micro-batch. More ranks: multiples of --ranks, which share the "
                                  "global batch, at least a text each.\n"
                                  "Not counted: the framework and NCCL, fragments of the allocator, what dropout "
                                  "keeps, time for data. GB are 10^9 bytes.\n"
                                  "How to make these changes in PyTorch: notebooks-md/10_memory.md, section 9.\n";

void print_fit(FILE *out, const struct question *q, const struct options *o, const char *folder)
{
    fprintf(
        out,
        "%s, %.0f parameters, on %d rank%s. A step trains %d text%s of %d tokens on each: a global batch of %d.\n\n",
        q->model.shape.name, q->model.parameters, q->now.ranks, q->now.ranks > 1 ? "s" : "", q->now.batch,
        q->now.batch > 1 ? "s" : "", q->now.length, q->global_batch);
    print_heads(out);
    print_single_changes(out, q);
    print_answer(out, q, o->fit);
    fprintf(out, "\nSpeeds, %s: large products %.4g TFLOP/s on each rank, link %.4g GB/s, memory %.4g GB/s.\n",
            o->measured_speeds ? "as the newest run measured them"
                               : "assumed for an H100 (--tflops, --link-gb, --memory-gb)",
            q->speeds.flops / 1e12, q->speeds.link / 1e9, q->speeds.memory / 1e9);
    print_error(out, folder, o->run.out);
    fputs(assumptions, out);
}
