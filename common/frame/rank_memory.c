#include "frame/rank_memory.h"

#include "base/rss.h"
#include "card/own_cost.h"
#include "card/probe.h"
#include "device/device.h"
#include "frame/lab_spec.h"
#include "model/trainer.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Estimate what probes of the machine keep beside the trainer. */
static struct memory_estimate probes(const struct lab_spec *spec, const struct options *base, bool is_simulated)
{
    const struct workload *workload = workload_of(base);
    const struct run *run = (const struct run *)base;
    const struct card_uses uses = lab_spec_uses(spec, base);
    struct memory_estimate memory = probe_memory(workload, run);
    memory.of[MEMORY_MEASURING] += probe_larger_bytes(&uses, workload, run->ranks, is_simulated);
    return memory_estimate_owned(memory, MEMORY_MEASURING);
}

struct memory_estimate rank_memory_estimate(const struct lab_spec *spec, const struct options *base, bool is_simulated)
{
    const struct workload *workload = workload_of(base);
    const struct run *run = (const struct run *)base;
    const int most = lab_spec_most_samples(spec, base);
    struct memory_estimate memory = spec->own_batches ? trainer_memory_for(workload, lab_spec_batches(spec, base))
                                                      : trainer_memory(workload, run, most);
    if (spec->opens_models)
        memory = memory_estimate_add(
            loader_memory(workload, run, most),
            memory_estimate_owned(trainer_memory_for(workload, loader_most(workload, most)), MEMORY_MEASURING));
    if (spec->need)
        memory = memory_estimate_add(memory, spec->need(base));
    return memory_estimate_add(memory, probes(spec, base, is_simulated));
}

struct memory_estimate rank_memory_most(const struct lab_spec *spec, const struct options *base, bool is_simulated)
{
    struct memory_estimate most = { 0 };
    for (const struct lab_table *table = spec->tables; table && table->name; table++)
        if (table->bytes)
            most.of[MEMORY_COMMUNICATION] = fmax(most.of[MEMORY_COMMUNICATION], table->bytes(base));
    most.of[MEMORY_MEASURING] = own_costs_bytes(spec->costs); /* of a probe, between blocks */
    for (const struct variant *v = spec->variants; spec->case_need && v->name; v++)
        if (lab_spec_wants(spec, (const struct run *)base, v))
            most = memory_estimate_most(most, lab_spec_case_need(spec, base, v));
    return memory_estimate_add(rank_memory_estimate(spec, base, is_simulated), most);
}

static double held(enum memory_place place)
{
    const struct ledger_sums now = ledger_now(place);
    return (double)ledger_total(now.of);
}

/* Simulated ranks share a process. */
static double resident(enum memory_place place)
{
    if (world_is_simulated())
        return (double)NAN;
    return place == MEMORY_GPU ? device_bytes_taken() : rss_parts_now().anonymous;
}

static double freed(enum memory_place place)
{
    if (world_is_simulated())
        return (double)NAN;
    return place == MEMORY_GPU ? 0 : memory_freed();
}

struct memory_count rank_memory_begin(void)
{
    struct memory_count count = { 0 };
    for (int i = 0; i < MEMORY_PLACES; i++) {
        const enum memory_place place = (enum memory_place)i;
        count.of[i].program = resident(place) - held(place);
    }
    return count;
}

struct memory_count rank_memory_end(const struct memory_count *begun)
{
    struct memory_count count = { 0 };
    for (int i = 0; i < MEMORY_PLACES; i++) {
        const enum memory_place place = (enum memory_place)i;
        const struct ledger_peak peak = ledger_peak(place);
        struct place_count *of = &count.of[i];
        memcpy(of->at_peak, peak.sums.of, sizeof of->at_peak);
        memcpy(of->most, peak.most, sizeof of->most);
        of->phase = peak.phase;
        of->layer = peak.layer;
        of->held = held(place);
        of->resident = resident(place);
        of->program = begun->of[i].program;
        of->freed = freed(place);
    }
    return count;
}
