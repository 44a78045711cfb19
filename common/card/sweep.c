#include "card/sweep.h"

#include "analysis/timeline.h"
#include "base/memory.h"
#include "base/stats.h"
#include "card/undisturbed.h"
#include "collective/spans.h"
#include "device/device.h"
#include "world/clocks.h"
#include "world/hosts.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

/* --- sizes ------------------------------------------------------------------------------------------------------ */

int sweep_parts(enum collective_kind kind, int ranks)
{
    return kind == ALL_GATHER || kind == REDUCE_SCATTER ? ranks : 1;
}

double sweep_largest(struct world *world)
{
    const int ranks = world_size(world);
    double fits = device_computes() ? memory_available() / 4 / ranks : INFINITY;
    if (hosts_count(world) == 1) {
        world_broadcast(world, &fits, sizeof fits);
        return fits;
    }
    double *all = memory_new((size_t)ranks, sizeof *all); /* hosts may have less memory than the first rank's */
    world_allgather(world, &fits, sizeof fits, all);
    for (int rank = 0; rank < ranks; rank++)
        fits = fmin(fits, all[rank]);
    free(all);
    return fits;
}

int sweep_sizes(struct world *world, double most, double *bytes)
{
    int sizes = 0;
    double fits = sweep_largest(world);
    for (double size = 4; size <= fmin(most, fmax(fits, 4)) && sizes < SWEEP_SIZES_MOST; size *= 4)
        bytes[sizes++] = size;
    return sizes;
}

/* --- calls ------------------------------------------------------------------------------------------------------ */

/* An open sweep. The terms of messages lie apart from what is received; other kinds work in place. */
struct sweep_bench {
    const struct sweep *sweep;
    struct world *world;
    struct collective *collective;
    const struct group *group; /* NULL: all ranks */
    int rank, ranks;           /* of the group */
    char *buffer, *received;
    size_t bytes; /* of the buffer */
    struct spans spans;
};

/* Return the bytes of the larger buffer of a call. */
static size_t bytes_of(const struct sweep_bench *r, const struct sweep_call *call)
{
    return (size_t)(sweep_parts(call->kind, r->ranks) * call->bytes);
}

static bool fits_into_written(const struct sweep_bench *r, const struct sweep_call *call)
{
    return bytes_of(r, call) <= r->sweep->written_bytes;
}

static char *buffer_of(const struct sweep_bench *r, const struct sweep_call *call)
{
    return fits_into_written(r, call) ? r->sweep->written : r->buffer;
}

/* Write values that differ between ranks, or zeros. The zeros keep sums of sums finite. */
static void fill(const struct sweep_bench *r, char *buffer, size_t bytes, bool with_zeros)
{
    enum { PIECE = 8191 }; /* a prime number: parts of the buffer differ */
    float values[PIECE] = { 0 };
    for (int i = 0; i < PIECE && !with_zeros; i++)
        values[i] = (float)((i * 7 + r->rank * 5) % 31 - 15);
    for (size_t from = 0; from < bytes; from += sizeof values)
        device_put(buffer + from, values, bytes - from < sizeof values ? bytes - from : sizeof values);
}

static struct collective_op op_of(const struct sweep_bench *r, const struct sweep_call *call)
{
    const size_t count = (size_t)(call->bytes / sizeof(float));
    char *all = buffer_of(r, call), *own = all + (size_t)r->rank * count * sizeof(float);
    const int next = (r->rank + 1) % r->ranks, before = (r->rank + r->ranks - 1) % r->ranks;
    switch (call->kind) {
    case ALL_REDUCE:
        return all_reduce(TYPE_F32, all, all, count);
    case ALL_GATHER:
        return all_gather(TYPE_F32, own, all, count);
    case REDUCE_SCATTER:
        return reduce_scatter(TYPE_F32, all, own, count);
    case BROADCAST:
        return broadcast(TYPE_F32, 0, all, all, count);
    case SEND_RECEIVE:
        return send_receive(TYPE_F32, next, all, before, r->received, count);
    default:
        return barrier();
    }
}

static void make_call(const struct sweep_bench *r, const struct sweep_call *call)
{
    if (call->kind == ALL_REDUCE)
        collective_all_reduce_by(r->collective, call->way ? call->way->sum : NULL,
                                 call->way ? call->way->argument : NULL);
    collective_run(r->collective, in_group(r->group, op_of(r, call)));
}

