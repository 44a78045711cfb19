/* 03_comm_bound_exposed: exposed.csv of lab 03, measured and predicted: how much the message lengthens the passes, in buckets of
 * many sizes. */
#include "03_comm_bound.h"

#include <math.h>
#include <stdlib.h>

/* On rank 0: seconds of forward, backward and all sums that backward started, from the last rank's begin to the last rank's
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
    backward(collective, o, b, t, batch);
    buckets_finish(&b->started, collective);
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

/* On rank 0: seconds by which the message in buckets lengthens the passes, because it ends later or because the ranks' cores moved
 * it. Mean of a few steps with and without the message, in turns. */
static double measure_exposed(struct world *world, const struct options *o, struct trainer *t, struct buffers *b)
{
    enum { WARMUPS = 1, STEPS = 2 };
    struct options without = *o;
    without.overlaps = without.progresses = false;
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

void compare_buckets(struct lab *lab, const struct options *in_buckets, struct trainer *t, struct buffers *b)
{
    const struct card *card = lab_card(lab);
    struct local_cost cost = card_local(card, in_buckets->run.ranks);
    double passes = cost_at(&cost.passes, work_samples(in_buckets->run.batch_size));
    struct csv *csv = lab_table(lab, "exposed.csv");
    struct options o = *in_buckets;
    for (int mb = 1; mb < 4 * o.comm_mb; mb *= 4) {
        o.bucket_mb = mb < o.comm_mb ? mb : o.comm_mb;
        int count = buckets_needed(message_floats(&o), bucket_floats(&o));
        if (count > BUCKETS_MOST)
            continue;
        double seconds = measure_exposed(lab_world(lab), &o, t, b);
        while (csv) {
            csv_integer(csv, "bucket_mb", o.bucket_mb);
            csv_integer(csv, "buckets", count);
            csv_ms(csv, "exposed_ms", seconds);
            csv_ms(csv, "predicted_ms", exposed_seconds(&o, card, passes));
            if (!csv_end_row(csv))
                break;
        }
    }
}
