#include "model/workload.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "model/sequence_trainer.h"

#include <stdlib.h>

/* Sequences per batch and their length, relative to the run's batch size and longest sequence. Length and number vary
 * separately, and no shape is a lab's own. */
enum { SHAPES = 6 };
static const struct {
    double texts, length;
} shapes[SHAPES] = { { 0.5, 0.25 }, { 2, 0.25 }, { 1, 0.4 }, { 1, 0.6 }, { 0.5, 0.85 }, { 1, 0.85 } };

struct bench {
    struct run run;
    int shape; /* shape of the members below; none is open while `corpus` is NULL */
    struct token_corpus *corpus;
    struct batch_schedule *schedule;
    struct sequence_loader *loader;
    struct sequence_trainer trainer;
    const struct sequence_batch *batch;
};

static int scaled(double factor, int whole)
{
    int part = (int)(factor * whole);
    return part > 0 ? part : 1;
}

/* Return the run of one shape, with one rank and one step. */
static struct run run_of_shape(const struct run *run, int i)
{
    struct run alone = *run;
    alone.ranks = 1;
    alone.steps = 1;
    alone.batch_size = scaled(shapes[i].texts, run->batch_size);
    alone.texts.fixed_length = scaled(shapes[i].length, run->texts.max_length);
    return alone;
}

static struct token_recipe recipe_of(const struct run *alone)
{
    struct token_recipe recipe = sequence_recipe(alone, true);
    recipe.max_tokens = 1; /* no more sequences than the batches need */
    return recipe;
}

static void open_shape(struct bench *bench, int i)
{
    struct run alone = run_of_shape(&bench->run, i);
    struct token_recipe recipe = recipe_of(&alone);
    bench->corpus = token_corpus_open(&recipe);
    bench->schedule = batch_schedule_open(&recipe, bench->corpus, batching_policies[TOKENS_SAMPLE]);
    struct token_most most = batch_schedule_most(bench->schedule);
    bench->loader = sequence_loader_open(bench->corpus, alone.texts.vocab_size, alone.seed, most);
    sequence_loader_restart(bench->loader, (struct reading){ .schedule = bench->schedule });
    bench->trainer = sequence_trainer_open(&alone, most);
}

static void *open_bench(const struct run *run)
{
    struct bench *bench = memory_new(1, sizeof *bench);
    bench->run = *run;
    return bench;
}

static struct memory_estimate need_of_bench(const struct run *run, int shapes_chosen)
{
    struct transformer_shape transformer = sequence_shape(run);
    struct memory_estimate all = { 0 };
    for (int i = 0; i < shapes_chosen; i++) {
        struct run alone = run_of_shape(run, i);
        struct token_recipe recipe = recipe_of(&alone);
        double rows = (double)alone.batch_size * alone.texts.fixed_length;
        all =
            memory_estimate_most(all, memory_estimate_add(sequence_reading_memory(&recipe, rows, alone.batch_size),
                                                          sequence_trainer_memory(&transformer, rows, alone.batch_size,
                                                                                  alone.texts.fixed_length)));
    }
    return all;
}

static void close_shape(struct bench *bench)
{
    if (!bench->corpus)
        return;
    sequence_trainer_close(&bench->trainer);
    sequence_loader_close(bench->loader);
    batch_schedule_close(bench->schedule);
    token_corpus_close(bench->corpus);
    bench->corpus = NULL;
}

static void close_bench(void *argument)
{
    close_shape(argument);
    free(argument);
}

/* Keep one shape open at a time: six models of a rank would need more memory than it trains with. */
static struct work shape(void *argument, int shape)
{
    struct bench *bench = argument;
    if (bench->corpus && bench->shape != shape)
        close_shape(bench);
    bench->shape = shape;
    if (!bench->corpus)
        open_shape(bench, shape);
    return token_work(batch_schedule_batch(bench->schedule, 0, 0));
}

static void fetch(void *argument)
{
    struct bench *bench = argument;
    bench->batch = sequence_loader_next(bench->loader);
}

static void pass(void *argument)
{
    struct bench *bench = argument;
    transformer_forward(bench->trainer.model, bench->batch);
    transformer_backward(bench->trainer.model, bench->batch);
}

static void update(void *argument)
{
    struct bench *bench = argument;
    struct sequence_trainer *t = &bench->trainer;
    adamw_update(t->optimizer, transformer_parameters(t->model), transformer_gradients(t->model));
}

static void spare(void *argument)
{
    struct bench *bench = argument;
    adamw_end(bench->trainer.optimizer);
}

