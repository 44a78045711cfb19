#include "model/sequence_trainer.h"

#include "device/device.h"

struct token_recipe sequence_recipe(const struct run *run, bool is_fixed)
{
    const struct run_texts *texts = &run->texts;
    return (struct token_recipe){ .seed = run->seed,
                                  .steps = run->steps,
                                  .batch_size = run->batch_size,
                                  .ranks = run->ranks,
                                  .max_tokens = texts->max_tokens,
                                  .num_classes = run->num_classes,
                                  .min_length = texts->min_length,
                                  .max_length = texts->max_length,
                                  .outlier_prob = texts->outlier_prob,
                                  .is_fixed = is_fixed,
                                  .fixed_length = texts->fixed_length };
}

struct transformer_shape sequence_shape(const struct run *run)
{
    return (struct transformer_shape){ .vocab = run->texts.vocab_size,
                                       .width = run->hidden_dim,
                                       .heads = run->texts.num_heads,
                                       .classes = run->num_classes,
                                       .seed = run->seed };
}

struct sequence_trainer sequence_trainer_open(const struct run *run, struct token_most most)
{
    struct sequence_trainer t = { .model = transformer_open(sequence_shape(run), most.rows, most.texts, most.length) };
    t.count = transformer_parameter_count(t.model);
    t.optimizer = adamw_open(WORK_TRANSFORMER, t.count, 2e-3);
    return t;
}

struct memory_estimate sequence_trainer_memory(const struct transformer_shape *shape, double rows, double texts,
                                               int length)
{
    struct memory_estimate memory = transformer_memory(shape, rows, texts, length);
    memory.of[MEMORY_MODEL] += 2 * transformer_gradient_bytes(shape); /* two moments */
    return memory;
}

struct memory_estimate sequence_reading_memory(const struct token_recipe *recipe, double rows, double texts)
{
    double all = token_recipe_texts(recipe), tokens = all * token_recipe_length(recipe);
    struct memory_estimate memory = sequence_loader_memory(all, tokens, rows, texts);
    /* Bytes per sequence, in batches of two sequences or more. */
    double listed = 2 * sizeof(int) + sizeof(uint32_t) + sizeof(struct token_batch) / 2.0;
    memory.of[MEMORY_DATA] += all * listed;
    return memory;
}

void sequence_trainer_close(struct sequence_trainer *t)
{
    adamw_close(t->optimizer);
    transformer_close(t->model);
}

void sequence_trainer_restart(struct sequence_trainer *t)
{
    transformer_restart(t->model);
    adamw_restart(t->optimizer);
}
