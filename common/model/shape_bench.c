#include "model/shape_bench.h"

#include "base/memory.h"
#include "model/model_type.h"

#include <stdlib.h>

struct shape_bench {
    struct workload workload;
    struct run run;
    int shape;
    struct trainer *trainer; /* NULL: no shape is open yet */
    const struct batch *batch;
};

int shape_bench_shapes(const struct workload *workload)
{
    return workload->type->shapes;
}

unsigned shape_bench_terms(const struct workload *workload)
{
    return workload->type->terms;
}

/* Change workload and run to those of a shape, with one rank and one step. */
static void become_shape(struct workload *workload, struct run *run, int shape)
{
    workload->type->shape(&workload->of, run, shape);
    run->ranks = 1;
    run->steps = 1;
    run->accumulate = 1;
}

struct shape_bench *shape_bench_open(const struct workload *workload, const struct run *run)
{
    struct shape_bench *bench = memory_new(1, sizeof *bench);
    *bench = (struct shape_bench){ .workload = *workload, .run = *run };
    return bench;
}

static void close_shape(struct shape_bench *bench)
{
    if (bench->trainer)
        trainer_close(bench->trainer);
    bench->trainer = NULL;
}

void shape_bench_close(struct shape_bench *bench)
{
    close_shape(bench);
    free(bench);
}

struct memory_estimate shape_bench_memory(const struct workload *workload, const struct run *run, int shapes)
{
    struct memory_estimate most = { 0 };
    for (int shape = 0; shape < shapes; shape++) {
        struct workload small = *workload;
        struct run alone = *run;
        become_shape(&small, &alone, shape);
        most = memory_estimate_most(most, trainer_memory(&small, &alone, alone.batch_size));
    }
    return most;
}

struct work shape_bench_choose(struct shape_bench *bench, int shape)
{
    struct workload workload = bench->workload;
    struct run alone = bench->run;
    become_shape(&workload, &alone, shape);
    if (bench->shape != shape)
        close_shape(bench);
    bench->shape = shape;
    if (!bench->trainer)
        bench->trainer = trainer_open(&workload, &alone, alone.batch_size);
    loader_restart(bench->trainer->loader, share_even(&alone, 0), 0, 1.0f / (float)alone.batch_size);
    return workload_usual(&workload, &alone);
}

void shape_bench_fetch(struct shape_bench *bench)
{
    bench->batch = trainer_next(bench->trainer, NO_STALL);
}

void shape_bench_passes(struct shape_bench *bench)
{
    trainer_forward(bench->trainer, bench->batch);
    trainer_backward(bench->trainer, bench->batch);
}

void shape_bench_update(struct shape_bench *bench)
{
    trainer_update(bench->trainer);
}

struct trainer *shape_bench_trainer(const struct shape_bench *bench)
{
    return bench->trainer;
}
