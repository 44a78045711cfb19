#include "model/worker_loader.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "model/model_type.h"
#include "model/sample_set.h"
#include "options/work.h"
#include "world/async_helper.h"
#include "world/world.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = WORKER_LOADER_AHEAD + 1 }; /* of a worker: one in use, the others made or in the making */

/* A batch and its buffer: labels, then the samples at byte `head`. A job is to fill a slot. */
struct slot {
    struct worker_loader *loader;
    int number; /* of the batch, from 0 */
    struct batch batch;
    struct device_staging_buffer staging;
};

struct worker_loader {
    struct workload workload;
    struct sample_set set;
    union word *ready; /* (set.count, set.words): transformed samples, if from memory; NULL until then */
    struct async_helper *worker[WORKER_LOADER_MOST]; /* NULL until a restart needs it */
    struct slot *slots;                              /* (most_workers, SLOTS), at least one */
    int most_workers, spare_cores;
    size_t head;

    struct worker_loader_plan plan;
    struct share share;
    int batches; /* of the share's global batch in the set */
    int next;
    atomic_bool is_settling;
    struct worker_loader_waits waits;
};

void worker_loader_transform(float *sample, int features, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        const float last = tanhf(1.01f * sample[features - 1] + 0.01f);
        for (int i = features - 1; i > 0; i--)
            sample[i] = tanhf(1.01f * sample[i - 1] + 0.01f);
        sample[0] = last;
    }
}

static int slots_of(int workers)
{
    return workers > 0 ? workers * SLOTS : 1;
}

struct worker_loader *worker_loader_open(const struct workload *workload, const struct run *run, int most_samples,
                                         int most_workers, int spare_cores)
{
    struct worker_loader *l = memory_new(1, sizeof *l);
    l->spare_cores = spare_cores;
    l->workload = *workload;
    l->set = sample_set_open(workload, run, most_samples);
    l->most_workers = most_workers;
    if (l->set.vocab || most_workers > WORKER_LOADER_MOST)
        die(STATUS_WRONG, "a loader with workers needs features, and at most %d workers", WORKER_LOADER_MOST);
    l->slots = memory_new((size_t)slots_of(most_workers), sizeof *l->slots);
    l->head = sample_set_head(most_samples);
    for (int i = 0; i < slots_of(most_workers); i++) {
        struct slot *slot = &l->slots[i];
        slot->loader = l;
        slot->staging = device_staging_buffer_open(
            MEMORY_DATA, l->head + (size_t)most_samples * (size_t)l->set.words * sizeof(union word), 1);
        slot->batch.labels = slot->staging.device;
        slot->batch.features = (const float *)((const char *)slot->staging.device + l->head);
    }
    return l;
}

struct memory_estimate worker_loader_memory(const struct workload *workload, const struct run *run, int most_samples,
                                            int most_workers, bool has_ready)
{
    const double sample = (double)sizeof(union word) * workload->type->sample(&workload->of).words,
                 set = sample_set_bytes(workload, run, most_samples);
    return (struct memory_estimate){ .of = { [MEMORY_DATA] = (has_ready ? 2 : 1) * set +
                                                             slots_of(most_workers) * most_samples * sample } };
}

void worker_loader_settle(struct worker_loader *l)
{
    atomic_store(&l->is_settling, true);
    for (int w = 0; w < l->most_workers; w++)
        if (l->worker[w])
            async_helper_end(l->worker[w]);
    atomic_store(&l->is_settling, false);
}

void worker_loader_close(struct worker_loader *l)
{
    worker_loader_settle(l);
    for (int w = 0; w < l->most_workers; w++)
        if (l->worker[w])
            async_helper_close(l->worker[w]);
    for (int i = 0; i < slots_of(l->most_workers); i++)
        device_staging_buffer_close(&l->slots[i].staging);
    sample_set_close(&l->set);
    memory_free_array(l->ready);
    free(l->slots);
    free(l);
}

/* Let the time pass in which a modelled machine transforms `samples` samples. */
static void charge_transform(const struct worker_loader *l, int samples)
{
    const double each = world_property_number(WORK_OWN_COST WORKER_LOADER_TRANSFORM, 0);
    if (each > 0)
        world_burn_cpu(each * l->plan.rounds * l->set.words * samples);
}

