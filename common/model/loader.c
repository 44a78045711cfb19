#include "model/loader.h"

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "model/model_type.h"
#include "world/async_helper.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_BATCHES = 64, /* later steps start over at the first batch, to limit memory */
    ALIGNED = 256,     /* bytes: alignment of new GPU memory, on which products are fastest */
};

/* Four bytes of a sample. */
union word {
    float feature;
    int32_t token;
};

struct loader {
    struct workload workload;
    struct sample_words sample;
    size_t set;                  /* samples */
    union word *words;           /* (set, sample.words); these three are NULL if nothing is computed */
    int32_t *labels;             /* (set) */
    uint32_t *order;             /* (set) */
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

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void draw_set(struct loader *l, uint64_t seed)
{
    const struct sample_words of = l->sample;
    size_t set = l->set, width = (size_t)of.words;
    l->words = memory_new(set * width, sizeof *l->words);
    l->labels = memory_new(set, sizeof *l->labels);
    l->order = memory_new(set, sizeof *l->order);
    struct random random;
    random_seed_plus(&random, seed, 1); /* the seed itself draws the weights */
    for (size_t i = 0; i < set; i++) {
        for (size_t j = 0; j < width; j++)
            if (of.vocab)
                l->words[i * width + j].token = 1 + (int32_t)random_below(&random, (uint32_t)of.vocab - 1);
            else
                l->words[i * width + j].feature = (float)random_normal(&random);
        l->labels[i] = (int32_t)random_below(&random, (uint32_t)of.classes);
        l->order[i] = (uint32_t)i;
    }
    random_shuffle(&random, l->order, set);
}

/* Return the samples of the data set: max(2 steps B, 4 B ranks), within MOST_BATCHES global batches. */
static size_t set_size(const struct run *run, int most_samples)
{
    int batches = larger(4, 2 * run->steps / run->ranks);
    batches = batches < MOST_BATCHES ? batches : MOST_BATCHES;
    return (size_t)run->ranks * (size_t)larger(batches * run->batch_size, most_samples);
}

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
    double set = (double)set_size(run, most_samples), sample = (double)sizeof(union word) * of.words;
    double lists = sizeof(int32_t) + sizeof(uint32_t); /* label, place in the order */
    double places = of.vocab ? sizeof(struct sequence) : 0;
    return (struct memory_estimate){ .of = { [MEMORY_DATA] = set * (sample + lists) +
                                                             (BUFFERS * sample + places) * most_samples } };
}

/* Write where each sequence of a batch lies, and deliver it. */
static void place_sequences(struct loader *l, int most_samples)
{
    l->sequences = device_staging_buffer_open((size_t)most_samples, sizeof(struct sequence));
    struct sequence *list = l->sequences.host;
    for (int i = 0; i < most_samples; i++)
        list[i] =
            (struct sequence){ .first = i * l->sample.words, .tokens = l->sample.words, .extent = l->sample.words };
    device_deliver(&l->sequences, (size_t)most_samples * sizeof *list);
}

/* Let a batch point to its buffer. */
static void place_batch(struct loader *l, int slot)
{
    struct batch *batch = &l->batch[slot];
    const void *words = (const char *)l->staging[slot].device + l->head;
    batch->labels = l->staging[slot].device;
    if (l->sample.vocab) {
        batch->token = words;
        batch->sequence = l->sequences.device;
        batch->listed = l->sequences.host;
        batch->longest = l->sample.words;
    } else {
        batch->features = words;
    }
}

struct loader *loader_open(const struct workload *workload, const struct run *run, int most_samples)
{
    struct loader *l = memory_new(1, sizeof *l);
    l->workload = *workload;
    l->sample = workload->type->sample(&workload->of);
    l->set = set_size(run, most_samples);
    if (device_computes())
        draw_set(l, run->seed);
    if (l->sample.vocab)
        place_sequences(l, most_samples);
    size_t sample = (size_t)l->sample.words * sizeof *l->words;
    l->head = ((size_t)most_samples * sizeof *l->labels + ALIGNED - 1) / ALIGNED * ALIGNED;
    for (int i = 0; i < 2; i++) {
        l->staging[i] = device_staging_buffer_open(l->head + (size_t)most_samples * sample, 1);
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
    if (l->sample.vocab)
        device_staging_buffer_close(&l->sequences);
    free(l->words);
    free(l->labels);
    free(l->order);
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
    const uint32_t *order = l->order + (size_t)(l->step % l->batches) * (size_t)l->share.global_batch + l->share.first;
    size_t width = (size_t)l->sample.words, samples = (size_t)l->batch[slot].samples;
    int32_t *labels = l->staging[slot].host;
    union word *words = (union word *)((char *)l->staging[slot].host + l->head);
    for (size_t i = 0; i < samples; i++) {
        memcpy(words + i * width, l->words + order[i] * width, width * sizeof *words);
        labels[i] = l->labels[order[i]];
    }
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
    l->batches = (int)(l->set / (size_t)share.global_batch);
    l->ahead = ahead;
    l->step = 0;
    l->held_up = (struct stall){ .kind = STALL_NONE };
    for (int i = 0; i < 2; i++) {
        l->batch[i].scale = scale;
        l->batch[i].samples = share.samples;
        l->batch[i].rows = l->sample.vocab ? share.samples * l->sample.words : 0;
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
