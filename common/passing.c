#include "passing.h"

#include "device.h"
#include "peers.h"
#include "stats.h"
#include "world.h"

#include <math.h>

enum { SIZES = 9, REPEATS = 5 };
enum { REPEATS_SIMULATED = 3 }; /* messages are exact there, and only adding is measured */
static const double bytes_of[SIZES] = { 16, 256, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20 };

/* Of the two ranks one waits for the other's answer. */
static void there_and_back(struct peers *peers, int other, float *out, float *in, size_t count)
{
    if (peers_rank(peers) == 0)
        peers_send(peers, other, out, count);
    peers_receive(peers, other, in, count);
    if (peers_rank(peers) > 0)
        peers_send(peers, other, out, count);
}

/* Seconds on this rank, each begun when the other is there. */
struct lap {
    double send, exchange, add;
};

/* Added is what has just come: it lies where a message leaves it, and not where adding would. */
static struct lap one_lap(struct peers *peers, int other, float *out, float *in, size_t count)
{
    double at[6];
    there_and_back(peers, other, out, in, 1);
    device_wait();
    at[0] = world_now();
    there_and_back(peers, other, out, in, count);
    device_wait();
    at[1] = world_now();
    there_and_back(peers, other, out, in, 1);
    device_wait();
    at[2] = world_now();
    peers_pass(peers, other, out, count, other, in, count);
    device_wait();
    at[3] = world_now();
    device_align();
    at[4] = device_moment();
    device_add(out, in, count);
    at[5] = device_moment();
    device_wait();
    return (struct lap){ (at[1] - at[0]) / 2, at[3] - at[2], device_seconds(at[5]) - device_seconds(at[4]) };
}

/* The mean of a few, where one is short. */
static struct lap mean_lap(struct peers *peers, int other, float *out, float *in, size_t count)
{
    const int laps = count * sizeof *out <= 65536 ? 8 : 1;
    struct lap mean = { 0 };
    for (int i = 0; i < laps; i++) {
        struct lap lap = one_lap(peers, other, out, in, count);
        mean.send += lap.send / laps;
        mean.exchange += lap.exchange / laps;
        mean.add += lap.add / laps;
    }
    return mean;
}

static void add_point(struct link *link, double bytes, const double *seconds, int repeats)
{
    const double least = 1e-9; /* a machine on which it costs nothing is fitted like any other */
    link_add(link, bytes, fmax(least, stats_quantile(seconds, repeats, 0.5)));
}

/* The two ranks. */
static void measure(struct passing *passing, struct peers *peers, int other, int repeats)
{
    float *out = device_new((size_t)bytes_of[SIZES - 1], 1), *in = device_new((size_t)bytes_of[SIZES - 1], 1);
    for (int size = 0; size < SIZES; size++) {
        double send[REPEATS], exchange[REPEATS], add[REPEATS];
        for (int i = -1; i < repeats; i++) { /* the first one warms up */
            struct lap lap = mean_lap(peers, other, out, in, (size_t)bytes_of[size] / sizeof(float));
            if (i >= 0) {
                send[i] = lap.send;
                exchange[i] = lap.exchange;
                add[i] = lap.add;
            }
        }
        add_point(&passing->send, bytes_of[size], send, repeats);
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
        measure(passing, peers, rank == 0 ? last : 0,
                !world_is_simulated() ? REPEATS
                : device_computes()   ? REPEATS_SIMULATED
                                      : 1);
        peers_close(peers);
        passing_fit(passing);
    }
    world_rest(world);
}
