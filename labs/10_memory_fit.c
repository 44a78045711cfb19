/* 10_memory_fit: what lab 10 answers without measuring. --zero-table: the table of the ZeRO paper. --fit: the smallest change after which a
 * well-known model trains within a given memory of each rank: found here by the calculator (10_memory_calculator.c),
 * and printed by 10_memory_fit_show.c. */
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

enum { USUAL_LENGTH = 4096 };

/* Return the plan on `ranks` ranks: they train the same global batch, or one text each if there are more. */
static struct plan on_ranks(const struct question *q, struct plan plan, int ranks)
{
    plan.ranks = ranks;
    plan.batch = plan.micro = (q->global_batch + ranks - 1) / ranks;
    return plan;
}

bool fits(const struct question *q, const struct plan *plan)
{
    return calculated_bytes(&q->model, plan) <= (1 - FREE_SHARE) * q->bytes;
}

/* --- the smallest change ---------------------------------------------------------------------------------------------- */

void list_recomputings(const struct question *q, struct recomputing how[RECOMPUTINGS])
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

struct plan find_fit(const struct question *q)
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
    print_fit(out, &q, o, folder);
    free(folder);
    return true;
}