/* Let all ranks begin a call at nearly the same time. Simulated ranks leave a barrier one after another, by the latency of its
 * messages. An all-reduce and a barrier end no earlier for it, because each rank needs something of every other. In other kinds,
 * ranks that left first transfer before the last one arrives, or wait for it, so all begin at the same time of their common
 * clock. */
static void start_together(struct world *world, enum collective_kind kind)
{
    const double enough_s = 0.1; /* for every rank to hear of the time */
    if (!world_is_simulated() || kind == ALL_REDUCE || kind == BARRIER) {
        world_barrier(world);
        return;
    }
    double when = world_now() + enough_s;
    world_broadcast(world, &when, sizeof when);
    world_sleep(when - world_now());
}

/* Make a call after what comes between. It is a step of its own: a phase with the collective in it. The stamps are taken before a result is
 * checked. */
static void make_step(struct sweep_bench *r, const struct sweep_call *call, bool is_checked)
{
    const struct sweep *sweep = r->sweep;
    if (sweep->between)
        sweep->between(sweep->argument);
    if (is_checked)
        fill(r, buffer_of(r, call), bytes_of(r, call), false);
    if (!sweep->between)
        start_together(r->world, call->kind);
    spans_phase(&r->spans, SPAN_BACKWARD, device_record_event());
    make_call(r, call);
    spans_end(&r->spans, device_record_event());
}

/* Make all calls, and repeat those that others disturb; the results of disturbed attempts are left out. */
static void make_calls(struct sweep_bench *r)
{
    const struct sweep *sweep = r->sweep;
    struct spans *spans = &r->spans;
    const double began = world_wall();
    for (int round = 0; round < sweep->warmups + sweep->repeats; round++) {
        const bool is_checked = !sweep->is_unchecked && device_computes() && round == 0;
        collective_check(r->collective, is_checked ? CHECK_EACH : CHECK_NOTHING);
        if (!sweep->is_unchecked && device_computes() && round == 1)
            fill(r, r->buffer, r->bytes, true);
        for (int i = 0; i < sweep->count; i++) {
            const int count = spans->count;
            const bool is_patient = sweep->is_patient && round >= sweep->warmups;
            struct undisturbed since = { 0 };
            do {
                spans->count = count;
                if (is_patient)
                    since = undisturbed_begin();
                make_step(r, &sweep->calls[i], is_checked);
            } while (is_patient && !undisturbed(since, r->world) && undisturbed_again(true, began, r->world));
            spans->step++;
        }
    }
}

/* --- results ---------------------------------------------------------------------------------------------------- */

/* Return the median or mean over repeats of the mean or last rank's transfer in a call; cells (repeats x calls, ranks). */
static double typical_transfer(const struct cell *cells, int call, const struct sweep *sweep, int ranks)
{
    double *transfer = memory_new((size_t)sweep->repeats, sizeof *transfer);
    for (int repeat = 0; repeat < sweep->repeats; repeat++)
        for (int rank = 0; rank < ranks; rank++) {
            double of_rank = cells[(repeat * sweep->count + call) * ranks + rank].transfer;
            transfer[repeat] = sweep->until_last ? fmax(transfer[repeat], of_rank) : transfer[repeat] + of_rank / ranks;
        }
    double typical = fmax(1e-9, sweep->has_means ? stats_mean(transfer, sweep->repeats)
                                                 : stats_quantile(transfer, sweep->repeats, 0.5));
    free(transfer);
    return typical;
}

/* Results of a rank besides its spans. */
struct findings {
    struct check_failures wrong;
    double clock_error; /* of its device */
};

/* all: return the failed checks of all ranks on rank 0, and raise *clock_error by that of the devices. */
static struct check_failures gather_findings(struct world *world, struct collective *collective, double *clock_error)
{
    struct check_failures wrong = { 0 };
    if (!device_computes())
        return wrong; /* nothing was checked, and the clock is exact */
    const struct findings mine = { collective_wrong(collective), device_clock_error() };
    struct findings *all = memory_new((size_t)world_size(world), sizeof *all);
    double device_error = 0;
    world_gather(world, &mine, sizeof mine, all);
    for (int rank = 0; rank < world_size(world); rank++) {
        check_failures_join(&wrong, &all[rank].wrong, "rank %d, ", rank);
        device_error = fmax(device_error, 2 * all[rank].clock_error); /* both of two compared ranks may be off */
    }
    free(all);
    *clock_error += device_error;
    return wrong;
}

