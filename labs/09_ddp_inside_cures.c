/* 09_ddp_inside_cures: cures.csv of lab 09: what helps against the mistakes of 09_ddp_inside_breaks.c, and its price.
 *
 *     zero_fill        left_out: zeros for gradients that backward has not computed, at its end
 *     find_unused      … found before backward by a walk over the tensors; and one more sum: how many ranks use each
 *     static_graph     … of those that the first step did not use
 *     static_order     order: buckets start in one order; one that is ready early waits for those before it
 *     shared_buckets   size: rank 0 broadcasts its buckets whenever they are built
 *     join             early_exit: one more all-reduce before each step counts ranks with a batch; the others add zeros
 *     one_order        crossed_groups: all ranks call the groups in one order
 *     started_ahead    … or, under MPI, start the sums of both groups before they wait for one
 *
 * Each is measured in a step without a mistake, and in one in which the last rank has the cause of the mistake. The first is the
 * premium, paid in every step. The gradients are compared with their plain sum. */
#include "09_ddp_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN = 0, PLAIN_GROUPS = 7, TURNS_LEAST = 3, TURNS_MOST = 9 };

/* clang-format off */
const struct cure cures[CURES] = {
    [PLAIN]        = { "none",           NO_BREAK,       UNUSED_STOPS,  false, false, false, false },
    { "zero_fill",      LEFT_OUT,       UNUSED_ZEROS,  false, false, false, false },
    { "find_unused",    LEFT_OUT,       UNUSED_FOUND,  false, false, false, false },
    { "static_graph",   LEFT_OUT,       UNUSED_LEARNT, false, false, false, false },
    { "static_order",   OTHER_ORDER,    UNUSED_STOPS,  false, false, false, false },
    { "shared_buckets", OTHER_SIZE,     UNUSED_STOPS,  true,  false, false, false },
    { "join",           EARLY_EXIT,     UNUSED_STOPS,  false, true,  false, false },
    [PLAIN_GROUPS] = { "one_order",      CROSSED_GROUPS, UNUSED_STOPS,  false, false, true,  false },
    { "started_ahead",  CROSSED_GROUPS, UNUSED_STOPS,  false, false, true,  true },
};
/* clang-format on */

/* Return the step that a cure is compared with: an index. */
static int cure_reference(const struct cure *cure)
{
    return cure->has_groups ? PLAIN_GROUPS : PLAIN;
}

/* Arguments of a step. */
struct clinic {
    const struct options *o;
    struct world *world;
    struct trainer *t;
    struct spans spans; /* for the number of sums */
    struct collective *collective;
    const struct group *group[BREAK_GROUPS];
    struct reducer *reducer;
    struct join *join;
    struct late_layer late;
    int frozen; /* layer; -1: none */
};

/* --- a step --------------------------------------------------------------------------------------------------------- */

static bool is_used(const void *argument, int layer)
{
    const struct clinic *c = argument;
    return layer != c->frozen;
}

/* True if the cause can be there. One bucket has no order. Only MPI lets ranks start the sums of two groups in different orders: others run
 * what a rank has started one after another. */
static bool can_be_caused(const struct clinic *c, const struct cure *cure)
{
    if (cure->is_ahead)
        return strcmp(collective_backend(), "mpi") == 0;
    return cure->against != NO_BREAK && (cure->against != OTHER_ORDER || c->late.behind >= 0);
}

/* Give this rank the cause of the mistake, or take it away. Return true if the rank has a batch. */
static bool set_cause(struct clinic *c, const struct cure *cure, bool has_cause)
{
    const int layer = layer_of_break(c->o);
    c->frozen = has_cause && cure->against == LEFT_OUT ? layer : -1;
    c->late.layer = has_cause && cure->against == OTHER_ORDER ? layer : -1;
    model_freeze(c->t->model, c->frozen);
    model_hook(c->t->model, cure->has_groups ? (struct model_hooks){ 0 } : late_hooks(&c->late));
    return !(has_cause && cure->against == EARLY_EXIT);
}

