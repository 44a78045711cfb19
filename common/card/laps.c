#include "card/laps.h"

#include "base/interference.h"
#include "base/memory.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* LAPS_MOST: of a visit. More turns than the plan's laps follow one another faster, but steal is counted in ticks, so a turn must not be
 * too short. */
enum { LAPS_MOST = 64, TURNS_MOST = 10, TIMES_AS_MANY = 2 };
static const double TICK_S = 0.01;

/* A visit of one rank: mean lap, seconds of its last lap, and the shares of time in which other programs had the rank's core in this
 * visit, and the virtual machine's host in this turn. */
struct visit {
    struct local_times mean;
    double last, queued, stolen;
};

/* Laps of a rank, with the others if they are to measure at once. */
struct series {
    struct shape_bench *bench;
    struct world *world, *together;
    const struct lap_plan *plan;
    int ranks;
    int turns;                 /* planned */
    int laps[SHAPES_MOST + 1]; /* (count) of a visit */
    struct visit *visits;      /* (TIMES_AS_MANY x turns, ranks, count) */
    double stolen, took;       /* so far, on this rank */
    bool is_stolen;            /* steal is significant so far, on any rank */
};

static struct local_times one_lap(struct series *s)
{
    double at[4];
    world_heartbeat(s->world);
    if (s->together && world_is_simulated())
        world_barrier(s->together); /* simulated ranks compute in turns, from barrier to barrier */
    device_clock_sync_begin();
    at[0] = device_record_event();
    shape_bench_fetch(s->bench);
    at[1] = device_record_event();
    shape_bench_passes(s->bench);
    at[2] = device_record_event();
    shape_bench_update(s->bench);
    at[3] = device_record_event();
    device_wait();
    for (int i = 0; i < 4; i++)
        at[i] = device_event_seconds(at[i]);
    return (struct local_times){ .fetch = at[1] - at[0], .passes = at[2] - at[1], .update = at[3] - at[2] };
}

static double lap_seconds(struct local_times lap)
{
    return lap.fetch + lap.passes + lap.update;
}

static void add_lap(struct local_times *sum, struct local_times lap, double share)
{
    sum->fetch += lap.fetch * share;
    sum->passes += lap.passes * share;
    sum->update += lap.update * share;
}

static struct visit visit_shape(struct series *s, int shape)
{
    struct visit visit = { 0 };
    shape_bench_choose(s->bench, s->plan->first + shape);
    if (s->together)
        world_barrier(s->together);
    const double queued = interference_run_queue_delay(), began = world_wall();
    for (int i = 0; i < s->laps[shape]; i++) {
        const struct local_times lap = one_lap(s);
        add_lap(&visit.mean, lap, 1.0 / s->laps[shape]);
        visit.last = lap_seconds(lap);
    }
    visit.queued = (interference_run_queue_delay() - queued) / (world_wall() - began);
    return visit;
}

/* Run one lap of each shape, which warms up, and choose the number of turns and of laps in a visit. Simulated ranks compute one after
 * another, so they fill a visit together. */
static void choose_laps(struct series *s, struct lap_times *times)
{
    const int at_once = s->together && world_is_simulated() ? s->ranks : 1;
    double seconds[SHAPES_MOST + 1], longest = 0;
    for (int shape = 0; shape < s->plan->count; shape++) {
        times->work[shape] = shape_bench_choose(s->bench, s->plan->first + shape);
        seconds[shape] = at_once * lap_seconds(one_lap(s));
        longest = fmax(longest, seconds[shape]);
    }
    s->turns = (int)fmax(s->plan->laps, fmin(TURNS_MOST, s->plan->seconds / longest));
    for (int shape = 0; shape < s->plan->count; shape++)
        s->laps[shape] = (int)fmin(LAPS_MOST, fmax(1, ceil(s->plan->seconds / s->turns / seconds[shape])));
    if (s->together) {
        world_broadcast(s->together, &s->turns, sizeof s->turns);
        world_broadcast(s->together, s->laps, sizeof s->laps);
    }
}

/* Return the visit of a rank: ranks send theirs shape after shape. */
static const struct visit *visit_at(const struct series *s, int turn, int rank, int shape)
{
    return &s->visits[(turn * s->ranks + rank) * s->plan->count + shape];
}

