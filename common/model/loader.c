#include "model/loader.h"

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "world/async_helper.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BATCHES = 64 }; /* later steps start over at the first batch, to limit memory */

struct loader {
    int input_dim;
    size_t set;      /* samples */
    float *features; /* (set, input_dim); these three are NULL if nothing is computed */
    int32_t *labels; /* (set) */
    uint32_t *order; /* (set) */
    struct async_helper *helper;

    struct share share;
    int batches; /* global batches of the share's size in the set */
    int ahead;
    int step; /* step of the next fetch */
    struct stall held_up;
    struct batch batch[2]; /* one in use, one being fetched */
    /* Buffers of the batches: labels, then features at byte `head`, so that one copy to a GPU is enough. */
    struct device_staging_buffer staging[2];
    size_t head; /* bytes reserved for labels */
};

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void draw_set(struct loader *l, const struct run *run)
{
    size_t set = l->set, width = (size_t)l->input_dim;
    l->features = memory_new(set * width, sizeof *l->features);
    l->labels = memory_new(set, sizeof *l->labels);
    l->order = memory_new(set, sizeof *l->order);
    struct random random;
    random_seed_plus(&random, run->seed, 1); /* the seed itself draws the weights */
    for (size_t i = 0; i < set; i++) {
        for (size_t j = 0; j < width; j++)
            l->features[i * width + j] = (float)random_normal(&random);
        l->labels[i] = (int32_t)random_below(&random, (uint32_t)run->num_classes);
        l->order[i] = (uint32_t)i;
    }
    random_shuffle(&random, l->order, set);
}

static float *features_in(const struct loader *l, void *staging)
{
    return (float *)((char *)staging + l->head);
}

/* Return the samples of the data set: max(2 steps B, 4 B ranks), within MOST_BATCHES global batches. */
static size_t set_size(const struct run *run, int most_samples)
{
    int batches = larger(4, 2 * run->steps / run->ranks);
    batches = batches < MOST_BATCHES ? batches : MOST_BATCHES;
    return (size_t)run->ranks * (size_t)larger(batches * run->batch_size, most_samples);
}

struct memory_estimate loader_memory(const struct run *run, int most_samples)
{
    enum { BUFFERS = 2 };
    double set = (double)set_size(run, most_samples), sample = 4.0 * run->input_dim; /* bytes of its features */
    double lists = sizeof(int32_t) + sizeof(uint32_t);                               /* label, place in the order */
    return (
        struct memory_estimate){ .of = { [MEMORY_DATA] = set * (sample + lists) + BUFFERS * sample * most_samples } };
}

struct loader *loader_open(const struct run *run, int most_samples)
{
    struct loader *l = memory_new(1, sizeof *l);
    l->input_dim = run->input_dim;
    l->set = set_size(run, most_samples);
    if (device_computes())
        draw_set(l, run);
    const size_t aligned = 256; /* bytes: alignment of new GPU memory, on which products are fastest */
    size_t sample = (size_t)run->input_dim * sizeof *l->features;
    l->head = ((size_t)most_samples * sizeof *l->labels + aligned - 1) / aligned * aligned;
    for (int i = 0; i < 2; i++) {
        l->staging[i] = device_staging_buffer_open(l->head + (size_t)most_samples * sample, 1);
        l->batch[i].labels = l->staging[i].device;
        l->batch[i].features = features_in(l, l->staging[i].device);
    }
    l->helper = async_helper_open();
    return l;
}

void loader_close(struct loader *l)
{
    async_helper_close(l->helper);
    for (int i = 0; i < 2; i++)
        device_staging_buffer_close(&l->staging[i]);
    free(l->features);
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
    device_charge(WORK_MLP, WORK_FETCH, work_samples(l->batch[slot].samples), 1);
    if (!device_computes())
        return;
    const uint32_t *order = l->order + (size_t)(l->step % l->batches) * (size_t)l->share.global_batch + l->share.first;
    size_t width = (size_t)l->input_dim, samples = (size_t)l->batch[slot].samples;
    float *features = features_in(l, l->staging[slot].host);
    int32_t *labels = l->staging[slot].host;
    for (size_t i = 0; i < samples; i++) {
        memcpy(features + i * width, l->features + order[i] * width, width * sizeof *features);
        labels[i] = l->labels[order[i]];
    }
    device_deliver(&l->staging[slot], l->head + samples * width * sizeof *features);
}

struct share share_even(const struct run *run, int rank)
{
    return (struct share){ .global_batch = run->ranks * run->batch_size,
                           .first = rank * run->batch_size,
                           .samples = run->batch_size };
}

void loader_restart(struct loader *l, struct share share, int ahead, float scale)
{
    async_helper_end(l->helper);
    l->share = share;
    l->batches = (int)(l->set / (size_t)share.global_batch);
    l->ahead = ahead;
    l->step = 0;
    l->held_up = (struct stall){ .kind = STALL_NONE };
    for (int i = 0; i < 2; i++) {
        l->batch[i].samples = share.samples;
        l->batch[i].scale = scale;
    }
    if (ahead)
        async_helper_begin(l->helper, fetch, l);
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
