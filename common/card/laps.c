#include "card/laps.h"

#include "base/interference.h"
#include "base/memory.h"
#include "card/brief.h"
#include "collective/collective.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <string.h>

enum { LAPS_MOST = 64, TURNS_LEAST = 3 }; /* of a visit; of simulated ranks */

/* Laps of a rank, with the others if they are to measure at once. */
struct series {
    struct shape_bench *bench;
    struct world *world, *together;
    struct collective *sums;
    const struct lap_plan *plan;
    int ranks;
    int turns;                   /* planned: those of the plan, or more of shorter visits */
    int laps[SHAPES_MOST + 1];   /* (count) of a visit */
    bool lacks[SHAPES_MOST + 1]; /* (count) the shape needs another visit */
};

static struct local_times one_lap(struct series *s)
{
    const struct trainer *trainer = shape_bench_trainer(s->bench);
    double at[6];
    world_heartbeat(s->world);
    if (s->together && world_is_simulated())
        world_barrier(s->together); /* simulated ranks compute in turns, from barrier to barrier */
    device_clock_sync_begin();
    at[0] = device_record_event();
    shape_bench_fetch(s->bench);
    at[1] = device_record_event();
    shape_bench_forward(s->bench);
    at[2] = device_record_event();
    shape_bench_backward(s->bench);
    at[3] = device_record_event();
    if (s->sums)
        collective_run(s->sums, all_reduce(TYPE_F32, trainer->gradients, trainer->gradients, trainer->count));
    at[4] = device_record_event();
    shape_bench_update(s->bench);
    at[5] = device_record_event();
    device_wait();
    for (int i = 0; i < 6; i++)
        at[i] = device_event_seconds(at[i]);
    return (struct local_times){
        .fetch = at[1] - at[0], .passes = at[3] - at[1], .forward = at[2] - at[1], .update = at[5] - at[4]
    };
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
        visit.mean.fetch += lap.fetch / s->laps[shape];
        visit.mean.passes += lap.passes / s->laps[shape];
        visit.mean.forward += lap.forward / s->laps[shape];
        visit.mean.update += lap.update / s->laps[shape];
        visit.last = lap_seconds(lap);
    }
    visit.queued = interference_run_queue_delay() - queued;
    visit.took = world_wall() - began;
    return visit;
}

/* Return the time of the shortest visit, in laps of these seconds. */
static double shortest_visit(const struct series *s, const double *lap)
{
    double shortest = INFINITY;
    for (int shape = 0; shape < s->plan->count; shape++)
        shortest = fmin(shortest, s->laps[shape] * lap[shape]);
    return shortest;
}

/* Run one lap of each shape, which warms up, and choose how many fill a visit, and how many turns there are. Simulated ranks compute one
 * after another, so they fill a visit together; where each has a long lap, fewer turns suffice. */
static void choose_laps(struct series *s, struct lap_times *times)
{
    s->turns = s->plan->turns;
    if (s->plan->laps > 0) {
        for (int shape = 0; shape < s->plan->count; shape++)
            s->laps[shape] = s->plan->laps;
        if (s->plan->is_warm) {
            shape_bench_choose(s->bench, s->plan->first);
            one_lap(s);
        }
        return;
    }
    double lap[SHAPES_MOST + 1], visit_s = VISIT_LEAST_S;
    const int at_once = s->together && world_is_simulated() ? s->ranks : 1;
    for (int shape = 0; shape < s->plan->count; shape++) {
        times->work[shape] = shape_bench_choose(s->bench, s->plan->first + shape);
        lap[shape] = at_once * lap_seconds(one_lap(s));
        visit_s = fmax(visit_s, lap[shape]);
    }
    visit_s = card_is_brief() ? 0 : fmin(visit_s, VISIT_S);
    for (int shape = 0; shape < s->plan->count; shape++)
        s->laps[shape] = (int)fmin(LAPS_MOST, fmax(1, ceil(visit_s / lap[shape])));
    if (visit_s > 0)
        s->turns = (int)round(s->plan->turns * VISIT_S / visit_s);
    if (visit_s > 0 && at_once > 1)
        s->turns = (int)fmin(s->turns, fmax(TURNS_LEAST, ceil(s->plan->turns * VISIT_S / shortest_visit(s, lap))));
    if (s->together) {
        world_broadcast(s->together, s->laps, sizeof s->laps);
        world_broadcast(s->together, &s->turns, sizeof s->turns);
    }
}

/* all: visit every shape that lacks visits. Rank 0 gets those of all ranks in `all`. */
static void take_turn(struct series *s, struct visit *all)
{
    const int count = s->plan->count;
    struct visit mine[SHAPES_MOST + 1] = { { .took = 0 } };
    const double stolen = interference_steal_time(""), began = world_wall();
    for (int shape = 0; shape < count; shape++)
        if (s->lacks[shape])
            mine[shape] = visit_shape(s, shape);
    const double turn_stolen = interference_steal_time("") - stolen, turn_took = world_wall() - began;
    for (int shape = 0; shape < count; shape++) {
        mine[shape].turn_stolen = turn_stolen;
        mine[shape].turn_took = turn_took;
    }
    if (s->together)
        world_gather(s->together, mine, (size_t)count * sizeof *mine, all);
    else
        memcpy(all, mine, (size_t)count * sizeof *mine);
}

/* all: let rank 0 decide which shapes need another visit. Return true if any. */
static bool needs_turn(struct series *s, const struct visits *visits)
{
    bool needs = false;
    for (int shape = 0; shape < s->plan->count; shape++)
        s->lacks[shape] = visits_lack(visits, shape);
    if (s->together)
        world_broadcast(s->together, s->lacks, sizeof s->lacks);
    for (int shape = 0; shape < s->plan->count; shape++)
        needs |= s->lacks[shape];
    return needs;
}

struct collective *laps_open_sums(struct world *world)
{
    return world_is_simulated() || world_size(world) == 1 ? NULL : collective_open(world, NULL);
}

void laps_close_sums(struct collective *sums)
{
    if (sums)
        collective_close(sums);
}

struct lap_times laps_measure(struct shape_bench *bench, struct world *world, struct world *together,
                              struct collective *sums, const struct lap_plan *plan)
{
    struct lap_times times = { 0 };
    struct series s = { .bench = bench,
                        .world = world,
                        .together = together,
                        .sums = sums,
                        .plan = plan,
                        .ranks = together ? world_size(together) : 1 };
    choose_laps(&s, &times);
    const bool is_first = !together || world_rank(together) == 0;
    struct visits visits = visits_open(is_first ? s.ranks : 1, plan->count, s.turns);
    if (plan->laps > 0)
        visits.most = visits.planned;
    while (needs_turn(&s, &visits)) {
        take_turn(&s, visits.at + visits.turns * visits.ranks * visits.shapes);
        visits.turns++;
    }
    if (is_first)
        visits_average(&visits, &times);
    visits_close(&visits);
    return times;
}
