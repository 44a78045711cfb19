#include "model/sequence_recipe.h"

struct token_recipe sequence_recipe(const struct transformer_settings *settings, const struct run *run, bool is_fixed)
{
    const struct text_settings *texts = &settings->texts;
    return (struct token_recipe){ .seed = run->seed,
                                  .steps = run->steps,
                                  .batch_size = run->batch_size,
                                  .ranks = run->ranks,
                                  .max_tokens = texts->max_tokens,
                                  .num_classes = settings->num_classes,
                                  .min_length = texts->min_length,
                                  .max_length = texts->max_length,
                                  .outlier_prob = texts->outlier_prob,
                                  .is_fixed = is_fixed,
                                  .fixed_length = texts->fixed_length };
}
