#include "model/mlp.h"

#include "base/memory.h"
#include "device/device.h"
#include "model/losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mlp {
    int width[MLP_LAYERS + 1];         /* D(0) … D(3) */
    size_t offset[MLP_LAYERS + 1];     /* offset of layer l in the parameters; the last is their number */
    double backward_share[MLP_LAYERS]; /* share of layer l in the whole backward */
    uint64_t seed;
    float *parameters, *gradients;
    float *output[MLP_LAYERS];    /* (B, D(l+1)): activations; in the last layer, the gradient of the logits */
    float *slope[MLP_LAYERS - 1]; /* (B, D(l+1)): gelu' */
    float *back[MLP_LAYERS - 1];  /* (B, D(l+1)): gradient of layer l's output */
    struct losses losses;
};

static void list_widths(const struct run *run, int width[MLP_LAYERS + 1])
{
    const int list[] = { run->input_dim, run->hidden_dim, run->hidden_dim, run->num_classes };
    memcpy(width, list, sizeof list);
}

static float *matrix_of(float *array, const struct mlp *model, int layer)
{
    return array + model->offset[layer];
}

static float *bias_of(float *array, const struct mlp *model, int layer)
{
    return array + model->offset[layer] + (size_t)model->width[layer] * (size_t)model->width[layer + 1];
}

struct mlp *mlp_open(const struct run *run, int most_samples)
{
    struct mlp *model = memory_new(1, sizeof *model);
    const int *width = model->width;
    double backward = 0;
    list_widths(run, model->width);
    for (int layer = 0; layer < MLP_LAYERS; layer++) {
        model->offset[layer + 1] = mlp_layer_offset(run, layer + 1);
        backward += mlp_backward_share(run, layer);
    }
    for (int layer = 0; layer < MLP_LAYERS; layer++)
        model->backward_share[layer] = mlp_backward_share(run, layer) / backward;
    size_t count = mlp_parameter_count(model);
    model->parameters = device_new(count, sizeof(float));
    model->gradients = device_new(count, sizeof(float));
    for (int layer = 0; layer < MLP_LAYERS; layer++) {
        size_t cells = (size_t)most_samples * (size_t)width[layer + 1];
        model->output[layer] = device_new(cells, sizeof(float));
        if (layer < MLP_LAYERS - 1) {
            model->slope[layer] = device_new(cells, sizeof(float));
            model->back[layer] = device_new(cells, sizeof(float));
        }
    }
    losses_open(&model->losses);
    model->seed = run->seed;
    mlp_restart(model);
    return model;
}

struct memory_estimate mlp_memory(const struct run *run, int most_samples)
{
    int width[MLP_LAYERS + 1];
    double cells = 0; /* per sample: outputs; slope and back of all but the last layer */
    list_widths(run, width);
    for (int layer = 0; layer < MLP_LAYERS; layer++)
        cells += (layer < MLP_LAYERS - 1 ? 3.0 : 1.0) * width[layer + 1];
    return (struct memory_estimate){ .of = { [MEMORY_MODEL] = 2 * mlp_gradient_bytes(run), /* parameters, gradients */
                                             [MEMORY_ACTIVATIONS] = cells * most_samples * sizeof(float) } };
}

void mlp_close(struct mlp *model)
{
    for (int layer = 0; layer < MLP_LAYERS; layer++)
        device_free(model->output[layer]);
    for (int layer = 0; layer < MLP_LAYERS - 1; layer++) {
        device_free(model->slope[layer]);
        device_free(model->back[layer]);
    }
    losses_close(&model->losses);
    device_free(model->parameters);
    device_free(model->gradients);
    free(model);
}

struct weights mlp_weights(const struct mlp *model)
{
    struct weights weights = weights_of(model->seed);
    for (int layer = 0; layer < MLP_LAYERS; layer++)
        weights_add(&weights, (struct weights_part){ .kind = WEIGHTS_UNIFORM,
                                                     .count = model->offset[layer + 1] - model->offset[layer],
                                                     .value = 1.0 / sqrt(model->width[layer]) });
    return weights;
}

