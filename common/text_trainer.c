#include "text_trainer.h"

#include "device.h"

struct token_recipe text_recipe(const struct run *run, bool is_fixed)
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

struct transformer_shape text_shape(const struct run *run)
{
    return (struct transformer_shape){ .vocab = run->texts.vocab_size,
                                       .width = run->hidden_dim,
                                       .heads = run->texts.num_heads,
                                       .classes = run->num_classes,
                                       .seed = run->seed };
}

struct text_trainer text_trainer_open(const struct run *run, const struct token_corpus *corpus, struct token_most most)
{
    struct text_trainer t = { .loader = text_loader_open(corpus, run->texts.vocab_size, run->seed, most),
                              .model = transformer_open(text_shape(run), most.rows, most.texts, most.length) };
    t.count = transformer_parameter_count(t.model);
    t.optimizer = adamw_open(WORK_TRANSFORMER, t.count, 2e-3);
    t.sums = device_new(t.count, sizeof *t.sums);
    return t;
}

struct needs text_trainer_need(const struct token_recipe *recipe, const struct transformer_shape *shape, double rows,
                               double texts, int length)
{
    double all = token_recipe_texts(recipe), tokens = all * token_recipe_length(recipe);
    struct needs needs =
        needs_add(text_loader_need(all, tokens, rows, texts), transformer_need(shape, rows, texts, length));
    needs.of[NEED_MODEL] += 3 * transformer_gradient_bytes(shape); /* two moments and the sums */
    double listed = 2 * sizeof(int) + sizeof(uint32_t) + sizeof(struct token_batch) / 2.0; /* … of two texts or more */
    needs.of[NEED_DATA] += all * listed;
    return needs;
}

void text_trainer_close(struct text_trainer *t)
{
    device_free(t->sums);
    adamw_close(t->optimizer);
    transformer_close(t->model);
    text_loader_close(t->loader);
}

void text_trainer_restart(struct text_trainer *t, struct reading reading)
{
    transformer_restart(t->model);
    adamw_restart(t->optimizer);
    text_loader_restart(t->loader, reading);
}
