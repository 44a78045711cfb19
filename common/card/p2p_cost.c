#include "card/p2p_cost.h"

#include "base/stats.h"
#include "collective/p2p.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>

enum { SIZES = 9, REPEATS = 5 };
enum { REPEATS_SIMULATED = 3 }; /* messages are exact there, and only adding is measured */
static const double bytes_of[SIZES] = { 16, 256, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20 };

/* Of the two ranks one waits for the other's answer. */
static void there_and_back(struct p2p *peers, int other, float *out, float *in, size_t count)
{
    if (p2p_rank(peers) == 0)
        p2p_send(peers, other, out, count);
    p2p_receive(peers, other, in, count);
    if (p2p_rank(peers) > 0)
        p2p_send(peers, other, out, count);
}

/* Seconds on this rank, each begun when the other is there. */
struct lap {
    double send, exchange, add;
};

/* Added is what has just come: it lies where a message leaves it, and not where adding would. */
static struct lap one_lap(struct p2p *peers, int other, float *out, float *in, size_t count)
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
    for (int i = 0; i < 2; i++) /* a pair: in the first one the other's message is under way before this rank begins */
        p2p_pass(peers, other, out, count, other, in, count);
    device_wait();
    at[3] = world_now();
    device_clock_sync_begin();
    at[4] = device_record_event();
    device_add(out, in, count);
    at[5] = device_record_event();
    device_wait();
    return (struct lap){ (at[1] - at[0]) / 2, (at[3] - at[2]) / 2,
                         device_event_seconds(at[5]) - device_event_seconds(at[4]) };
}

/* Whether the two go on to another lap, as the first rank tells. Where nothing is computed messages have no contents, and one
 * lap is as good as many. */
static bool agree(struct p2p *peers, int other, float *out, float *in, bool goes_on)
{
    float word = goes_on;
    if (!device_computes())
        return false;
    if (p2p_rank(peers) == 0)
        device_put(out, &word, sizeof word);
    there_and_back(peers, other, out, in, 1);
    if (p2p_rank(peers) > 0)
        device_fetch(&word, in, sizeof word);
    return word > 0;
}

/* The mean of a few, where one is short: on a machine where others compute, each message may wait for a core. */
static struct lap mean_lap(struct p2p *peers, int other, float *out, float *in, size_t count)
{
    enum { LAPS_MOST = 8 };
    const double moment = 2e-3, begin = world_now();
    struct lap sum = { 0 };
    int laps = 0;
    do {
        struct lap lap = one_lap(peers, other, out, in, count);
        sum.send += lap.send;
        sum.exchange += lap.exchange;
        sum.add += lap.add;
        laps++;
    } while (agree(peers, other, out, in, laps < LAPS_MOST && world_now() - begin < moment));
    return (struct lap){ sum.send / laps, sum.exchange / laps, sum.add / laps };
}

static void add_point(struct alpha_beta *link, double bytes, const double *seconds, int repeats)
{
    const double least = 1e-9; /* a machine on which it costs nothing is fitted like any other */
    alpha_beta_add(link, bytes, fmax(least, stats_quantile(seconds, repeats, 0.5)));
}

/* The two ranks. */
static void measure(struct p2p_cost *passing, struct world *world, int other, int repeats)
{
    struct p2p *peers = p2p_open(world);
    float *out = device_new((size_t)bytes_of[SIZES - 1], 1), *in = device_new((size_t)bytes_of[SIZES - 1], 1);
    for (int size = 0; size < SIZES; size++) {
        double send[REPEATS], exchange[REPEATS], add[REPEATS];
        for (int i = -1; i < repeats; i++) { /* the first one warms up */
            world_heartbeat(world);
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
    p2p_close(peers);
}

bool p2p_cost_is_known(const struct p2p_cost *passing)
{
    return passing->send.points > 0 && passing->exchange.points > 0 && passing->add.points > 0;
}

void p2p_cost_fit(struct p2p_cost *passing)
{
    alpha_beta_fit(&passing->send);
    alpha_beta_fit(&passing->exchange);
    alpha_beta_fit(&passing->add);
}

void p2p_cost_measure(struct p2p_cost *passing, struct world *world)
{
    const int rank = world_rank(world), last = world_size(world) - 1;
    *passing = (struct p2p_cost){ .send.ranks = 2, .exchange.ranks = 2, .add.ranks = 1 };
    if (last == 0)
        return;
    if (rank == 0 || rank == last) {
        measure(passing, world, rank == 0 ? last : 0,
                !world_is_simulated() ? REPEATS
                : device_computes()   ? REPEATS_SIMULATED
                                      : 1);
        p2p_cost_fit(passing);
    }
    world_park(world);
}