static void sum_in_groups(const struct clinic *c, bool is_crossed, bool is_ahead)
{
    int ticket[BREAK_GROUPS];
    for (int i = 0; i < BREAK_GROUPS; i++) {
        const int which = is_crossed && is_ahead ? BREAK_GROUPS - 1 - i : i;
        size_t begin;
        const size_t count = part_of_group(c->t->count, which, &begin);
        float *part = c->t->gradients + begin;
        const struct collective_op op = in_group(c->group[which], all_reduce(TYPE_F32, part, part, count));
        if (is_ahead)
            ticket[which] = collective_start(c->collective, op);
        else
            collective_run(c->collective, op);
    }
    for (int i = 0; i < BREAK_GROUPS && is_ahead; i++)
        collective_finish(c->collective, ticket[i]);
}

/* Compute and sum the gradients of a batch; NULL: this rank has none. */
static void cured_passes(struct clinic *c, const struct cure *cure, const struct batch *batch, bool has_cause)
{
    if (cure->joins)
        join_step(c->join, batch != NULL);
    if (batch) {
        trainer_forward(c->t, batch);
        if (cure->unused == UNUSED_FOUND)
            reducer_find_unused(c->reducer, is_used, c);
        trainer_backward(c->t, batch);
    }
    if (cure->has_groups)
        sum_in_groups(c, has_cause, cure->is_ahead);
    else if (batch)
        reducer_finish(c->reducer);
    else
        reducer_shadow(c->reducer);
}

/* Return the seconds of a step from the last rank's begin to the last rank's end, on rank 0. */
static double take_step(struct clinic *c, const struct cure *cure, bool has_cause)
{
    double mine[2], last[2] = { -INFINITY, -INFINITY };
    const int ranks = world_size(c->world);
    double(*all)[2] = memory_new((size_t)ranks, sizeof *all);
    const bool has_batch = set_cause(c, cure, has_cause);
    spans_restart(&c->spans, 0, 0);
    device_wait();
    world_barrier(c->world);
    mine[0] = world_now();
    cured_passes(c, cure, has_batch ? trainer_next(c->t, NO_STALL) : NULL, has_cause);
    trainer_update(c->t);
    device_wait();
    mine[1] = world_now();
    world_gather(c->world, mine, sizeof mine, all);
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < 2; i++)
            last[i] = fmax(last[i], all[rank][i]);
    free(all);
    return last[1] - last[0];
}

/* Begin with the cure. Return the seconds of building the buckets. */
static double begin_cure(struct clinic *c, const struct cure *cure, bool has_cause)
{
    struct reducer_settings settings =
        has_cause && cure->against == OTHER_SIZE ? other_buckets(c->o) : buckets_of_break(c->o);
    settings.unused = cure->unused;
    settings.is_shared = cure->is_shared;
    world_barrier(c->world);
    const double began = world_now();
    reducer_restart(c->reducer, c->collective, &settings);
    return world_now() - began;
}

/* --- right results -------------------------------------------------------------------------------------------------- */

/* all: return the largest difference of the gradients from their plain sum, over the largest of them, on rank 0. */
static double compare_with_plain(struct clinic *c, const struct cure *cure, bool has_cause)
{
    const size_t count = c->t->count, bytes = count * sizeof(float);
    float *wanted = memory_new(count, sizeof *wanted), *found = memory_new(count, sizeof *found);
    const bool has_batch = set_cause(c, cure, has_cause);
    const struct batch *batch = has_batch ? trainer_next(c->t, NO_STALL) : NULL;
    spans_restart(&c->spans, 0, 0);
    model_hook(c->t->model, (struct model_hooks){ 0 });
    device_fill(c->t->gradients, 0, count); /* of a frozen layer, and of a rank without batch */
    if (batch) {
        trainer_forward(c->t, batch);
        trainer_backward(c->t, batch);
    }
    collective_run(c->collective, all_reduce(TYPE_F32, c->t->gradients, c->t->gradients, count));
    device_fetch(wanted, c->t->gradients, bytes);
    set_cause(c, cure, has_cause);
    cured_passes(c, cure, batch, has_cause);
    device_fetch(found, c->t->gradients, bytes);
    double apart = gradients_apart(found, wanted, count);
    free(wanted);
    free(found);
    double *all = memory_new((size_t)world_size(c->world), sizeof *all);
    world_gather(c->world, &apart, sizeof apart, all);
    for (int rank = 0; rank < world_size(c->world); rank++)
        apart = fmax(apart, all[rank]);
    free(all);
    return apart;
}

