#include "text_loader.h"

#include "device.h"
#include "memory.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

struct text_loader {
    const struct token_corpus *corpus;
    int32_t *word; /* (all tokens of the corpus), text after text; NULL where nothing is computed */
    size_t *begin; /* (texts) of each in `word`; likewise */
    struct device_inbox token, text, label; /* (rows), (texts), (texts) of the batch */
    struct text_batch batch;
    struct reading reading;
    int step;
};

struct work token_work(const struct token_batch *batch)
{
    return (struct work){ .samples = batch->samples,
                          .padded_tokens = (double)batch->padded,
                          .padded_token_length = (double)batch->pairs };
}

static void draw_words(struct text_loader *l, int vocab, int seed)
{
    const struct token_corpus *corpus = l->corpus;
    struct random random;
    random_seed(&random, (uint64_t)seed + 1); /* the seed itself draws lengths and labels */
    l->begin = memory_new((size_t)corpus->count, sizeof *l->begin);
    size_t tokens = 0;
    for (int i = 0; i < corpus->count; i++) {
        l->begin[i] = tokens;
        tokens += (size_t)corpus->length[i];
    }
    l->word = memory_new(tokens, sizeof *l->word);
    for (size_t i = 0; i < tokens; i++)
        l->word[i] = 1 + (int32_t)random_below(&random, (uint32_t)vocab - 1);
}

struct text_loader *text_loader_open(const struct token_corpus *corpus, int vocab, int seed, struct token_most most)
{
    struct text_loader *l = memory_new(1, sizeof *l);
    l->corpus = corpus;
    if (device_computes())
        draw_words(l, vocab, seed);
    l->token = device_inbox_open((size_t)most.rows, sizeof *l->batch.token);
    l->text = device_inbox_open((size_t)most.texts, sizeof *l->batch.text);
    l->label = device_inbox_open((size_t)most.texts, sizeof *l->batch.label);
    l->batch = (struct text_batch){
        .token = l->token.device, .text = l->text.device, .listed = l->text.host, .label = l->label.device
    };
    return l;
}

void text_loader_close(struct text_loader *l)
{
    free(l->word);
    free(l->begin);
    device_inbox_close(&l->token);
    device_inbox_close(&l->text);
    device_inbox_close(&l->label);
    free(l);
}

void text_loader_restart(struct text_loader *l, struct reading reading)
{
    l->reading = reading;
    l->step = reading.first;
}

/* 1 / (texts of the step), or 1 / (ranks x texts of this rank). */
static float scale_of(const struct reading *r, int step)
{
    const struct token_plan *plan = r->plan;
    int texts = 0;
    for (int rank = 0; r->weighs_by_texts && rank < plan->ranks; rank++)
        texts += token_plan_batch(plan, rank, step)->samples;
    if (!r->weighs_by_texts)
        texts = plan->ranks * token_plan_batch(plan, r->rank, step)->samples;
    return 1.0f / (float)texts;
}

static void add_text(struct text_loader *l, uint32_t example, int extent)
{
    int tokens = l->corpus->length[example], first = l->batch.rows;
    struct text *text = l->text.host;
    int32_t *label = l->label.host, *token = l->token.host;
    label[l->batch.texts] = l->corpus->label[example];
    text[l->batch.texts++] = (struct text){ .first = first, .tokens = tokens, .extent = extent };
    if (l->word)
        memcpy(token + first, l->word + l->begin[example], (size_t)tokens * sizeof *token);
    memset(token + first + tokens, 0, (size_t)(extent - tokens) * sizeof *token);
    l->batch.rows += extent;
    l->batch.longest = extent > l->batch.longest ? extent : l->batch.longest;
}

static void deliver(struct text_loader *l)
{
    size_t texts = (size_t)l->batch.texts;
    device_deliver(&l->token, (size_t)l->batch.rows * sizeof *l->batch.token);
    device_deliver(&l->text, texts * sizeof *l->batch.text);
    device_deliver(&l->label, texts * sizeof *l->batch.label);
}

const struct text_batch *text_loader_next(struct text_loader *l)
{
    const struct token_batch *from = token_plan_batch(l->reading.plan, l->reading.rank, l->step);
    device_pass(WORK_TRANSFORMER, WORK_FETCH, token_work(from), 1);
    l->batch.rows = l->batch.texts = l->batch.longest = 0;
    l->batch.scale = scale_of(&l->reading, l->step);
    for (int i = 0; i < from->samples; i++) {
        uint32_t example = from->example[i];
        add_text(l, example, l->reading.plan->is_packed ? l->corpus->length[example] : from->longest);
    }
    deliver(l);
    l->step++;
    return &l->batch;
}
