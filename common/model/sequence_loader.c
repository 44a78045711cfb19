#include "model/sequence_loader.h"

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

/* Lists of a batch, in one piece, so that one copy brings all to a GPU. Tokens are last, because their number varies. */
struct lists {
    struct sequence *text; /* (most texts) */
    int32_t *label;        /* (most texts) */
    int32_t *token;        /* (most rows) */
};

static size_t lists_bytes(size_t texts, size_t rows)
{
    return texts * (sizeof(struct sequence) + sizeof(int32_t)) + rows * sizeof(int32_t);
}

static struct lists lists_in(void *memory, int texts)
{
    struct sequence *text = memory;
    int32_t *label = (int32_t *)(text + texts);
    return (struct lists){ text, label, label + texts };
}

struct sequence_loader {
    const struct token_corpus *corpus;
    int32_t *word; /* (all tokens of the corpus), sequence after sequence; NULL if nothing is computed */
    size_t *begin; /* (texts) start of each in `word`; likewise */
    struct device_staging_buffer staging;
    struct lists host; /* lists as the host writes them */
    int most_texts;
    struct batch batch;
    struct reading reading;
    int step;
};

struct work token_work(const struct token_batch *batch)
{
    return (struct work){ .samples = batch->samples,
                          .padded_tokens = (double)batch->padded,
                          .padded_token_length = (double)batch->pairs,
                          .computed_token_length = (double)batch->computed_pairs };
}

static void draw_words(struct sequence_loader *l, int vocab, uint64_t seed)
{
    const struct token_corpus *corpus = l->corpus;
    struct random random;
    random_seed_plus(&random, seed, 1); /* the seed itself draws lengths and labels */
    l->begin = memory_new_array(MEMORY_DATA, (size_t)corpus->count, sizeof *l->begin);
    size_t tokens = 0;
    for (int i = 0; i < corpus->count; i++) {
        l->begin[i] = tokens;
        tokens += (size_t)corpus->length[i];
    }
    l->word = memory_new_array(MEMORY_DATA, tokens, sizeof *l->word);
    for (size_t i = 0; i < tokens; i++)
        l->word[i] = 1 + (int32_t)random_below(&random, (uint32_t)vocab - 1);
}

struct sequence_loader *sequence_loader_open(const struct token_corpus *corpus, int vocab, uint64_t seed,
                                             struct batch_most most)
{
    struct sequence_loader *l = memory_new(1, sizeof *l);
    l->corpus = corpus;
    if (device_computes())
        draw_words(l, vocab, seed);
    l->most_texts = (int)most.samples;
    l->staging = device_staging_buffer_open(MEMORY_DATA, lists_bytes((size_t)most.samples, (size_t)most.rows), 1);
    l->host = lists_in(l->staging.host, l->most_texts);
    struct lists there = lists_in(l->staging.device, l->most_texts);
    l->batch =
        (struct batch){ .token = there.token, .sequence = there.text, .listed = l->host.text, .labels = there.label };
    return l;
}

struct memory_estimate sequence_loader_memory(const struct token_recipe *recipe, struct batch_most most)
{
    double texts = token_recipe_texts(recipe), tokens = texts * token_recipe_length(recipe);
    double batch = most.samples * (sizeof(struct sequence) + sizeof(int32_t)) + most.rows * sizeof(int32_t);
    /* Bytes per sequence: of the corpus; and of the schedule, in batches of two sequences or more. */
    double drawn = 2 * sizeof(int) + sizeof(size_t), listed = sizeof(uint32_t) + sizeof(struct token_batch) / 2.0;
    return (struct memory_estimate){ .of = { [MEMORY_DATA] =
                                                 tokens * sizeof(int32_t) + texts * (drawn + listed) + batch } };
}

void sequence_loader_close(struct sequence_loader *l)
{
    memory_free_array(l->word);
    memory_free_array(l->begin);
    device_staging_buffer_close(&l->staging);
    free(l);
}

void sequence_loader_restart(struct sequence_loader *l, struct reading reading)
{
    l->reading = reading;
    l->step = reading.first;
}

/* Return 1 / (sequences of the step), or 1 / (ranks x sequences of this rank). */
static float scale_of(const struct reading *r, int step)
{
    const struct batch_schedule *schedule = r->schedule;
    int texts = 0;
    for (int rank = 0; r->weighs_by_texts && rank < schedule->ranks; rank++)
        texts += batch_schedule_batch(schedule, rank, step)->samples;
    if (!r->weighs_by_texts)
        texts = schedule->ranks * batch_schedule_batch(schedule, r->rank, step)->samples;
    return 1.0f / (float)texts;
}

static void add_text(struct sequence_loader *l, uint32_t example, int extent)
{
    int tokens = l->corpus->length[example], first = l->batch.rows;
    int32_t *token = l->host.token;
    l->host.label[l->batch.samples] = l->corpus->label[example];
    l->host.text[l->batch.samples++] = (struct sequence){ .first = first, .tokens = tokens, .extent = extent };
    if (l->word)
        memcpy(token + first, l->word + l->begin[example], (size_t)tokens * sizeof *token);
    memset(token + first + tokens, 0, (size_t)(extent - tokens) * sizeof *token);
    l->batch.rows += extent;
    l->batch.longest = extent > l->batch.longest ? extent : l->batch.longest;
}

const struct batch *sequence_loader_next(struct sequence_loader *l)
{
    const struct token_batch *from = batch_schedule_batch(l->reading.schedule, l->reading.rank, l->step);
    device_charge(WORK_TRANSFORMER, WORK_FETCH, token_work(from), 1);
    l->batch.rows = l->batch.samples = l->batch.longest = 0;
    l->batch.scale = scale_of(&l->reading, l->step);
    for (int i = 0; i < from->samples; i++) {
        uint32_t example = from->example[i];
        add_text(l, example, l->reading.schedule->is_packed ? l->corpus->length[example] : from->longest);
    }
    device_deliver(&l->staging, lists_bytes((size_t)l->most_texts, (size_t)l->batch.rows));
    l->step++;
    return &l->batch;
}