/* --- measuring ------------------------------------------------------------------------------------------------------- */

static void count_sums(const struct clinic *c, struct cured *cured)
{
    cured->sums = c->spans.count;
    for (int i = 0; i < c->spans.count; i++)
        cured->bytes += (double)c->spans.at[i].bytes;
}

/* all: take two steps with the cure and return the seconds of the second: in the first the reducer may learn. All cures meet the same
 * jitter of a modelled machine. */
static double measure_cure(struct clinic *c, const struct cure *cure, bool is_caused, double *once)
{
    const bool has_cause = is_caused && world_rank(c->world) == world_size(c->world) - 1;
    device_seed((uint64_t)c->o->run.noise_seed * RANKS_MOST + (uint64_t)world_rank(c->world));
    const double built = begin_cure(c, cure, has_cause);
    *once = cure->is_shared ? built : (double)NAN;
    take_step(c, cure, has_cause);
    return take_step(c, cure, has_cause);
}

static void open_clinic(struct clinic *c)
{
    spans_open(&c->spans, 2 * BUCKETS_MOST + BREAK_GROUPS);
    c->collective = collective_open(c->world, &c->spans);
    for (int i = 0; i < BREAK_GROUPS; i++)
        c->group[i] = collective_split(c->collective, 0, world_rank(c->world));
    c->reducer = reducer_open(c->t->model, world_size(c->world));
    c->join = join_open(c->collective);
    c->late = (struct late_layer){ c->reducer, -1, layer_behind(c->o, layer_of_break(c->o)), false };
}

static void close_clinic(struct clinic *c)
{
    model_freeze(c->t->model, -1);
    model_hook(c->t->model, (struct model_hooks){ 0 });
    join_close(c->join);
    reducer_close(c->reducer);
    collective_close(c->collective);
    spans_close(&c->spans);
}

static bool is_asked(const struct cure *cure, enum break_kind against)
{
    return against == NO_BREAK || cure->against == against ||
           cure == &cures[against == CROSSED_GROUPS ? PLAIN_GROUPS : PLAIN];
}

/* all: fill in the results that need no turns: sums, bytes, right gradients. */
static void examine_cure(struct clinic *c, const struct cure *cure, struct cured *cured)
{
    double once;
    *cured = (struct cured){ .once = (double)NAN, .step = { (double)NAN, (double)NAN }, .apart = (double)NAN };
    measure_cure(c, cure, false, &once);
    count_sums(c, cured);
    if (!device_computes() || !can_be_caused(c, cure))
        return;
    const bool has_cause = world_rank(c->world) == world_size(c->world) - 1;
    begin_cure(c, cure, has_cause);
    take_step(c, cure, has_cause);
    cured->apart = compare_with_plain(c, cure, has_cause);
}

