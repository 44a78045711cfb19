#include "model/workload.h"

#include "base/memory.h"
#include "model/trainer.h"

#include <stdlib.h>

/* Samples of a shape: half, one and a half and three times the run's batch. */
enum { SHAPES = 3 };
static int samples_of(int batch_size, int shape)
{
    static const double times[SHAPES] = { 0.5, 1.5, 3 };
    int samples = (int)(times[shape] * batch_size);
    return samples > shape ? samples : shape + 1;
}

struct bench {
    int batch_size;
    struct trainer trainer;
    const struct batch *batch;
};

/* Return a run of one rank, whose data set holds the largest batch. */
static struct run widen(const struct run *run)
{
    struct run wide = *run;
    wide.batch_size = samples_of(run->batch_size, SHAPES - 1);
    wide.ranks = 1;
    wide.steps = 1;
    return wide;
}

static void *open_bench(const struct run *run)
{
    struct bench *bench = memory_new(1, sizeof *bench);
    struct run wide = widen(run);
    bench->batch_size = run->batch_size;
    bench->trainer = trainer_open(&wide, wide.batch_size);
    return bench;
}

static struct memory_estimate need_of_bench(const struct run *run, int shapes)
{
    (void)shapes; /* one trainer serves all shapes */
    struct run wide = widen(run);
    return trainer_memory(&wide, wide.batch_size);
}

static void close_bench(void *argument)
{
    struct bench *bench = argument;
    trainer_close(&bench->trainer);
    free(bench);
}

static struct work shape(void *argument, int shape)
{
    struct bench *bench = argument;
    int samples = samples_of(bench->batch_size, shape);
    struct share all = { .global_batch = samples, .samples = samples };
    loader_restart(bench->trainer.loader, all, 0, 1.0f / (float)samples);
    return work_samples(samples);
}

static void fetch(void *argument)
{
    struct bench *bench = argument;
    bench->batch = loader_next(bench->trainer.loader, (struct stall){ .kind = STALL_NONE });
}

static void pass(void *argument)
{
    struct bench *bench = argument;
    mlp_forward(bench->trainer.model, bench->batch);
    for (int layer = MLP_LAYERS; layer-- > 0;)
        mlp_backward(bench->trainer.model, bench->batch, layer);
}

static void update(void *argument)
{
    struct bench *bench = argument;
    adamw_update(bench->trainer.optimizer, mlp_parameters(bench->trainer.model), mlp_gradients(bench->trainer.model));
}

static void spare(void *argument)
{
    struct bench *bench = argument;
    adamw_end(bench->trainer.optimizer);
}

static double loss(void *argument)
{
    struct bench *bench = argument;
    return mlp_loss(bench->trainer.model, 1);
}

static struct workload_parts parts(void *argument)
{
    const struct trainer *t = &((struct bench *)argument)->trainer;
    return (struct workload_parts){ .parameters = mlp_parameters(t->model),
                                    .gradients = mlp_gradients(t->model),
                                    .count = t->count,
                                    .optimizer = t->optimizer,
                                    .weights = mlp_weights(t->model),
                                    .loss = loss };
}

static char *name(const struct run *run)
{
    return memory_text("mlp %d-%d-%d-%d", run->input_dim, run->hidden_dim, run->hidden_dim, run->num_classes);
}

static struct work usual(const struct run *run)
{
    return work_samples(run->batch_size);
}

static double flops(const struct run *run, struct work work)
{
    return mlp_flops(run, (int)work.samples);
}

#define AT(member) offsetof(struct run, member)
static const struct option_row rows[] = {
    { "--input-dim", OPTION_INTEGER, AT(input_dim), 1, 65536, "N", "features of a sample" },
    { "--hidden-dim", OPTION_INTEGER, AT(hidden_dim), 1, 65536, "N", "width of the two hidden layers" },
    { "--num-classes", OPTION_INTEGER, AT(num_classes), 2, 65536, "N", "classes of the labels" },
    { 0 },
};
#undef AT

const struct workload workload_mlp = {
    .model = WORK_MLP,
    .rows = rows,
    .name = name,
    .gradient_bytes = mlp_gradient_bytes,
    .usual = usual,
    .flops = flops,
    .shapes = SHAPES,
    .terms = 1u << COST_FIXED | 1u << COST_PER_SAMPLE,
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
