/* Implement what a lab calls within a block. */
#include "base/hot.h"
#include "base/ledger.h"
#include "collective/collective.h"
#include "collective/zero.h"
#include "device/device.h"
#include "frame/lab_private.h"

#include <math.h>

/* Loaders depend on this wait (lab.h). */
HOT void lab_phase(struct lab *lab, enum span_kind kind)
{
    if (kind == SPAN_DATA || kind == SPAN_HOST)
        device_wait();
    ledger_phase(kind);
    spans_phase(&lab->spans, kind, device_record_event());
}

bool lab_every(const struct lab *lab, int n)
{
    return (lab->step + 1 - lab->window.warmup) % n == 0;
}

int lab_draw(struct lab *lab, int n)
{
    return (int)random_below(&lab->draws, (uint32_t)n);
}

bool lab_chance(struct lab *lab, double p)
{
    bool is_hit = false;
    for (int rank = 0; rank < lab->group->ranks; rank++) {
        bool hits = random_unit(&lab->draws) < p; /* in [0, 1): never with p = 0, always with p = 1 */
        is_hit |= hits && rank == world_rank(lab->world);
    }
    return is_hit;
}

struct world *lab_world(const struct lab *lab)
{
    return lab->world;
}

struct collective *lab_collective(const struct lab *lab)
{
    return lab->group->collective;
}

void lab_trains_divided(struct lab *lab, struct zero *zero)
{
    lab->divided = zero;
    lab->model = zero_model(zero);
}

struct trainer *lab_trainer(const struct lab *lab)
{
    return lab->trainer;
}

const struct card *lab_card(const struct lab *lab)
{
    return &lab->card;
}

const struct options *lab_case(const struct lab *lab, int i, const char **name)
{
    if (i >= lab->cases.named)
        return NULL;
    *name = lab->cases.variant[i]->name;
    return lab->cases.settings[i];
}

int lab_turns(struct world *world, const struct run *run, double seconds, int least, int most)
{
    int turns = (int)fmin(most, fmax(least, run_budget(run) / 4 / seconds));
    world_broadcast(world, &turns, sizeof turns);
    return turns;
}

struct csv *lab_table(struct lab *lab, const char *name)
{
    if (world_rank(lab->world) > 0)
        return NULL;
    return run_results_table(lab->results, name);
}

void lab_trace_operations(struct lab *lab, const struct timed_pass *passes, int count)
{
    if (world_rank(lab->world) == 0)
        run_results_trace_operations(lab->results, passes, count);
}

void lab_add_wrong(struct lab *lab, struct check_failures wrong)
{
    if (world_rank(lab->world) == 0)
        run_results_add_wrong(lab->results, &wrong);
}
