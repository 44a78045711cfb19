#include "model/trainer.h"

#include "base/memory.h"
#include "device/device.h"

#include <stdlib.h>

struct trainer *trainer_open_for(const struct workload *workload, const struct run *run, struct batch_most most)
{
    struct trainer *t = memory_new(1, sizeof *t);
    t->most = most;
    t->model = model_open(workload, run->seed, most);
    t->count = t->model->count;
    t->parameters = t->model->parameters;
    t->gradients = t->model->gradients;
    t->optimizer = adamw_open(workload_costs(workload), t->count, workload_learning_rate(workload));
    return t;
}

struct memory_estimate trainer_memory_for(const struct workload *workload, struct batch_most most)
{
    struct memory_estimate memory = model_memory(workload, most);
    memory.of[MEMORY_MOMENTS] = 2 * workload_gradient_bytes(workload);
    return memory;
}

struct trainer *trainer_open(const struct workload *workload, const struct run *run, int most_samples)
{
    struct loader *loader = loader_open(workload, run, most_samples);
    struct trainer *t = trainer_open_for(workload, run, loader_most(workload, most_samples));
    t->loader = loader;
    return t;
}

struct memory_estimate trainer_memory(const struct workload *workload, const struct run *run, int most_samples)
{
    return memory_estimate_add(loader_memory(workload, run, most_samples),
                               trainer_memory_for(workload, loader_most(workload, most_samples)));
}

void trainer_close(struct trainer *t)
{
    adamw_close(t->optimizer);
    model_close(t->model);
    if (t->loader)
        loader_close(t->loader);
    free(t);
}

void trainer_restart(struct trainer *t, struct share share, int ahead, float scale)
{
    model_restart(t->model);
    adamw_restart(t->optimizer);
    if (t->loader)
        loader_restart(t->loader, share, ahead, scale);
}

void trainer_settle(struct trainer *t)
{
    if (t->loader)
        loader_settle(t->loader);
}

void trainer_average_own_samples(struct trainer *t)
{
    loader_average_own_samples(t->loader);
}

const struct batch *trainer_next(struct trainer *t, struct stall stall)
{
    return loader_next(t->loader, stall);
}

void trainer_forward(struct trainer *t, const struct batch *batch)
{
    model_forward(t->model, batch);
}

void trainer_backward(struct trainer *t, const struct batch *batch)
{
    model_backward(t->model, batch);
}

void trainer_update(struct trainer *t)
{
    trainer_update_by(t, t->gradients);
}

void trainer_update_by(struct trainer *t, const float *gradients)
{
    adamw_update(t->optimizer, t->parameters, gradients);
}

double trainer_loss(const struct trainer *t, int passes)
{
    return model_loss(t->model, passes);
}
