#include "card/p2p_cost.h"

#include "base/stats.h"
#include "collective/p2p.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>

enum { SIZES = 9, REPEATS = 5 };
enum { REPEATS_SIMULATED = 3 }; /* simulated messages are exact; only adding is measured */
static const double bytes_of[SIZES] = { 16, 256, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20 };

/* Send a message from rank 0 to the other rank and one back. */
static void there_and_back(struct p2p *p2p, int other, float *out, float *in, size_t count)
{
    if (p2p_rank(p2p) == 0)
        p2p_send(p2p, other, out, count);
    p2p_receive(p2p, other, in, count);
    if (p2p_rank(p2p) > 0)
        p2p_send(p2p, other, out, count);
}

/* Seconds on this rank; each part begins when the other rank is ready. */
struct lap {
    double send, exchange, add;
};

/* Measure one lap. It adds floats that were just received, so they lie where a message leaves them, not where adding would. */
static struct lap one_lap(struct p2p *p2p, int other, float *out, float *in, size_t count)
{
    double at[6];
    there_and_back(p2p, other, out, in, 1);
    device_wait();
    at[0] = world_now();
    there_and_back(p2p, other, out, in, count);
    device_wait();
    at[1] = world_now();
    there_and_back(p2p, other, out, in, 1);
    device_wait();
    at[2] = world_now();
    /* two exchanges: in the first one the other rank's message is under way before this rank begins */
    for (int i = 0; i < 2; i++)
        p2p_pass(p2p, other, out, count, other, in, count);
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

/* True if the two ranks do another lap; rank 0 decides by `goes_on`. On a device that computes nothing, messages have no contents
 * and one lap is as good as many. */
static bool agree(struct p2p *p2p, int other, float *out, float *in, bool goes_on)
{
    float answer = goes_on;
    if (!device_computes())
        return false;
    if (p2p_rank(p2p) == 0)
        device_put(out, &answer, sizeof answer);
    there_and_back(p2p, other, out, in, 1);
    if (p2p_rank(p2p) > 0)
        device_fetch(&answer, in, sizeof answer);
    return answer > 0;
}

/* Return the mean of a few laps if one is short: on a machine with other load, each message may wait for a core. */
static struct lap mean_lap(struct p2p *p2p, int other, float *out, float *in, size_t count)
{
    enum { LAPS_MOST = 8 };
    const double enough_s = 2e-3, begin = world_now();
    struct lap sum = { 0 };
    int laps = 0;
    do {
        struct lap lap = one_lap(p2p, other, out, in, count);
        sum.send += lap.send;
        sum.exchange += lap.exchange;
        sum.add += lap.add;
        laps++;
    } while (agree(p2p, other, out, in, laps < LAPS_MOST && world_now() - begin < enough_s));
    return (struct lap){ sum.send / laps, sum.exchange / laps, sum.add / laps };
}

static void add_point(struct alpha_beta *link, double bytes, const double *seconds, int repeats)
{
    const double least = 1e-9; /* keeps the relative error finite if the cost is 0 */
    alpha_beta_add(link, bytes, fmax(least, stats_quantile(seconds, repeats, 0.5)));
}

/* Measure on the two ranks. */
static void measure(struct p2p_cost *cost, struct world *world, int other, int repeats)
{
    struct p2p *p2p = p2p_open(world);
    float *out = device_new(MEMORY_MEASURING, (size_t)bytes_of[SIZES - 1], 1),
          *in = device_new(MEMORY_MEASURING, (size_t)bytes_of[SIZES - 1], 1);
    for (int size = 0; size < SIZES; size++) {
        double send[REPEATS], exchange[REPEATS], add[REPEATS];
        for (int i = -1; i < repeats; i++) { /* the first repeat warms up */
            world_heartbeat(world);
            struct lap lap = mean_lap(p2p, other, out, in, (size_t)bytes_of[size] / sizeof(float));
            if (i >= 0) {
                send[i] = lap.send;
                exchange[i] = lap.exchange;
                add[i] = lap.add;
            }
        }
        add_point(&cost->send, bytes_of[size], send, repeats);
        add_point(&cost->exchange, bytes_of[size], exchange, repeats);
        add_point(&cost->add, bytes_of[size], add, repeats);
    }
    device_free(out);
    device_free(in);
    p2p_close(p2p);
}

bool p2p_cost_is_known(const struct p2p_cost *cost)
{
    return cost->send.points > 0 && cost->exchange.points > 0 && cost->add.points > 0;
}

void p2p_cost_fit(struct p2p_cost *cost)
{
    alpha_beta_fit(&cost->send);
    alpha_beta_fit(&cost->exchange);
    alpha_beta_fit(&cost->add);
}

void p2p_cost_measure(struct p2p_cost *cost, struct world *world)
{
    const int rank = world_rank(world), last = world_size(world) - 1;
    *cost = (struct p2p_cost){ .send.ranks = 2, .exchange.ranks = 2, .add.ranks = 1 };
    if (last == 0)
        return;
    if (rank == 0 || rank == last) {
        measure(cost, world, rank == 0 ? last : 0,
                !world_is_simulated() ? REPEATS
                : device_computes()   ? REPEATS_SIMULATED
                                      : 1);
        p2p_cost_fit(cost);
    }
    world_park(world);
}
