#include "model/sample_set.h"

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "model/model_type.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_BATCHES = 64, /* later steps start over at the first batch, to limit memory */
    ALIGNED = 256      /* bytes: alignment of new GPU memory, on which products are fastest */
};

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static size_t samples_of(const struct run *run, int most_samples)
{
    int batches = larger(4, 2 * run->steps / run->ranks);
    batches = batches < MOST_BATCHES ? batches : MOST_BATCHES;
    return (size_t)run->ranks * (size_t)larger(batches * run->batch_size, most_samples);
}

static void draw(struct sample_set *set, uint64_t seed)
{
    const size_t width = (size_t)set->words;
    set->word = memory_new_array(MEMORY_DATA, set->count * width, sizeof *set->word);
    set->label = memory_new_array(MEMORY_DATA, set->count, sizeof *set->label);
    set->order = memory_new_array(MEMORY_DATA, set->count, sizeof *set->order);
    struct random random;
    random_seed_plus(&random, seed, 1); /* the seed itself draws the weights */
    for (size_t i = 0; i < set->count; i++) {
        for (size_t j = 0; j < width; j++)
            if (set->vocab)
                set->word[i * width + j].token = 1 + (int32_t)random_below(&random, (uint32_t)set->vocab - 1);
            else
                set->word[i * width + j].feature = (float)random_normal(&random);
        set->label[i] = (int32_t)random_below(&random, (uint32_t)set->classes);
        set->order[i] = (uint32_t)i;
    }
    random_shuffle(&random, set->order, set->count);
}

struct sample_set sample_set_open(const struct workload *workload, const struct run *run, int most_samples)
{
    const struct sample_words of = workload->type->sample(&workload->of);
    struct sample_set set = {
        .words = of.words, .classes = of.classes, .vocab = of.vocab, .count = samples_of(run, most_samples)
    };
    if (device_computes())
        draw(&set, run->seed);
    return set;
}

void sample_set_close(struct sample_set *set)
{
    memory_free_array(set->word);
    memory_free_array(set->label);
    memory_free_array(set->order);
}

double sample_set_bytes(const struct workload *workload, const struct run *run, int most_samples)
{
    const struct sample_words of = workload->type->sample(&workload->of);
    const double lists = sizeof(int32_t) + sizeof(uint32_t); /* label, place in the order */
    return (double)samples_of(run, most_samples) * ((double)sizeof(union word) * of.words + lists);
}

size_t sample_set_head(int most_samples)
{
    return ((size_t)most_samples * sizeof(int32_t) + ALIGNED - 1) / ALIGNED * ALIGNED;
}

void sample_set_copy(const struct sample_set *set, size_t place, union word *word, int32_t *label)
{
    const size_t from = set->order[place], width = (size_t)set->words;
    memcpy(word, set->word + from * width, width * sizeof *word);
    *label = set->label[from];
}
