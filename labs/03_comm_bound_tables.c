/* 03_comm_bound_tables: two tables beside the cases of lab 03, measured and predicted. sweep.csv: all-reduces of many sizes alone.
 * exposed.csv: by how much the message in buckets lengthens forward and backward, in buckets of many sizes. */
#include "03_comm_bound.h"

#include <math.h>
#include <stdlib.h>

/* On rank 0: return the seconds of forward, backward and all sums that backward started, from the last rank's begin to the last rank's
 * end. */
static double time_passes(struct world *world, struct collective *collective, const struct options *o,
                          struct trainer *t, struct buffers *b)
{
    struct lap {
        double begin, end;
    } mine, *all = memory_new((size_t)o->run.ranks, sizeof *all);
    const struct batch *batch = trainer_next(t, NO_STALL);
    device_wait();
    world_barrier(world);
    mine.begin = world_now();
    trainer_forward(t, batch);
    backward_and_start_buckets(collective, o, b, t, batch);
    finish_buckets(collective, o, b);
    device_wait();
    mine.end = world_now();
    world_gather(world, &mine, sizeof mine, all);
    double begin = -INFINITY, end = -INFINITY;
    for (int rank = 0; rank < o->run.ranks; rank++) {
        begin = fmax(begin, all[rank].begin);
        end = fmax(end, all[rank].end);
    }
    free(all);
    return end - begin;
}

/* On rank 0: return the seconds by which the message in buckets lengthens the passes, because it ends later or because the ranks' cores
 * moved it. Mean of a few steps with and without the message, in turns. */
static double measure_exposed(struct world *world, const struct options *o, struct trainer *t, struct buffers *b)
{
    enum { WARMUPS = 1, STEPS = 2 };
    struct options without = *o;
    without.overlaps = without.calls_library = false;
    struct collective *collective = collective_open(world, NULL);
    double seconds = 0;
    for (int step = -WARMUPS; step < STEPS; step++) {
        double longer = -time_passes(world, collective, &without, t, b);
        longer += time_passes(world, collective, o, t, b);
        seconds += step < 0 ? 0 : longer / STEPS;
    }
    collective_close(collective);
    return seconds;
}

/* Buckets of 1, 4, 16 … MiB, and one of the whole message. */
static void write_exposed(struct lab *lab, const struct options *base, struct csv *csv)
{
    const struct card *card = lab_card(lab);
    struct local_cost cost = card_local(card, base->run.ranks);
    double passes = cost_at(&cost.passes, workload_usual(&base->model, &base->run));
    struct options o = *base; /* those of comm_buckets */
    o.has_message = o.overlaps = o.calls_library = true;
    struct buffers b = buffers_open(&o, lab_trainer(lab)->model);
    for (int mb = 1; mb < 4 * o.comm_mb; mb *= 4) {
        o.bucket_mb = mb < o.comm_mb ? mb : o.comm_mb;
        int count = buckets_needed(message_floats(&o), bucket_floats(&o));
        if (count > BUCKETS_MOST)
            continue;
        double seconds = measure_exposed(lab_world(lab), &o, lab_trainer(lab), &b);
        while (csv) {
            csv_integer(csv, "bucket_mb", o.bucket_mb);
            csv_integer(csv, "buckets", count);
            csv_ms(csv, "exposed_ms", seconds);
            csv_ms(csv, "predicted_ms", exposed_seconds(&o, card, passes));
            if (!csv_end_row(csv))
                break;
        }
    }
    buffers_close(&b, &o);
}

/* One rank has no link to measure. */
static bool may_measure(const struct options *base)
{
    return base->run.ranks > 1 && base->run.cases.count == 0;
}

static bool wants_exposed(const struct options *base)
{
    return may_measure(base) && !base->run.quick;
}

static bool wants_sweep(const struct options *base)
{
    return may_measure(base) && base->sweep_mb > 0;
}

static void write_sweep(struct lab *lab, const struct options *base, struct csv *csv)
{
    const int mb = base->run.quick && base->sweep_mb > 16 ? 16 : base->sweep_mb;
    const int repeats = base->run.quick || base->run.takes_turns ? 3 : 5;
    lab_add_wrong(lab, sweep_table(csv, lab_world(lab), lab_card(lab), (double)MIB * mb, repeats));
}

static double sweep_bytes(const struct options *base)
{
    return (double)MIB * base->sweep_mb;
}

const struct lab_table tables[] = {
    { "sweep.csv", wants_sweep, write_sweep, sweep_bytes },
    { "exposed.csv", wants_exposed, write_exposed, NULL },
    { 0 },
};
