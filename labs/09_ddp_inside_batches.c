/* 09_ddp_inside_batches: accumulation.csv of lab 09: a global batch, reached in several ways. Their gradients are the same sum over the
 * same samples, up to the order of additions:
 *
 *     global batch = ranks × micro-batch × micro-batches of a step
 *
 *     all_ranks     each rank one batch
 *     no_sync_A     each rank A parts of its batch; only the last backward sums (DDP's no_sync())
 *     sums_A        … but each backward sums: A times the bytes
 *     one_rank      a rank alone, as many batches as there are ranks; nothing travels */
#include "09_ddp_inside.h"

#include <math.h>
#include <stdlib.h>

enum { WAY_NAME = 24 /* holds no_sync_A for any int A */ };

/* A way to the global batch. */
struct way {
    char name[WAY_NAME];
    int ranks, micro_batch, micro_batches;
    int sums; /* backwards of a step that sum */
    double step,
        apart; /* of rank 0: seconds; the largest difference from the gradients of all_ranks, in units of their largest */
    double bytes; /* that a rank hands to its sums in a step */
};

enum { WAYS_MOST = 8, TURNS = 7 };

static void add_way(struct way *ways, int *count, const char *name, struct way way)
{
    snprintf(way.name, sizeof way.name, "%s", name);
    ways[(*count)++] = way;
}

/* List the ways that divide the batch. Return their number. */
static int list_ways(const struct options *o, struct way *ways)
{
    const int ranks = o->run.ranks, batch = o->run.batch_size;
    int count = 0;
    add_way(ways, &count, "all_ranks",
            (struct way){ .ranks = ranks, .micro_batch = batch, .micro_batches = 1, .sums = 1 });
    for (int parts = 2; parts <= 4; parts *= 2)
        for (int each = 0; each < 2 && batch % parts == 0; each++) {
            char name[WAY_NAME];
            snprintf(name, sizeof name, "%s_%d", each ? "sums" : "no_sync", parts);
            add_way(
                ways, &count, name,
                (struct way){
                    .ranks = ranks, .micro_batch = batch / parts, .micro_batches = parts, .sums = each ? parts : 1 });
        }
    add_way(ways, &count, "one_rank", (struct way){ .ranks = 1, .micro_batch = batch, .micro_batches = ranks });
    return count;
}

/* Compute a way's gradients from the next samples of the data. Return them: those of the trainer, or `total` (count of the model). */
static const float *compute_gradients(struct trainer *t, struct reducer *reducer, const struct way *way, float *total)
{
    const bool adds_here = way->sums != 1; /* else the reducer adds up the micro-batches, if there are several */
    model_hook(t->model, way->sums > 0 ? reducer_hooks(reducer) : (struct model_hooks){ 0 });
    for (int i = 0; i < way->micro_batches; i++) {
        device_wait(); /* the loader overwrites an earlier batch */
        const struct batch *batch = trainer_next(t, NO_STALL);
        trainer_forward(t, batch);
        reducer_no_sync(reducer, !adds_here && i < way->micro_batches - 1);
        trainer_backward(t, batch);
        if (way->sums > 0)
            reducer_finish(reducer);
        if (adds_here && i > 0)
            device_add(total, t->gradients, t->count);
        else if (adds_here)
            device_copy(total, t->gradients, t->count);
    }
    model_hook(t->model, (struct model_hooks){ 0 });
    return adds_here ? total : t->gradients;
}

double gradients_apart(const float *gradients, const float *wanted, size_t count)
{
    double apart = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        apart = fmax(apart, fabs((double)gradients[i] - (double)wanted[i]));
        most = fmax(most, fabs((double)wanted[i]));
        if (isnan(gradients[i]))
            return INFINITY;
    }
    return most > 0 ? apart / most : INFINITY;
}

/* all: return the seconds of a way's step on rank 0, from the last rank's begin to the last rank's end. `gradients` (count of the model)
 * gets them, unless it is NULL. */
