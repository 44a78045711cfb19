#include "frame/rank_memory.h"

#include "base/rss.h"
#include "card/own_cost.h"
#include "card/probe.h"
#include "frame/lab_spec.h"
#include "model/trainer.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Estimate what probes of the machine keep. In a lab with own batches they have a trainer of their own. */
static struct memory_estimate probes(const struct lab_spec *spec, const struct options *base, bool is_simulated)
{
    const struct workload *workload = workload_of(base);
    const struct run *run = (const struct run *)base;
    const struct card_uses uses = lab_spec_uses(spec, base);
    struct memory_estimate memory = probe_memory(workload, run);
    if (spec->own_batches)
        memory = memory_estimate_add(
            memory, trainer_memory_for(workload, loader_most(workload, lab_spec_most_samples(spec, base))));
    memory.of[MEMORY_MEASURING] += probe_larger_bytes(&uses, workload, run->ranks, is_simulated);
    return memory_estimate_owned(memory, MEMORY_MEASURING);
}

struct memory_estimate rank_memory_estimate(const struct lab_spec *spec, const struct options *base, bool is_simulated)
{
    const struct workload *workload = workload_of(base);
    const struct run *run = (const struct run *)base;
    const int most = lab_spec_most_samples(spec, base);
    struct memory_estimate memory =
        spec->own_batches ? trainer_memory_for(workload, spec->own_batches(base)) : trainer_memory(workload, run, most);
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
    for (const struct variant *v = spec->variants; spec->case_need && v->name; v++) {
        struct options *settings = lab_spec_settings(spec, base, v);
        if (lab_spec_wants(spec, (const struct run *)base, v))
            most = memory_estimate_most(most, spec->case_need(settings));
        free(settings);
    }
    return memory_estimate_add(rank_memory_estimate(spec, base, is_simulated), most);
}

static double held(void)
{
    const struct ledger_sums now = ledger_now(MEMORY_HOST);
    return (double)ledger_total(now.of);
}

static double resident(void)
{
    return world_is_simulated() ? (double)NAN : rss_parts_now().anonymous;
}

struct memory_count rank_memory_begin(void)
{
    return (struct memory_count){ .program = resident() - held(), .freed = memory_freed() };
}

struct memory_count rank_memory_end(const struct memory_count *begun)
{
    struct memory_count count = {
        .held = held(), .resident = resident(), .program = begun->program, .freed = memory_freed() - begun->freed
    };
    for (int place = 0; place < MEMORY_PLACES; place++) {
        const struct ledger_peak peak = ledger_peak((enum memory_place)place);
        struct place_count *of = &count.of[place];
        memcpy(of->at_peak, peak.sums.of, sizeof of->at_peak);
        memcpy(of->most, peak.most, sizeof of->most);
        of->phase = peak.phase;
        of->layer = peak.layer;
    }
    if (world_is_simulated())
        count.freed = (double)NAN;
    return count;
}
