#include "model/loader.h"

#include "base/memory.h"
#include "device/device.h"
#include "model/model_type.h"
#include "model/sample_set.h"
#include "world/async_helper.h"

#include <stdlib.h>

struct loader {
    struct workload workload;
    struct sample_set set;
    struct async_helper *helper; /* NULL until a restart asks for prefetching: a simulated rank has few */

    struct share share;
    int batches; /* global batches of the share's size in the set */
    int ahead;
    int step; /* step of the next fetch */
    struct stall held_up;
    struct batch batch[2]; /* one in use, one being fetched */
    /* Buffers of the batches: labels, then the samples at byte `head`, so that one copy to a GPU is enough. */
    struct device_staging_buffer staging[2];
    size_t head;                            /* bytes reserved for labels */
    struct device_staging_buffer sequences; /* of sequences: their places, equal in all batches */
};

struct batch_most loader_most(const struct workload *workload, int most_samples)
{
    const struct sample_words of = workload->type->sample(&workload->of);
    const double length = of.vocab ? of.words : 0;
    return (struct batch_most){ .samples = most_samples, .rows = most_samples * length, .length = length };
}

struct memory_estimate loader_memory(const struct workload *workload, const struct run *run, int most_samples)
{
    enum { BUFFERS = 2 };
    const struct sample_words of = workload->type->sample(&workload->of);
    double sample = (double)sizeof(union word) * of.words;
    double places = of.vocab ? sizeof(struct sequence) : 0;
    return (struct memory_estimate){ .of = { [MEMORY_DATA] = sample_set_bytes(workload, run, most_samples) +
                                                             (BUFFERS * sample + places) * most_samples } };
}

/* Write where each sequence of a batch lies, and deliver it. */
static void place_sequences(struct loader *l, int most_samples)
{
    l->sequences = device_staging_buffer_open(MEMORY_DATA, (size_t)most_samples, sizeof(struct sequence));
    struct sequence *list = l->sequences.host;
    for (int i = 0; i < most_samples; i++)
        list[i] = (struct sequence){ .first = i * l->set.words, .tokens = l->set.words, .extent = l->set.words };
    device_deliver(&l->sequences, (size_t)most_samples * sizeof *list);
}

/* Let a batch point to its buffer. */
static void place_batch(struct loader *l, int slot)
{
    struct batch *batch = &l->batch[slot];
    const void *words = (const char *)l->staging[slot].device + l->head;
    batch->labels = l->staging[slot].device;
    if (l->set.vocab) {
        batch->token = words;
        batch->sequence = l->sequences.device;
        batch->listed = l->sequences.host;
        batch->longest = l->set.words;
    } else {
        batch->features = words;
    }
}

struct loader *loader_open(const struct workload *workload, const struct run *run, int most_samples)
{
    struct loader *l = memory_new(1, sizeof *l);
    l->workload = *workload;
    l->set = sample_set_open(workload, run, most_samples);
    if (l->set.vocab)
        place_sequences(l, most_samples);
    size_t sample = (size_t)l->set.words * sizeof(union word);
    l->head = sample_set_head(most_samples);
    for (int i = 0; i < 2; i++) {
        l->staging[i] = device_staging_buffer_open(MEMORY_DATA, l->head + (size_t)most_samples * sample, 1);
        place_batch(l, i);
    }
    return l;
}

void loader_close(struct loader *l)
{
    if (l->helper)
        async_helper_close(l->helper);
    for (int i = 0; i < 2; i++)
        device_staging_buffer_close(&l->staging[i]);
    if (l->set.vocab)
        device_staging_buffer_close(&l->sequences);
    sample_set_close(&l->set);
    free(l);
}

/* Stall, then gather the samples of step l->step. */
static void fetch(void *argument)
{
    struct loader *l = argument;
    stall(l->held_up);
    int slot = l->step % 2;
    device_charge(l->workload.type->costs, WORK_FETCH, workload_work(&l->workload, l->batch[slot].samples), 1);
    if (!device_computes())
        return;
    const size_t first = (size_t)(l->step % l->batches) * (size_t)l->share.global_batch + (size_t)l->share.first;
    size_t width = (size_t)l->set.words, samples = (size_t)l->batch[slot].samples;
    int32_t *labels = l->staging[slot].host;
    union word *words = (union word *)((char *)l->staging[slot].host + l->head);
    for (size_t i = 0; i < samples; i++)
        sample_set_copy(&l->set, first + i, words + i * width, &labels[i]);
    device_deliver(&l->staging[slot], l->head + samples * width * sizeof *words);
}

struct share share_even(const struct run *run, int rank)
{
    return (struct share){ .global_batch = run->ranks * run->batch_size,
                           .first = rank * run->batch_size,
                           .samples = run->batch_size };
}

struct share share_dealt(const int *samples, int ranks, int rank)
{
    struct share share = { .samples = samples[rank] };
    for (int i = 0; i < ranks; i++) {
        share.global_batch += samples[i];
        share.first += i < rank ? samples[i] : 0;
    }
    return share;
}

void loader_settle(struct loader *l)
{
    if (l->helper)
        async_helper_end(l->helper);
}

void loader_restart(struct loader *l, struct share share, int ahead, float scale)
{
    loader_settle(l);
    if (ahead && !l->helper)
        l->helper = async_helper_open();
    l->share = share;
    l->batches = (int)(l->set.count / (size_t)share.global_batch);
    l->ahead = ahead;
    l->step = 0;
    l->held_up = (struct stall){ .kind = STALL_NONE };
    for (int i = 0; i < 2; i++) {
        l->batch[i].scale = scale;
        l->batch[i].samples = share.samples;
        l->batch[i].rows = l->set.vocab ? share.samples * l->set.words : 0;
    }
    if (ahead)
        async_helper_begin(l->helper, fetch, l);
}

void loader_average_own_samples(struct loader *l)
{
    l->batch[0].scale = l->batch[1].scale = 1.0f / (float)l->share.samples;
}

const struct batch *loader_next(struct loader *l, struct stall held_up)
{
    int slot = l->step % 2;
    if (l->ahead) {
        async_helper_end(l->helper);
        l->step++;
        l->held_up = held_up;
        async_helper_begin(l->helper, fetch, l);
    } else {
        l->held_up = held_up;
        fetch(l);
        l->step++;
    }
    return &l->batch[slot];
}