static double loss(void *argument)
{
    struct bench *bench = argument;
    return transformer_loss(bench->trainer.model);
}

static struct workload_parts parts(void *argument)
{
    struct bench *bench = argument;
    const struct sequence_trainer *t = &bench->trainer;
    return (struct workload_parts){ .parameters = transformer_parameters(t->model),
                                    .gradients = transformer_gradients(t->model),
                                    .count = t->count,
                                    .optimizer = t->optimizer,
                                    .weights = transformer_weights(t->model),
                                    .loss = loss };
}

static char *name(const struct run *run)
{
    return memory_text("transformer %d x %d, %d heads, %d classes, texts to %d", run->texts.vocab_size, run->hidden_dim,
                       run->texts.num_heads, run->num_classes, run->texts.max_length);
}

static double gradient_bytes(const struct run *run)
{
    struct transformer_shape shape = sequence_shape(run);
    return transformer_gradient_bytes(&shape);
}

static struct work usual(const struct run *run)
{
    double tokens = (double)run->batch_size * run->texts.fixed_length;
    return (struct work){ .samples = run->batch_size,
                          .padded_tokens = tokens,
                          .padded_token_length = tokens * run->texts.fixed_length };
}

static double flops(const struct run *run, struct work work)
{
    struct transformer_shape shape = sequence_shape(run);
    return transformer_flops(&shape, work);
}

static void refuse(const struct run *run)
{
    const struct run_texts *texts = &run->texts;
    struct token_recipe recipe = sequence_recipe(run, false);
    if (texts->min_length > texts->max_length)
        die(STATUS_USAGE, "--min-seq-len %d is more than --max-seq-len %d; lower the one or raise the other",
            texts->min_length, texts->max_length);
    if (run->hidden_dim % texts->num_heads != 0)
        die(STATUS_USAGE, "--hidden-dim %d cannot be divided among --num-heads %d; choose a multiple", run->hidden_dim,
            texts->num_heads);
    if (run->hidden_dim / texts->num_heads > DEVICE_LANES)
        die(STATUS_USAGE, "--hidden-dim %d in --num-heads %d is more than %d a head; use more heads", run->hidden_dim,
            texts->num_heads, DEVICE_LANES);
    if (!token_recipe_works(&recipe))
        die(STATUS_USAGE, "--steps %d, --batch-size %d and %d ranks make too many texts to keep; use fewer steps",
            run->steps, run->batch_size, run->ranks);
}

#define AT(member) offsetof(struct run, member)
static const struct option_row rows[] = {
    { "--hidden-dim", OPTION_INTEGER, AT(hidden_dim), 1, 1024, "N", "width of the transformer" },
    { "--num-heads", OPTION_INTEGER, AT(texts.num_heads), 1, 64, "N", "attention heads" },
    { "--vocab-size", OPTION_INTEGER, AT(texts.vocab_size), 2, 1 << 20, "N", "size of the vocabulary" },
    { "--num-classes", OPTION_INTEGER, AT(num_classes), 2, 65536, "N", "classes of the labels" },
    { "--min-seq-len", OPTION_INTEGER, AT(texts.min_length), 1, 65536, "N", "tokens of the shortest text" },
    { "--max-seq-len", OPTION_INTEGER, AT(texts.max_length), 1, 65536, "N", "tokens of the longest text" },
    { "--fixed-seq-len", OPTION_INTEGER, AT(texts.fixed_length), 1, 65536, "N",
      "tokens of each text where all are equal" },
    { "--outlier-prob", OPTION_NUMBER, AT(texts.outlier_prob), 0, 1, "P", "share of texts that have the most tokens" },
    { "--max-tokens-per-batch", OPTION_INTEGER, AT(texts.max_tokens), 1, 1 << 24, "N", "token budget of a batch" },
    { 0 },
};
#undef AT

const struct workload workload_transformer = {
    .model = WORK_TRANSFORMER,
    .rows = rows,
    .name = name,
    .gradient_bytes = gradient_bytes,
    .usual = usual,
    .flops = flops,
    .refuse = refuse,
    .shapes = SHAPES,
    .terms = 1u << COST_FIXED | 1u << COST_PER_PADDED_TOKEN | 1u << COST_PER_PADDED_TOKEN_LENGTH,
    .open = open_bench,
    .need = need_of_bench,
    .close = close_bench,
    .shape = shape,
    .fetch = fetch,
    .pass = pass,
    .update = update,
    .spare = spare,
    .parts = parts,
};
