/* tiny_models.h: models whose counts no number of ranks divides, with more layers than one, and with layers smaller than the ranks are
 * many; and a run of them. */
#ifndef LOCKSTEP_TINY_MODELS_H
#define LOCKSTEP_TINY_MODELS_H

#include "model/workload.h"
#include "options/run.h"

static inline struct workload mlp_of(int layers)
{
    return (struct workload){ .type = &mlp_type, .of.mlp = { 7, 9, 5, layers } };
}

static inline struct workload tiny_transformer(void)
{
    struct workload workload = published_transformer;
    struct transformer_settings *of = &workload.of.transformer;
    of->vocab_size = 23;
    of->hidden_dim = 6;
    of->num_heads = 2;
    of->num_classes = 3;
    of->num_blocks = 2;
    of->texts.fixed_length = of->texts.max_length = 5;
    return workload;
}

static inline struct run tiny_run(int ranks, int batch_size)
{
    struct run run = run_published;
    run.ranks = ranks;
    run.batch_size = batch_size;
    return run;
}

#endif