static void split_calls(const struct sweep *sweep, const struct timeline *timeline, double *seconds,
                        struct check_failures *wrong)
{
    struct cell *cells = memory_new((size_t)timeline->steps * (size_t)timeline->ranks, sizeof *cells);
    struct check_failures found = timeline_split(timeline, cells);
    check_failures_join(wrong, &found, "%s", "");
    for (int call = 0; call < sweep->count; call++)
        seconds[call] = typical_transfer(cells, call, sweep, timeline->ranks);
    free(cells);
}

/* Open buffers for the largest call. */
static void open_buffers(struct sweep_bench *r)
{
    const struct sweep *sweep = r->sweep;
    double received = sizeof(float);
    r->bytes = sizeof(float);
    for (int i = 0; i < sweep->count; i++) {
        const struct sweep_call *call = &sweep->calls[i];
        const size_t bytes = fits_into_written(r, call) ? 0 : bytes_of(r, call);
        r->bytes = bytes > r->bytes ? bytes : r->bytes;
        received = fmax(received, call->kind == SEND_RECEIVE ? call->bytes : 0);
    }
    r->buffer = device_new(MEMORY_MEASURING, r->bytes, 1);
    r->received = device_new(MEMORY_MEASURING, (size_t)received, 1);
}

struct sweep_bench *sweep_open(struct world *world, const struct sweep *sweep)
{
    struct sweep_bench *r = memory_new(1, sizeof *r);
    *r = (struct sweep_bench){ .sweep = sweep, .world = world };
    spans_open(&r->spans, 4 * sweep->count * (sweep->warmups + sweep->repeats));
    r->collective = collective_open(world, &r->spans);
    if (sweep->in_groups)
        r->group = collective_split(r->collective, sweep->group, world_rank(world));
    r->rank = r->group ? group_rank(r->group) : world_rank(world);
    r->ranks = r->group ? group_size(r->group) : world_size(world);
    open_buffers(r);
    return r;
}

/* Close all but the spans. */
static void close_calls(struct sweep_bench *r)
{
    collective_close(r->collective);
    device_free(r->buffer);
    device_free(r->received);
}

static void close_spans(struct sweep_bench *r)
{
    spans_close(&r->spans);
    free(r);
}

void sweep_close(struct sweep_bench *r)
{
    close_calls(r);
    close_spans(r);
}

/* all: make all calls. Return the failed checks of all ranks on rank 0, and there the error of the clocks. */
static struct check_failures run_calls(struct sweep_bench *r, double *clock_error)
{
    struct clocks clocks;
    spans_restart(&r->spans, 0, 0);
    clocks_begin(&clocks, r->world);
    make_calls(r);
    spans_resolve(&r->spans);
    clocks_end(&clocks, r->world);
    spans_translate(&r->spans, &clocks);
    *clock_error = clocks.disagree;
    return gather_findings(r->world, r->collective, clock_error);
}

/* all: gather the spans on rank 0 and write the seconds there. */
static void gather_seconds(struct sweep_bench *r, double clock_error, double *seconds, struct check_failures *wrong)
{
    const struct sweep *sweep = r->sweep;
    const struct spans *spans = &r->spans;
    const int ranks = world_size(r->world);
    struct span *all = memory_new((size_t)spans->count * (size_t)ranks, sizeof *all);
    world_gather(r->world, spans->at, (size_t)spans->count * sizeof *spans->at, all);
    if (world_rank(r->world) == 0)
        split_calls(sweep,
                    &(struct timeline){ .ranks = ranks,
                                        .clock_error = clock_error,
                                        .first_step = sweep->count * sweep->warmups,
                                        .steps = sweep->count * sweep->repeats,
                                        .count = spans->count,
                                        .spans = all },
                    seconds, wrong);
    free(all);
}

struct check_failures sweep_run(struct sweep_bench *r, double *seconds)
{
    double clock_error;
    struct check_failures wrong = run_calls(r, &clock_error);
    gather_seconds(r, clock_error, seconds, &wrong);
    return wrong;
}

struct check_failures sweep_measure(struct world *world, const struct sweep *sweep, double *seconds)
{
    double clock_error;
    struct sweep_bench *r = sweep_open(world, sweep);
    struct check_failures wrong = run_calls(r, &clock_error);
    close_calls(r); /* frees the buffers before rank 0 takes memory for all spans */
    gather_seconds(r, clock_error, seconds, &wrong);
    close_spans(r);
    return wrong;
}
