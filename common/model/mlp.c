#include "model/mlp.h"

#include "base/memory.h"
#include "device/device.h"
#include "model/model_type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Activations. In backward, the gradient of a layer's output is in `back` of the layer's parity; that of the logits is in the last
 * layer's output. */
struct activations {
    struct mlp_settings of;
    float **output; /* (L) of (B, D(l+1)): activations; in the last layer, the gradient of the logits */
    float **slope;  /* (L-1) of (B, D(l+1)): gelu' */
    float *back[2]; /* (B, hidden) */
};

static int layers(const union model_settings *settings)
{
    return settings->mlp.num_layers;
}

static int width(const struct mlp_settings *of, int layer) /* D(layer) */
{
    return layer == 0 ? of->input_dim : layer == of->num_layers ? of->num_classes : of->hidden_dim;
}

static char *name(const union model_settings *settings)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    for (int layer = 0; layer <= settings->mlp.num_layers; layer++)
        fprintf(out, "%s%d", layer > 0 ? "-" : "mlp ", width(&settings->mlp, layer));
    fclose(out);
    return text;
}

static void parameters(const union model_settings *settings, int layer, struct weights_list *list)
{
    size_t inputs = (size_t)width(&settings->mlp, layer), outputs = (size_t)width(&settings->mlp, layer + 1);
    const double most = 1.0 / sqrt((double)inputs);
    weights_add(list, (struct weights_part){ WEIGHTS_UNIFORM, inputs * outputs, most, .rows = inputs });
    weights_add(list, (struct weights_part){ WEIGHTS_UNIFORM, outputs, most, .rows = 0 }); /* bias */
}

/* Forward has one product, backward two: the gradients of the weights and, above the first layer, of the input. */
static double flops(const union model_settings *settings, struct work work, int layer, enum work_pass pass)
{
    double products = pass == WORK_FORWARD || layer == 0 ? 1 : 2;
    return 2 * work.samples * products * width(&settings->mlp, layer) * width(&settings->mlp, layer + 1);
}

static struct sample_words sample(const union model_settings *settings)
{
    return (struct sample_words){ .words = settings->mlp.input_dim, .classes = settings->mlp.num_classes };
}

/* Less than a third to three times the run's batch. A line that began at half of it predicted the passes of a quarter up to 10 % too short:
 * half of their time is the fixed part. */
enum { SHAPES = 4 };
static void shape(union model_settings *settings, struct run *run, int shape)
{
    (void)settings;
    static const double times[SHAPES] = { 0.3, 0.6, 1.5, 3 };
    int samples = (int)(times[shape] * run->batch_size);
    run->batch_size = samples > shape ? samples : shape + 1;
}

static float *rows_of(struct batch_most most, int width)
{
    return device_new(MEMORY_ACTIVATIONS, (size_t)most.samples * (size_t)width, sizeof(float));
}

static void *open_activations(const union model_settings *settings, struct batch_most most)
{
    struct activations *a = memory_new(1, sizeof *a);
    const int last = settings->mlp.num_layers - 1;
    a->of = settings->mlp;
    a->output = memory_new((size_t)last + 1, sizeof *a->output);
    a->slope = memory_new((size_t)last + 1, sizeof *a->slope);
    for (int layer = 0; layer <= last; layer++) {
        ledger_layer(layer);
        a->output[layer] = rows_of(most, width(&a->of, layer + 1));
        if (layer < last)
            a->slope[layer] = rows_of(most, width(&a->of, layer + 1));
    }
    ledger_layer(-1);
    for (int i = 0; i < 2 && i < last; i++)
        a->back[i] = rows_of(most, a->of.hidden_dim);
    return a;
}

static struct memory_estimate memory(const union model_settings *settings, struct batch_most most)
{
    const struct mlp_settings *of = &settings->mlp;
    const int hidden = of->num_layers - 1, backs = hidden < 2 ? hidden : 2;
    double cells =
        (2.0 * hidden + backs) * of->hidden_dim + of->num_classes; /* per sample: outputs and slopes, `back` */
    return (struct memory_estimate){ .of = { [MEMORY_ACTIVATIONS] = cells * most.samples * sizeof(float) } };
}

static void close_activations(void *state)
{
    struct activations *a = state;
    for (int layer = 0; layer < a->of.num_layers; layer++) {
        device_free(a->output[layer]);
        device_free(a->slope[layer]);
    }
    device_free(a->back[0]);
    device_free(a->back[1]);
    free(a->output);
    free(a->slope);
    free(a);
}

/* Return the bias within a layer's parameters or gradients, behind its weights (K, N). */
static float *bias_in(float *array, int K, int N)
{
    return array + (size_t)K * (size_t)N;
}

static void forward(struct model *model, const struct batch *batch, int layer)
{
    const struct activations *a = model->state;
    float *p = model->layer[layer].parameters, *output = a->output[layer];
    const float *input = layer > 0 ? a->output[layer - 1] : batch->features;
    int B = batch->samples, K = width(&a->of, layer), N = width(&a->of, layer + 1);
    device_multiply(output, input, p, B, N, K);
    if (layer < a->of.num_layers - 1)
        device_gelu(output, a->slope[layer], bias_in(p, K, N), B, N);
    else
        device_cross_entropy(losses_next(&model->losses, B), output, bias_in(p, K, N), batch->labels, B, N,
                             batch->scale);
}

static void backward(struct model *model, const struct batch *batch, int layer)
{
    const struct activations *a = model->state;
    float *p = model->layer[layer].parameters, *g = model->layer[layer].gradients;
    const float *input = layer > 0 ? a->output[layer - 1] : batch->features;
    int B = batch->samples, K = width(&a->of, layer), N = width(&a->of, layer + 1);
    bool is_last = layer == a->of.num_layers - 1;
    float *back = is_last ? a->output[layer] : a->back[layer % 2];
    if (is_last)
        device_column_sums(bias_in(g, K, N), back, B, N);
    else
        device_gelu_back(back, a->slope[layer], bias_in(g, K, N), B, N);
    device_multiply_outer(g, input, back, B, N, K);
    if (layer > 0)
        device_multiply_back(a->back[(layer - 1) % 2], back, p, B, N, K);
}

#define AT(member) offsetof(struct workload, of.mlp.member)
static const struct option_row rows[] = {
    { "--input-dim", OPTION_INTEGER, AT(input_dim), 1, 65536, "N", "features of a sample" },
    { "--hidden-dim", OPTION_INTEGER, AT(hidden_dim), 1, 65536, "N", "width of the hidden layers" },
    { "--num-classes", OPTION_INTEGER, AT(num_classes), 2, 65536, "N", "classes of the labels" },
    { "--num-layers", OPTION_INTEGER, AT(num_layers), 1, 256, "L", "linear layers" },
    { 0 },
};
#undef AT

const struct model_type mlp_type = {
    .costs = WORK_MLP,
    .charges_layers = true,
    .learning_rate = 1e-3,
    .rows = rows,
    .name = name,
    .layers = layers,
    .parameters = parameters,
    .flops = flops,
    .sample = sample,
    .shapes = SHAPES,
    .terms = 1u << COST_FIXED | 1u << COST_PER_SAMPLE,
    .shape = shape,
    .open = open_activations,
    .close = close_activations,
    .memory = memory,
    .forward = forward,
    .backward = backward,
};
