#include "passing.h"

#include "device.h"
#include "peers.h"
#include "stats.h"
#include "world.h"

#include <math.h>

enum { SIZES = 9, LAPS = 4, REPEATS_MOST = 7 };
static const double bytes_of[SIZES] = { 16, 256, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20 };

/* One lap of the two ranks, of which one waits for the other's answer. */
static void there_and_back(struct peers *peers, int other, float *out, float *in, size_t count)
{
    if (peers_rank(peers) == 0)
        peers_send(peers, other, out, count);
    peers_receive(peers, other, in, count);
    if (peers_rank(peers) > 0)
        peers_send(peers, other, out, count);
}

static void both_at_once(struct peers *peers, int other, float *out, float *in, size_t count)
{
    peers_pass(peers, other, out, count, other, in, count);
}

typedef void lap_kind(struct peers *peers, int other, float *out, float *in, size_t count);

/* Seconds of a lap on this rank, which begins when the other is there. */
static double time_laps(lap_kind *lap, struct peers *peers, int other, float *out, float *in, size_t count)
{
    there_and_back(peers, other, out, in, 1);
    device_wait();
    double began = world_now();
    for (int i = 0; i < LAPS; i++) {
        lap(peers, other, out, in, count);
        device_wait();
    }
    return (world_now() - began) / LAPS;
}

/* Of what has just come, which lies where a message leaves it and not where adding it would. */
static double time_add(struct peers *peers, int other, float *sum, float *in, size_t count)
{
    double seconds = 0;
    for (int i = 0; i < LAPS; i++) {
        both_at_once(peers, other, sum, in, count);
        device_align();
        double began = device_moment();
        device_add(sum, in, count);
        double end = device_moment();
        device_wait();
        seconds += device_seconds(end) - device_seconds(began);
    }
    return seconds / LAPS;
}

static void add_point(struct link *link, double bytes, const double *seconds, int repeats)
{
    const double least = 1e-9; /* a machine on which it costs nothing is fitted like any other */
    link->bytes[link->points] = bytes;
    link->seconds[link->points++] = fmax(least, stats_quantile(seconds, repeats, 0.5));
}

/* The two ranks. */
static void measure(struct passing *passing, struct peers *peers, int other, int repeats)
{
    float *out = device_new((size_t)bytes_of[SIZES - 1], 1), *in = device_new((size_t)bytes_of[SIZES - 1], 1);
    for (int size = 0; size < SIZES; size++) {
        double trip[REPEATS_MOST], exchange[REPEATS_MOST], add[REPEATS_MOST];
        size_t count = (size_t)bytes_of[size] / sizeof(float);
        for (int i = -1; i < repeats; i++) { /* the first one warms up */
            double one = time_laps(there_and_back, peers, other, out, in, count) / 2;
            double both = time_laps(both_at_once, peers, other, out, in, count);
            double sum = time_add(peers, other, out, in, count);
            if (i >= 0) {
                trip[i] = one;
                exchange[i] = both;
                add[i] = sum;
            }
        }
        add_point(&passing->send, bytes_of[size], trip, repeats);
        add_point(&passing->exchange, bytes_of[size], exchange, repeats);
        add_point(&passing->add, bytes_of[size], add, repeats);
    }
    device_free(out);
    device_free(in);
}

bool passing_is_known(const struct passing *passing)
{
    return passing->send.points > 0 && passing->exchange.points > 0 && passing->add.points > 0;
}

void passing_fit(struct passing *passing)
{
    link_fit(&passing->send);
    link_fit(&passing->exchange);
    link_fit(&passing->add);
}

void passing_measure(struct passing *passing, struct world *world)
{
    const int rank = world_rank(world), last = world_size(world) - 1;
    *passing = (struct passing){ .send.ranks = 2, .exchange.ranks = 2, .add.ranks = 1 };
    if (last == 0)
        return;
    if (rank == 0 || rank == last) {
        struct peers *peers = peers_open(world);
        measure(passing, peers, rank == 0 ? last : 0, device_computes() ? REPEATS_MOST : 1);
        peers_close(peers);
        passing_fit(passing);
    }
    world_rest(world);
}