/* Return the largest share of a visit's time in which a rank's core was taken. */
static double taken_in(const struct series *s, int turn, int shape)
{
    double most = 0;
    for (int rank = 0; rank < s->ranks; rank++) {
        const struct visit *visit = visit_at(s, turn, rank, shape);
        most = fmax(most, fmax(visit->queued, s->is_stolen ? visit->stolen : 0));
    }
    return most;
}

/* Return how many visits of a shape nothing disturbed. */
static int quiet_visits(const struct series *s, int turns, int shape)
{
    int quiet = 0;
    for (int turn = 0; turn < turns; turn++)
        quiet += !interference_is_significant(taken_in(s, turn, shape));
    return quiet;
}

/* all: decide whether the series so far was disturbed by steal. Its count may have had nearly a tick before the series began. */
static void judge_steal(struct series *s)
{
    bool is_mine = interference_is_significant((s->stolen - TICK_S) / s->took), *all = memory_new((size_t)s->ranks, 1);
    all[0] = is_mine;
    if (s->together)
        world_allgather(s->together, &is_mine, sizeof is_mine, all);
    s->is_stolen = false;
    for (int rank = 0; rank < s->ranks; rank++)
        s->is_stolen |= all[rank];
    free(all);
}

/* Visit every shape that still lacks quiet visits. Then all ranks know all visits. */
static void take_turn(struct series *s, int turn)
{
    const int count = s->plan->count;
    struct visit mine[SHAPES_MOST + 1], *all = s->visits + (size_t)turn * (size_t)(count * s->ranks);
    const double stolen = interference_steal_time(""), began = world_wall();
    for (int shape = 0; shape < count; shape++)
        mine[shape] =
            quiet_visits(s, turn, shape) < s->turns ? visit_shape(s, shape) : (struct visit){ .queued = INFINITY };
    const double lost = interference_steal_time("") - stolen, took = world_wall() - began;
    for (int shape = 0; shape < count; shape++)
        mine[shape].stolen = lost / took;
    s->stolen += lost;
    s->took += took;
    if (s->together)
        world_allgather(s->together, mine, (size_t)count * sizeof *mine, all);
    else
        memcpy(all, mine, (size_t)count * sizeof *mine);
    judge_steal(s);
}

static bool needs_turn(const struct series *s, int turns)
{
    bool needs = turns < s->turns;
    for (int shape = 0; shape < s->plan->count && turns < TIMES_AS_MANY * s->turns; shape++)
        needs |= quiet_visits(s, turns, shape) < s->turns;
    return needs;
}

/* Return how many visits of the shape were disturbed less than that of `turn`. */
static int place_of(const struct series *s, int turns, int turn, int shape)
{
    const double mine = taken_in(s, turn, shape);
    int place = 0;
    for (int other = 0; other < turns; other++) {
        const double share = taken_in(s, other, shape);
        place += share < mine || (other < turn && share <= mine);
    }
    return place;
}

/* Take the means over the undisturbed visits; or over the least disturbed ones, as many as there are planned turns. */
static void average(const struct series *s, int turns, struct lap_times *times)
{
    int jitters = 0;
    for (int shape = 0; shape < s->plan->count; shape++) {
        const int quiet = quiet_visits(s, turns, shape), kept = quiet > s->turns ? quiet : s->turns;
        for (int turn = 0; turn < turns; turn++) {
            if (place_of(s, turns, turn, shape) >= kept)
                continue;
            double sum = 0, most = 0;
            for (int rank = 0; rank < s->ranks; rank++) {
                const struct visit *visit = visit_at(s, turn, rank, shape);
                add_lap(&times->mean[shape], visit->mean, 1.0 / (kept * s->ranks));
                sum += visit->last;
                most = fmax(most, visit->last);
            }
            times->jitter += most - sum / s->ranks;
            jitters++;
        }
    }
    times->jitter /= jitters;
}

struct lap_times laps_measure(struct shape_bench *bench, struct world *world, struct world *together,
                              const struct lap_plan *plan)
{
    struct lap_times times = { 0 };
    struct series s = {
        .bench = bench, .world = world, .together = together, .plan = plan, .ranks = together ? world_size(together) : 1
    };
    choose_laps(&s, &times);
    s.visits = memory_new((size_t)(TIMES_AS_MANY * s.turns * plan->count * s.ranks), sizeof *s.visits);
    int turns = 0;
    while (needs_turn(&s, turns))
        take_turn(&s, turns++);
    average(&s, turns, &times);
    free(s.visits);
    return times;
}
