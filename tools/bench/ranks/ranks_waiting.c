/* Cost of waiting ranks for a working rank: rank 0 trains while the others wait for it, and while they sleep. */
#include "ranks.h"

#include "base/memory.h"
#include "bench/step_work.h"
#include "collective/collective.h"
#include "device/device.h"
#include "options/run.h"
#include "world/world.h"

#include <stdlib.h>

enum { ROUNDS = 10, STEPS = 1 };
static const double GOAL = 1.05;

enum place { IN_A_SUM, IN_A_BARRIER, PARKED, ASLEEP };
static const char *const places[] = { "in an all-reduce", "in a barrier", "parked" };

struct scene {
    struct world *world;
    struct collective *collective;
    struct trainee trainee; /* on rank 0 */
    float mine, sum;
    double asleep; /* seconds of sleep, certainly longer than the steps */
};

static double train(struct scene *scene)
{
    double began = world_now();
    for (int i = 0; i < STEPS; i++)
        trainee_once(&scene->trainee);
    return world_now() - began;
}

/* all: seconds per step of rank 0 while the others wait in `place`. */
static double time_steps(struct scene *scene, enum place place)
{
    bool works = world_rank(scene->world) == 0;
    if (works) /* a model that fits its batch perfectly multiplies zeros */
        trainee_restart(&scene->trainee);
    world_barrier(scene->world);
    double seconds = works ? train(scene) : 0;
    if (place == ASLEEP && !works)
        world_sleep(scene->asleep);
    if (place == IN_A_SUM)
        collective_run(scene->collective, all_reduce(TYPE_F32, &scene->mine, &scene->sum, 1));
    else if (place == IN_A_BARRIER)
        collective_run(scene->collective, barrier());
    else
        world_park(scene->world);
    return seconds / STEPS;
}

static void take_turns(struct ranks *ranks, struct scene *scene, enum place place)
{
    int rounds = ranks_rounds(ranks, ROUNDS), size = world_size(ranks->world);
    double *waiting = memory_new((size_t)rounds, sizeof *waiting), *asleep = memory_new((size_t)rounds, sizeof *asleep);
    for (int i = 0; i < rounds; i++) {
        if (i % 2)
            asleep[i] = time_steps(scene, ASLEEP);
        waiting[i] = time_steps(scene, place);
        if (i % 2 == 0)
            asleep[i] = time_steps(scene, ASLEEP);
    }
    char *what = memory_text("a step while %d of %d ranks wait %s, or sleep, ms", size - 1, size, places[place]);
    ranks_found(ranks, what, 1e3, GOAL, waiting, asleep, rounds);
    free(what);
    free(waiting);
    free(asleep);
}

void ranks_waiting(struct ranks *ranks)
{
    struct scene scene = { .world = ranks->world, .collective = collective_open(ranks->world, NULL) };
    bool works = world_rank(ranks->world) == 0;
    if (works) {
        trainee_open(&scene.trainee, &ranks->sizes,
                     &(struct step){ .model = WORK_MLP, .batch = run_published.batch_size });
        train(&scene);
    }
    world_park(ranks->world);
    scene.asleep = works ? 2 * train(&scene) : 0;
    world_broadcast(ranks->world, &scene.asleep, sizeof scene.asleep);
    for (int place = 0; place < ASLEEP; place++)
        take_turns(ranks, &scene, (enum place)place);
    if (works)
        trainee_close(&scene.trainee);
    collective_close(scene.collective);
}