void mlp_restart(struct mlp *model)
{
    const struct weights weights = mlp_weights(model);
    weights_put(&weights, model->parameters);
    device_fill(model->gradients, NAN, mlp_parameter_count(model));
    losses_restart(&model->losses);
}

void mlp_forward(struct mlp *model, const struct batch *batch)
{
    int B = batch->samples;
    const float *input = batch->features;
    device_charge(WORK_MLP, WORK_FORWARD, work_samples(B), 1);
    for (int layer = 0; layer < MLP_LAYERS; layer++) {
        float *output = model->output[layer];
        int K = model->width[layer], N = model->width[layer + 1];
        device_multiply(output, input, matrix_of(model->parameters, model, layer), B, N, K);
        if (layer < MLP_LAYERS - 1)
            device_gelu(output, model->slope[layer], bias_of(model->parameters, model, layer), B, N);
        input = output;
    }
    int last = MLP_LAYERS - 1;
    device_cross_entropy(losses_next(&model->losses, B), model->output[last], bias_of(model->parameters, model, last),
                         batch->labels, B, model->width[last + 1], batch->scale);
}

double mlp_loss(const struct mlp *model, int passes)
{
    return losses_mean(&model->losses, passes);
}

void mlp_backward(struct mlp *model, const struct batch *batch, int layer)
{
    int B = batch->samples, K = model->width[layer], N = model->width[layer + 1];
    bool is_last = layer == MLP_LAYERS - 1;
    const float *input = layer > 0 ? model->output[layer - 1] : batch->features;
    float *back = is_last ? model->output[layer] : model->back[layer];
    float *bias_gradient = bias_of(model->gradients, model, layer);
    device_charge(WORK_MLP, WORK_BACKWARD, work_samples(B), model->backward_share[layer]);
    if (is_last)
        device_column_sums(bias_gradient, back, B, N);
    else
        device_gelu_back(back, model->slope[layer], bias_gradient, B, N);
    device_multiply_outer(matrix_of(model->gradients, model, layer), input, back, B, N, K);
    if (layer > 0)
        device_multiply_back(model->back[layer - 1], back, matrix_of(model->parameters, model, layer), B, N, K);
}

size_t mlp_parameter_count(const struct mlp *model)
{
    return model->offset[MLP_LAYERS];
}

float *mlp_parameters(struct mlp *model)
{
    return model->parameters;
}

float *mlp_gradients(struct mlp *model)
{
    return model->gradients;
}

size_t mlp_layer_offset(const struct run *run, int layer)
{
    int width[MLP_LAYERS + 1];
    size_t offset = 0;
    list_widths(run, width);
    for (int i = 0; i < layer; i++)
        offset += ((size_t)width[i] + 1) * (size_t)width[i + 1];
    return offset;
}

double mlp_gradient_bytes(const struct run *run)
{
    return (double)(mlp_layer_offset(run, MLP_LAYERS) * sizeof(float));
}

/* Multiply-adds per sample in a pass's matrix products: forward, the weights' gradients and, above the first layer, the
 * inputs' gradients. `of_layer` selects the backward of one layer; -1 selects all. */
static double products(const struct run *run, int of_layer)
{
    int width[MLP_LAYERS + 1];
    double sum = 0;
    list_widths(run, width);
    for (int i = 0; i < MLP_LAYERS; i++) {
        double forward = (double)width[i] * width[i + 1], backward = (i > 0 ? 2 : 1) * forward;
        sum += of_layer < 0 ? forward + backward : of_layer == i ? backward : 0;
    }
    return sum;
}

double mlp_backward_share(const struct run *run, int layer)
{
    return products(run, layer) / products(run, -1);
}

double mlp_flops(const struct run *run, int samples)
{
    return 2.0 * samples * products(run, -1);
}
