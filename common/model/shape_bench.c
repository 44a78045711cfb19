#include "model/shape_bench.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "model/model_type.h"

#include <math.h>
#include <stdlib.h>

/* A shape: the workload and the run of its batches. Shapes whose samples have equally many words share a loader. */
struct shape {
    struct workload workload;
    struct run run;
    struct loader *loader;
};

struct shape_bench {
    int first, count;
    struct shape shape[SHAPES_MOST + 1]; /* (count) */
    struct trainer *trainer;
    bool owns_trainer;
    const struct shape *chosen;
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

/* Return a shape, with one rank and one step. */
static struct shape shape_of(const struct workload *workload, const struct run *run, int number)
{
    static const double small = 0.3;
    struct shape shape = { .workload = *workload, .run = *run };
    if (number < workload->type->shapes)
        workload->type->shape(&shape.workload.of, &shape.run, number);
    if (number > workload->type->shapes)
        shape.run.batch_size = (int)fmax(1, round(small * run->batch_size));
    shape.run.ranks = 1;
    shape.run.steps = 1;
    shape.run.accumulate = 1;
    return shape;
}

static int words_of(const struct shape *shape)
{
    return shape->workload.type->sample(&shape->workload.of).words;
}

/* Write shapes `first` … first + count - 1. Return the largest sizes of their batches. */
static struct batch_most list_shapes(const struct workload *workload, const struct run *run, int first, int count,
                                     struct shape shapes[SHAPES_MOST + 1])
{
    struct batch_most most = { 0 };
    if (workload->type->shapes > SHAPES_MOST)
        die(STATUS_WRONG, "a workload has %d batch shapes and the card takes %d; raise SHAPES_MOST",
            workload->type->shapes, SHAPES_MOST);
    for (int i = 0; i < count; i++) {
        shapes[i] = shape_of(workload, run, first + i);
        most = batch_most_of(most, loader_most(&shapes[i].workload, shapes[i].run.batch_size));
    }
    return most;
}

/* Return the first shape with samples of as many words as those of shape `i`: it opens their loader. */
static int opener_of(const struct shape *shapes, int i)
{
    int opener = 0;
    while (words_of(&shapes[opener]) != words_of(&shapes[i]))
        opener++;
    return opener;
}

/* Return the run of the largest batch among the shapes that share the loader of shape `i`. */
static const struct run *largest_run(const struct shape *shapes, int count, int i)
{
    const struct run *largest = &shapes[i].run;
    for (int other = 0; other < count; other++)
        if (opener_of(shapes, other) == i && shapes[other].run.batch_size > largest->batch_size)
            largest = &shapes[other].run;
    return largest;
}

static void open_loaders(struct shape *shapes, int count)
{
    for (int i = 0; i < count; i++) {
        const int opener = opener_of(shapes, i);
        const struct run *run = largest_run(shapes, count, opener);
        shapes[i].loader = opener < i ? shapes[opener].loader : loader_open(&shapes[i].workload, run, run->batch_size);
    }
}

static bool holds(const struct trainer *trainer, struct batch_most most)
{
    const struct batch_most both = batch_most_of(trainer->most, most);
    return both.samples <= trainer->most.samples && both.rows <= trainer->most.rows &&
           both.length <= trainer->most.length;
}

struct shape_bench *shape_bench_open(const struct workload *workload, const struct run *run, int first, int count,
                                     struct trainer *trainer)
{
    struct shape_bench *bench = memory_new(1, sizeof *bench);
    *bench = (struct shape_bench){ .first = first, .count = count, .owns_trainer = !trainer };
    const struct batch_most most = list_shapes(workload, run, first, count, bench->shape);
    if (trainer && !holds(trainer, most))
        die(STATUS_WRONG, "a trainer's buffers are smaller than the run's usual batch; open it for that batch too");
    open_loaders(bench->shape, count);
    bench->trainer = trainer ? trainer : trainer_open_for(workload, run, most);
    shape_bench_choose(bench, first);
    return bench;
}

void shape_bench_close(struct shape_bench *bench)
{
    for (int i = 0; i < bench->count; i++)
        if (opener_of(bench->shape, i) == i)
            loader_close(bench->shape[i].loader);
    if (bench->owns_trainer)
        trainer_close(bench->trainer);
    free(bench);
}

struct memory_estimate shape_bench_data_memory(const struct workload *workload, const struct run *run, int first,
                                               int count)
{
    struct shape shapes[SHAPES_MOST + 1];
    struct memory_estimate memory = { 0 };
    list_shapes(workload, run, first, count, shapes);
    for (int i = 0; i < count; i++) {
        const struct run *largest = largest_run(shapes, count, i);
        if (opener_of(shapes, i) == i)
            memory = memory_estimate_add(memory, loader_memory(&shapes[i].workload, largest, largest->batch_size));
    }
    return memory;
}

struct memory_estimate shape_bench_memory(const struct workload *workload, const struct run *run, int first, int count)
{
    struct shape shapes[SHAPES_MOST + 1];
    const struct batch_most most = list_shapes(workload, run, first, count, shapes);
    return memory_estimate_add(shape_bench_data_memory(workload, run, first, count),
                               trainer_memory_for(workload, most));
}

struct work shape_bench_choose(struct shape_bench *bench, int shape)
{
    const struct shape *s = bench->chosen = &bench->shape[shape - bench->first];
    loader_restart(s->loader, share_even(&s->run, 0), 0, 1.0f / (float)s->run.batch_size);
    return workload_usual(&s->workload, &s->run);
}

void shape_bench_fetch(struct shape_bench *bench)
{
    bench->batch = loader_next(bench->chosen->loader, NO_STALL);
}

/* Run a pass with these hooks instead of the trainer's. */
static void run_pass(struct shape_bench *bench, void (*pass)(struct trainer *trainer, const struct batch *batch),
                     struct model_hooks own)
{
    struct model *model = bench->trainer->model;
    const struct model_hooks hooks = model->hooks;
    model_hook(model, own);
    pass(bench->trainer, bench->batch);
    model_hook(model, hooks);
}

void shape_bench_forward(struct shape_bench *bench)
{
    run_pass(bench, trainer_forward, (struct model_hooks){ 0 });
}

void shape_bench_backward(struct shape_bench *bench)
{
    shape_bench_hooked_backward(bench, (struct model_hooks){ 0 });
}

void shape_bench_hooked_backward(struct shape_bench *bench, struct model_hooks hooks)
{
    run_pass(bench, trainer_backward, hooks);
}

void shape_bench_passes(struct shape_bench *bench)
{
    shape_bench_forward(bench);
    shape_bench_backward(bench);
}

void shape_bench_update(struct shape_bench *bench)
{
    trainer_update(bench->trainer);
}

void shape_bench_step(struct shape_bench *bench)
{
    shape_bench_fetch(bench);
    shape_bench_passes(bench);
    shape_bench_update(bench);
    device_wait();
}

void shape_bench_between_sums(struct shape_bench *bench)
{
    shape_bench_update(bench);
    device_wait(); /* loader_next() */
    shape_bench_fetch(bench);
    shape_bench_passes(bench);
}

struct trainer *shape_bench_trainer(const struct shape_bench *bench)
{
    return bench->trainer;
}