void measure_cures(struct world *world, struct trainer *t, const struct options *o, enum break_kind against,
                   struct cured cured[CURES])
{
    struct clinic c = { .o = o, .world = world, .t = t };
    const bool is_exact = o->run.takes_turns || !device_computes() || card_is_brief();
    int turns = 1;
    double seconds[CURES][CONDITIONS][TURNS_MOST], once[CURES][TURNS_MOST];
    open_clinic(&c);
    for (int i = 0; i < CURES; i++)
        if (is_asked(&cures[i], against))
            examine_cure(&c, &cures[i], &cured[i]);
    const double began = world_wall();
    for (int turn = 0; turn < turns; turn++) {
        for (int k = 0; k < CURES; k++) {
            const int i = (k + turn) % CURES;
            for (int condition = HEALTHY; condition < CONDITIONS && is_asked(&cures[i], against); condition++)
                if (condition == HEALTHY || can_be_caused(&c, &cures[i]))
                    seconds[i][condition][turn] = measure_cure(&c, &cures[i], condition == CAUSED, &once[i][turn]);
            world_heartbeat(world);
        }
        if (turn == 0 && !is_exact)
            turns = lab_turns(world, &o->run, world_wall() - began, TURNS_LEAST, TURNS_MOST);
    }
    for (int i = 0; i < CURES; i++) {
        if (!is_asked(&cures[i], against))
            continue;
        cured[i].once = cures[i].is_shared ? stats_quantile(once[i], turns, 0.25) : (double)NAN;
        for (int condition = HEALTHY; condition < CONDITIONS; condition++)
            if (condition == HEALTHY || can_be_caused(&c, &cures[i]))
                cured[i].step[condition] = stats_quantile(seconds[i][condition], turns, 0.25);
    }
    close_clinic(&c);
}

/* --- cures.csv -------------------------------------------------------------------------------------------------------- */

static const char *word_of(enum break_kind kind)
{
    static const char *const words[] = { "none", "left_out", "order", "size", "early_exit", "crossed_groups" };
    return words[kind];
}

/* Return the seconds by which a step is longer than that without cure and cause; differences below a nanosecond are none. */
static double price_of(const struct cured cured[CURES], int cure, int condition)
{
    const double price = cured[cure].step[condition] - cured[cure_reference(&cures[cure])].step[HEALTHY];
    return fabs(price) < 1e-9 ? 0 : price;
}

void write_cures(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct cured cured[CURES] = { 0 };
    struct check_failures wrong = { 0 };
    measure_cures(lab_world(lab), lab_trainer(lab), base, NO_BREAK, cured);
    for (int i = 0; csv && i < CURES; i++) {
        const struct cured *reference = &cured[cure_reference(&cures[i])];
        if (cured[i].apart > CURE_TOLERANCE)
            check_failures_add(&wrong, "cure %s: gradients differ from their plain sum by %.1e of the largest",
                               cures[i].name, cured[i].apart);
        do {
            csv_text(csv, "mistake", word_of(cures[i].against));
            csv_text(csv, "cure", cures[i].name);
            csv_integer(csv, "sums_more", cured[i].sums - reference->sums);
            csv_number(csv, "bytes_more", cured[i].bytes - reference->bytes);
            csv_ms(csv, "step_ms", cured[i].step[HEALTHY]);
            csv_ms(csv, "price_ms", price_of(cured, i, HEALTHY));
            csv_ms(csv, "predicted_price_ms", predict_cure(base, lab_card(lab), &cures[i], HEALTHY));
            csv_ms(csv, "caused_price_ms", price_of(cured, i, CAUSED));
            csv_ms(csv, "predicted_caused_ms", predict_cure(base, lab_card(lab), &cures[i], CAUSED));
            csv_ms(csv, "once_ms", cured[i].once);
            csv_number(csv, "apart", cured[i].apart);
        } while (csv_end_row(csv));
    }
    lab_add_wrong(lab, wrong);
}

void print_cures(const struct cured cured[CURES], enum break_kind against)
{
    const int reference = against == CROSSED_GROUPS ? PLAIN_GROUPS : PLAIN;
    printf("cures of %s; price: ms by which a step is longer than %.3f ms\n", word_of(against),
           1e3 * cured[reference].step[HEALTHY]);
    printf("  %-15s %10s %16s %10s %10s\n", "cure", "price", "with the cause", "sums more", "bytes more");
    for (int i = 0; i < CURES; i++)
        if (cures[i].against == against)
            printf("  %-15s %+10.3f %+16.3f %10d %10.0f\n", cures[i].name, 1e3 * price_of(cured, i, HEALTHY),
                   1e3 * price_of(cured, i, CAUSED), cured[i].sums - cured[reference].sums,
                   cured[i].bytes - cured[reference].bytes);
}
