#include "model/workload.h"

#include "device/device.h"
#include "model/model_type.h"

const struct workload published_mlp = {
    .type = &mlp_type,
    .of.mlp = { .input_dim = 1024, .hidden_dim = 1024, .num_classes = 1000, .num_layers = 3 },
};

const struct workload stacked_mlp = {
    .type = &mlp_type,
    .of.mlp = { .input_dim = 512, .hidden_dim = 512, .num_classes = 512, .num_layers = 12 },
};

const struct workload published_transformer = {
    .type = &transformer_type,
    .of.transformer = { .vocab_size = 8192,
                        .hidden_dim = 48,
                        .num_heads = 4,
                        .num_classes = 16,
                        .num_blocks = 1,
                        .texts = { .min_length = 64,
                                   .max_length = 256,
                                   .fixed_length = 128,
                                   .max_tokens = 1280,
                                   .outlier_prob = 0.08 } },
};

const struct workload stacked_transformer = {
    .type = &transformer_type,
    .of.transformer = { .vocab_size = 1024,
                        .hidden_dim = 128,
                        .num_heads = 8,
                        .num_classes = 16,
                        .num_blocks = 8,
                        .texts = { .min_length = 32,
                                   .max_length = 128,
                                   .fixed_length = 64,
                                   .max_tokens = 512,
                                   .outlier_prob = 0.08 } },
};

const struct option_row *workload_options(const struct workload *w)
{
    return w->type->rows;
}

char *workload_name(const struct workload *w)
{
    return w->type->name(&w->of);
}

void workload_refuse(const struct workload *w, const struct run *run)
{
    if (w->type->refuse)
        w->type->refuse(&w->of, run);
}

enum work_model workload_costs(const struct workload *w)
{
    return w->type->costs;
}

double workload_learning_rate(const struct workload *w)
{
    return w->type->learning_rate;
}

int workload_layers(const struct workload *w)
{
    return w->type->layers(&w->of);
}

size_t workload_layer_parameters(const struct workload *w, int layer)
{
    struct weights_list list = { 0 };
    w->type->parameters(&w->of, layer, &list);
    return weights_count(&list);
}

size_t workload_parameters(const struct workload *w)
{
    size_t count = 0;
    for (int layer = 0; layer < workload_layers(w); layer++)
        count += workload_layer_parameters(w, layer);
    return count;
}

int workload_tensors(const struct workload *w, struct model_tensor *tensors)
{
    int count = 0;
    size_t begin = 0;
    for (int layer = 0; layer < workload_layers(w); layer++) {
        struct weights_list list = { 0 };
        w->type->parameters(&w->of, layer, &list);
        for (int i = 0; i < list.parts; i++, count++) {
            const struct weights_part *part = &list.part[i];
            if (tensors)
                tensors[count] = (struct model_tensor){ begin, part->count, layer, part->rows };
            begin += part->count;
        }
    }
    return count;
}

double workload_gradient_bytes(const struct workload *w)
{
    return (double)(workload_parameters(w) * sizeof(float));
}

struct work workload_work(const struct workload *w, int samples)
{
    const struct sample_words sample = w->type->sample(&w->of);
    const int length = sample.vocab ? sample.words : 0;
    const double tokens = (double)samples * length;
    return (struct work){ .samples = samples,
                          .padded_tokens = tokens,
                          .padded_token_length = tokens * length,
                          .computed_token_length = tokens * device_attention_queries(length) };
}

struct work workload_usual(const struct workload *w, const struct run *run)
{
    return workload_work(w, run->batch_size);
}

static double flops(const struct workload *w, struct work work, int layer, enum work_pass pass)
{
    return w->type->flops(&w->of, work, layer, pass);
}

double workload_flops(const struct workload *w, struct work work)
{
    double sum = 0;
    for (int layer = 0; layer < workload_layers(w); layer++)
        sum += flops(w, work, layer, WORK_FORWARD) + flops(w, work, layer, WORK_BACKWARD);
    return sum;
}

int workload_again_from(const struct workload *w, int layer)
{
    return w->type->again_from ? w->type->again_from(&w->of, layer) : layer + 1;
}

double workload_again_share(const struct workload *w, struct work work)
{
    double forward = 0, again = 0;
    for (int layer = 0; layer < workload_layers(w); layer++) {
        forward += flops(w, work, layer, WORK_FORWARD);
        again += w->type->flops_again ? w->type->flops_again(&w->of, work, layer) : 0;
        for (int before = workload_again_from(w, layer); before <= layer; before++)
            again += flops(w, work, before, WORK_FORWARD);
    }
    return again / forward;
}

struct cost_scale workload_scale(const struct workload *w)
{
    static const struct work unit[COST_TERMS] = { [COST_PER_SAMPLE] = { .samples = 1 },
                                                  [COST_PER_PADDED_TOKEN] = { .padded_tokens = 1 },
                                                  [COST_PER_PADDED_TOKEN_LENGTH] = { .padded_token_length = 1 } };
    const struct workload *published = w->type == &mlp_type ? &published_mlp : &published_transformer;
    struct cost_scale scale = { .update = (double)workload_parameters(w) / (double)workload_parameters(published) };
    scale.term[COST_FIXED] = (double)workload_tensors(w, NULL) / workload_tensors(published, NULL);
    for (int term = COST_FIXED + 1; term < COST_TERMS; term++) {
        const double of_published = workload_flops(published, unit[term]);
        scale.term[term] = of_published > 0 ? workload_flops(w, unit[term]) / of_published : 1;
    }
    return scale;
}

double workload_backward_share(const struct workload *w, struct work work, int layer)
{
    return flops(w, work, layer, WORK_BACKWARD) / workload_flops(w, work);
}