static double time_way(struct lab *lab, const struct options *o, struct reducer *reducer, const struct way *way,
                       float *total, float *gradients)
{
    struct world *world = lab_world(lab);
    struct trainer *t = lab_trainer(lab);
    const int ranks = world_size(world), rank = world_rank(world);
    const struct share share = { .global_batch = way->ranks * way->micro_batch,
                                 .first = way->ranks > 1 ? rank * way->micro_batch : 0,
                                 .samples = way->micro_batch };
    double mine[2], *all = memory_new((size_t)ranks * 2, sizeof *all), last[2] = { -INFINITY, -INFINITY };
    trainer_restart(t, share, 0, 1 / (float)(o->run.ranks * o->run.batch_size));
    device_wait();
    world_barrier(world);
    mine[0] = world_now();
    const float *of_step = compute_gradients(t, reducer, way, total);
    if (gradients)
        device_fetch(gradients, of_step, t->count * sizeof *gradients);
    trainer_update_by(t, of_step);
    device_wait();
    mine[1] = world_now();
    world_gather(world, mine, sizeof mine, all);
    for (int i = 0; i < 2 * ranks; i++)
        last[i % 2] = fmax(last[i % 2], all[i]);
    free(all);
    return last[1] - last[0];
}

/* all: measure all ways in turns; the first turn only compares gradients. Rank 0 has the results. */
static void measure_ways(struct lab *lab, const struct options *o, struct way *ways, int count)
{
    struct trainer *t = lab_trainer(lab);
    const int turns = o->run.takes_turns || !device_computes() ? 1 : card_times(TURNS);
    struct spans spans;
    spans_open(&spans, 8 * BUCKETS_MOST);
    struct collective *collective = collective_open(lab_world(lab), &spans);
    struct reducer *reducer = reducer_open(t->model, o->run.ranks);
    float *total = device_new(MEMORY_GRADIENTS, t->count, sizeof *total);
    float *gradients = memory_new(t->count, sizeof *gradients), *first = memory_new(t->count, sizeof *first);
    double(*seconds)[TURNS] = memory_new((size_t)count, sizeof *seconds);
    struct reducer_settings settings = reducer_of(o);
    settings.accumulates = true;
    for (int turn = -1; turn < turns; turn++)
        for (int i = 0; i < count; i++) {
            reducer_restart(reducer, collective, &settings);
            spans_restart(&spans, 0, 0);
            const double step =
                time_way(lab, o, reducer, &ways[i], total, turn < 0 ? i == 0 ? first : gradients : NULL);
            if (turn >= 0)
                seconds[i][turn] = step;
            else
                ways[i].apart = !device_computes() ? (double)NAN
                                : i == 0           ? 0
                                                   : gradients_apart(gradients, first, t->count);
            ways[i].bytes = 0;
            for (int k = 0; k < spans.count; k++)
                ways[i].bytes += (double)spans.at[k].bytes;
            world_heartbeat(lab_world(lab));
        }
    for (int i = 0; i < count; i++)
        ways[i].step = stats_quantile(seconds[i], turns, 0.5);
    free(seconds);
    free(gradients);
    free(first);
    device_free(total);
    reducer_close(reducer);
    collective_close(collective);
    spans_close(&spans);
}

/* Roundings of other orders of additions are far below this, a missing or doubled micro-batch far above. */
static const double tolerance = 1e-3;

void write_accumulation(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct way ways[WAYS_MOST];
    const int count = list_ways(base, ways);
    const struct options settings = with_cap(base, 1024.0 * base->bucket_kb);
    struct check_failures wrong = { 0 };
    measure_ways(lab, &settings, ways, count);
    for (int i = 0; csv && i < count; i++) {
        const struct way *way = &ways[i];
        struct options micro = settings;
        micro.run.batch_size = way->micro_batch;
        const struct prediction predicted = predict_accumulated(&micro, lab_card(lab), way->micro_batches, way->sums);
        if (device_computes() && !(way->apart <= tolerance))
            check_failures_add(&wrong, "gradients of %s differ from those of all_ranks by %g of the largest", way->name,
                               way->apart);
        do {
            csv_text(csv, "way", way->name);
            csv_integer(csv, "ranks", way->ranks);
            csv_integer(csv, "micro_batch", way->micro_batch);
            csv_integer(csv, "micro_batches", way->micro_batches);
            csv_integer(csv, "global_batch_size", way->ranks * way->micro_batch * way->micro_batches);
            csv_number(csv, "summed_bytes", way->bytes);
            csv_ratio(csv, "gradients_apart", way->apart);
            csv_ms(csv, "step_ms", way->step);
            csv_ms(csv, "predicted_ms", prediction_step(&predicted));
        } while (csv_end_row(csv));
    }
    lab_add_wrong(lab, wrong);
}
