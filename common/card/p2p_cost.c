#include "card/p2p_cost.h"

#include "base/stats.h"
#include "collective/p2p.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>

enum { SIZES = 9, REPEATS = 5, MOST_BYTES = 16 << 20 };
enum { REPEATS_SIMULATED = 3 }; /* simulated messages are exact; only adding is measured */
static const double bytes_of[SIZES] = { 16, 256, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, MOST_BYTES };

/* More than the caches keep. Its parts are used in turns, so each has left the caches when its turn comes again. */
enum { FAR_BYTES = 96 << 20, FAR_STRIDE_BYTES = 1 << 20 };

/* One of the two ranks that measure, and its arrays. */
struct bench {
    struct world *world;
    struct p2p *p2p;
    int other;
    float *out, *in, *sum; /* used in each lap */
    float *far;            /* (FAR_BYTES) */
    size_t at;             /* of its next part, in floats */
};

/* Buffers of a lap: messages of one round trip and two exchanges. The last one received is added to `sum`, and to the last one sent. */
enum { MESSAGES = 3 };
struct parts {
    float *out[MESSAGES], *in[MESSAGES], *sum;
};

/* Send a message from rank 0 to the other rank and one back. */
static void there_and_back(const struct bench *b, float *out, float *in, size_t count)
{
    if (p2p_rank(b->p2p) == 0)
        p2p_send(b->p2p, b->other, out, count);
    p2p_receive(b->p2p, b->other, in, count);
    if (p2p_rank(b->p2p) > 0)
        p2p_send(b->p2p, b->other, out, count);
}

/* Seconds on this rank; each begins when the other rank is ready. */
struct lap {
    double send, exchange, add, add_sent;
};

/* Return the next part of the buffer that caches do not hold. */
static float *far_part(struct bench *b, size_t count)
{
    const size_t all = FAR_BYTES / sizeof(float), stride = FAR_STRIDE_BYTES / sizeof(float);
    if (b->at + count > all)
        b->at = 0;
    float *part = b->far + b->at;
    b->at += count > stride ? count : stride;
    return part;
}

static struct parts parts_of(struct bench *b, size_t count, bool is_far)
{
    struct parts parts = { .sum = is_far ? far_part(b, count) : b->sum };
    for (int i = 0; i < MESSAGES; i++) {
        parts.out[i] = is_far ? far_part(b, count) : b->out;
        parts.in[i] = is_far ? far_part(b, count) : b->in;
    }
    return parts;
}

/* Measure one lap. It adds floats that were just received, so they lie where a message leaves them, not where adding would. */
static struct lap one_lap(struct bench *b, size_t count, bool is_far)
{
    const struct parts parts = parts_of(b, count, is_far);
    double at[7];
    there_and_back(b, b->out, b->in, 1);
    device_wait();
    at[0] = world_now();
    there_and_back(b, parts.out[0], parts.in[0], count);
    device_wait();
    at[1] = world_now();
    there_and_back(b, b->out, b->in, 1);
    device_wait();
    at[2] = world_now();
    /* two exchanges: in the first one the other rank's message is under way before this rank begins */
    for (int i = 1; i < MESSAGES; i++)
        p2p_pass(b->p2p, b->other, parts.out[i], count, b->other, parts.in[i], count);
    device_wait();
    at[3] = world_now();
    device_clock_sync_begin();
    at[4] = device_record_event();
    device_add(parts.sum, parts.in[MESSAGES - 1], count);
    at[5] = device_record_event();
    device_add(parts.out[MESSAGES - 1], parts.in[MESSAGES - 1], count);
    at[6] = device_record_event();
    device_wait();
    return (struct lap){ .send = (at[1] - at[0]) / 2,
                         .exchange = (at[3] - at[2]) / 2,
                         .add = device_event_seconds(at[5]) - device_event_seconds(at[4]),
                         .add_sent = device_event_seconds(at[6]) - device_event_seconds(at[5]) };
}

/* True if the two ranks do another lap; rank 0 decides by `goes_on`. On a device that computes nothing, messages have no contents
 * and one lap is as good as many. */
