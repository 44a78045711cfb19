#include "model/trainer.h"

#include "device/device.h"

struct trainer trainer_open(const struct run *run, int most_samples)
{
    struct trainer t = { .loader = loader_open(run, most_samples), .model = mlp_open(run, most_samples) };
    t.count = mlp_parameter_count(t.model);
    t.parameters = mlp_parameters(t.model);
    t.gradients = mlp_gradients(t.model);
    t.optimizer = adamw_open(WORK_MLP, t.count, 1e-3);
    return t;
}

struct memory_estimate trainer_memory(const struct run *run, int most_samples)
{
    struct memory_estimate memory =
        memory_estimate_add(loader_memory(run, most_samples), mlp_memory(run, most_samples));
    memory.of[MEMORY_MODEL] += 2 * mlp_gradient_bytes(run); /* two moments */
    return memory;
}

void trainer_close(struct trainer *t)
{
    adamw_close(t->optimizer);
    mlp_close(t->model);
    loader_close(t->loader);
}

void trainer_restart(struct trainer *t, struct share share, int ahead, float scale)
{
    mlp_restart(t->model);
    adamw_restart(t->optimizer);
    loader_restart(t->loader, share, ahead, scale);
}

void trainer_restart_even(struct trainer *t, const struct run *run, int rank)
{
    trainer_restart(t, share_even(run, rank), 0, 1.0f / (float)run_global_batch(run));
}

const struct batch *trainer_next(struct trainer *t, struct stall stall)
{
    return loader_next(t->loader, stall);
}

void trainer_forward(struct trainer *t, const struct batch *batch)
{
    mlp_forward(t->model, batch);
}

void trainer_backward(struct trainer *t, const struct batch *batch)
{
    for (int layer = MLP_LAYERS; layer-- > 0;)
        mlp_backward(t->model, batch, layer);
}

void trainer_update(struct trainer *t)
{
    adamw_update(t->optimizer, t->parameters, t->gradients);
}

double trainer_loss(const struct trainer *t, int passes)
{
    return mlp_loss(t->model, passes);
}