/* Let the time pass in which a modelled machine takes a worker's batch. */
static void charge_take(void)
{
    const double seconds = device_computes() ? 0 : world_property_number(WORK_OWN_COST WORKER_LOADER_TAKE, 0);
    if (seconds > 0)
        world_burn_cpu(seconds);
}

/* Make sample i of a batch. */
static void make_sample(const struct worker_loader *l, struct slot *slot, int i, size_t place)
{
    const size_t width = (size_t)l->set.words;
    union word *word = (union word *)((char *)slot->staging.host + l->head) + (size_t)i * width;
    sample_set_copy(&l->set, place, word, (int32_t *)slot->staging.host + i);
    if (l->plan.from_memory)
        memcpy(word, l->ready + l->set.order[place] * width, width * sizeof *word);
    else
        worker_loader_transform(&word->feature, (int)width, l->plan.rounds);
}

/* Fill a slot, on a worker or in the step. */
static void make_batch(void *argument)
{
    struct slot *slot = argument;
    const struct worker_loader *l = slot->loader;
    const int samples = slot->batch.samples;
    const size_t first = (size_t)(slot->number % l->batches) * (size_t)l->share.global_batch + (size_t)l->share.first;
    device_charge(l->workload.type->costs, WORK_FETCH, workload_work(&l->workload, samples), 1);
    for (int i = 0; i < samples && !atomic_load(&l->is_settling); i++) {
        if (!l->plan.from_memory)
            stall(l->plan.per_sample);
        if (device_computes())
            make_sample(l, slot, i, first + (size_t)i);
    }
    if (!device_computes() && !l->plan.from_memory && !atomic_load(&l->is_settling))
        charge_transform(l, samples);
    device_deliver(&slot->staging, l->head + (size_t)samples * (size_t)l->set.words * sizeof(union word));
}

/* Return the slot of a batch. */
static struct slot *slot_of(const struct worker_loader *l, int batch)
{
    const int workers = l->plan.workers;
    return workers > 0 ? &l->slots[batch % workers * SLOTS + batch / workers % SLOTS] : &l->slots[0];
}

static void begin(struct worker_loader *l, int batch)
{
    struct slot *slot = slot_of(l, batch);
    slot->number = batch;
    async_helper_begin(l->worker[batch % l->plan.workers], make_batch, slot);
}

/* Transform the whole set once. */
static void make_ready(struct worker_loader *l)
{
    const size_t words = l->set.count * (size_t)l->set.words;
    if (!device_computes())
        return;
    if (!l->ready)
        l->ready = memory_new_array(MEMORY_DATA, words, sizeof *l->ready);
    memcpy(l->ready, l->set.word, words * sizeof *l->ready);
    for (size_t i = 0; i < l->set.count; i++)
        worker_loader_transform(&l->ready[i * (size_t)l->set.words].feature, l->set.words, l->plan.rounds);
}

void worker_loader_restart(struct worker_loader *l, struct share share, float scale, struct worker_loader_plan plan)
{
    worker_loader_settle(l);
    l->plan = plan;
    l->share = share;
    l->batches = (int)(l->set.count / (size_t)share.global_batch);
    l->next = 0;
    l->waits = (struct worker_loader_waits){ 0 };
    for (int i = 0; i < slots_of(l->most_workers); i++) {
        l->slots[i].batch.samples = share.samples;
        l->slots[i].batch.scale = scale;
    }
    if (plan.from_memory)
        make_ready(l);
    for (int w = 0; w < plan.workers; w++)
        if (!l->worker[w])
            l->worker[w] = async_helper_open_on_any_core(l->spare_cores);
    for (int batch = 0; batch < WORKER_LOADER_AHEAD * plan.workers; batch++)
        begin(l, batch);
}

const struct batch *worker_loader_next(struct worker_loader *l)
{
    const int batch = l->next++, workers = l->plan.workers;
    struct slot *slot = slot_of(l, batch);
    const double began = world_now();
    bool was_ready = false;
    if (workers > 0) {
        was_ready = !async_helper_lacks_one(l->worker[batch % workers]);
        async_helper_end_one(l->worker[batch % workers]);
        begin(l, batch + WORKER_LOADER_AHEAD * workers);
        charge_take();
    } else {
        slot->number = batch;
        make_batch(slot);
    }
    l->waits.seconds += world_now() - began;
    l->waits.taken++;
    l->waits.empty += !was_ready;
    return &slot->batch;
}

struct worker_loader_waits worker_loader_waits(const struct worker_loader *l)
{
    return l->waits;
}