static bool agree(const struct bench *b, bool goes_on)
{
    float answer = goes_on;
    if (!device_computes())
        return false;
    if (p2p_rank(b->p2p) == 0)
        device_put(b->out, &answer, sizeof answer);
    there_and_back(b, b->out, b->in, 1);
    if (p2p_rank(b->p2p) > 0)
        device_fetch(&answer, b->in, sizeof answer);
    return answer > 0;
}

/* Return the mean of a few laps if one is short: on a machine with other load, each message may wait for a core. */
static struct lap mean_lap(struct bench *b, size_t count, bool is_far)
{
    enum { LAPS_MOST = 8 };
    const double enough_s = 2e-3, begin = world_now();
    struct lap sum = { 0 };
    int laps = 0;
    do {
        struct lap lap = one_lap(b, count, is_far);
        sum.send += lap.send;
        sum.exchange += lap.exchange;
        sum.add += lap.add;
        sum.add_sent += lap.add_sent;
        laps++;
    } while (agree(b, laps < LAPS_MOST && world_now() - begin < enough_s));
    return (struct lap){ sum.send / laps, sum.exchange / laps, sum.add / laps, sum.add_sent / laps };
}

static void add_point(struct alpha_beta *link, double bytes, const double *seconds, int repeats)
{
    const double least = 1e-9; /* keeps the relative error finite if the cost is 0 */
    alpha_beta_add(link, bytes, fmax(least, stats_quantile(seconds, repeats, 0.5)));
}

/* Measure messages of one size. */
static void measure_size(struct message_cost *cost, struct bench *b, double bytes, bool is_far, int repeats)
{
    double send[REPEATS], exchange[REPEATS], add[REPEATS], add_sent[REPEATS];
    for (int i = -1; i < repeats; i++) { /* the first repeat warms up */
        world_heartbeat(b->world);
        const struct lap lap = mean_lap(b, (size_t)bytes / sizeof(float), is_far);
        if (i >= 0) {
            send[i] = lap.send;
            exchange[i] = lap.exchange;
            add[i] = lap.add;
            add_sent[i] = lap.add_sent;
        }
    }
    add_point(&cost->send, bytes, send, repeats);
    add_point(&cost->exchange, bytes, exchange, repeats);
    add_point(&cost->add, bytes, add, repeats);
    add_point(&cost->add_sent, bytes, add_sent, repeats);
}

/* Measure on the two ranks. */
static void measure(struct p2p_cost *cost, struct world *world, int other, int repeats)
{
    struct bench b = { .world = world,
                       .p2p = p2p_open(world),
                       .other = other,
                       .out = device_new(MEMORY_MEASURING, MOST_BYTES, 1),
                       .in = device_new(MEMORY_MEASURING, MOST_BYTES, 1),
                       .sum = device_new(MEMORY_MEASURING, MOST_BYTES, 1),
                       .far = device_new(MEMORY_MEASURING, FAR_BYTES, 1) };
    for (int size = 0; size < SIZES; size++) {
        measure_size(&cost->near, &b, bytes_of[size], false, repeats);
        measure_size(&cost->far, &b, bytes_of[size], true, repeats);
    }
    device_free(b.out);
    device_free(b.in);
    device_free(b.sum);
    device_free(b.far);
    p2p_close(b.p2p);
}

double p2p_cost_bytes(int ranks)
{
    return ranks > 1 ? 2.0 * (3 * MOST_BYTES + FAR_BYTES) : 0;
}

static bool is_known(const struct message_cost *cost)
{
    return cost->send.points > 0 && cost->exchange.points > 0 && cost->add.points > 0 && cost->add_sent.points > 0;
}

bool p2p_cost_is_known(const struct p2p_cost *cost)
{
    return is_known(&cost->near) && is_known(&cost->far);
}

static void fit(struct message_cost *cost)
{
    alpha_beta_fit(&cost->send);
    alpha_beta_fit(&cost->exchange);
    alpha_beta_fit(&cost->add);
    alpha_beta_fit(&cost->add_sent);
}

void p2p_cost_fit(struct p2p_cost *cost)
{
    fit(&cost->near);
    fit(&cost->far);
}

void p2p_cost_measure(struct p2p_cost *cost, struct world *world)
{
    const int rank = world_rank(world), last = world_size(world) - 1;
    const struct message_cost none = { .send.ranks = 2, .exchange.ranks = 2, .add.ranks = 1, .add_sent.ranks = 1 };
    *cost = (struct p2p_cost){ none, none };
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
