/* test_training.c: test the training job against independent arithmetic. Gradients are compared with central finite
 * differences of a plain forward pass in double precision, AdamW with its formula in double precision. The loss must
 * fall on a learnable task. */
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "model/adamw.h"
#include "model/loader.h"
#include "model/model.h"
#include "options/run.h"
#include "support/on_device.h"
#include "support/slope.h"
#include "support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { B = 5 };

static struct run small_run(void)
{
    struct run run = run_published;
    run.ranks = 2;
    run.batch_size = B;
    return run;
}

/* Odd widths, so that vector loops leave a remainder. */
static struct workload small_mlp(int layers)
{
    return (struct workload){
        .type = &mlp_type,
        .of.mlp = { .input_dim = 7, .hidden_dim = 9, .num_classes = 6, .num_layers = layers },
    };
}

static struct model *open_small(int layers)
{
    const struct workload workload = small_mlp(layers);
    return model_open(&workload, run_published.seed, (struct batch_most){ .samples = B });
}

static struct loader *open_small_loader(struct share share, float scale)
{
    const struct workload workload = small_mlp(3);
    struct run run = small_run();
    struct loader *loader = loader_open(&workload, &run, B);
    loader_restart(loader, share, 0, scale);
    return loader;
}

/* Return the loss of a batch, each sample weighted by `scale`, computed the slow obvious way in double precision. */
static double plain_loss(const double *p, const struct model *model, const struct batch *batch)
{
    const struct mlp_settings *of = &model->workload.of.mlp;
    double loss = 0;
    for (int b = 0; b < batch->samples; b++) {
        double in[64], out[64];
        int K = of->input_dim, N = 0;
        for (int i = 0; i < K; i++)
            in[i] = (double)batch->features[b * K + i];
        const double *w = p;
        for (int layer = 0; layer < of->num_layers; layer++, K = N) {
            bool is_last = layer == of->num_layers - 1;
            N = is_last ? of->num_classes : of->hidden_dim;
            for (int n = 0; n < N; n++) {
                double z = w[K * N + n];
                for (int k = 0; k < K; k++)
                    z += in[k] * w[k * N + n];
                out[n] = is_last ? z : z * 0.5 * (1 + erf(z / sqrt(2)));
            }
            w += K * N + N;
            memcpy(in, out, (size_t)N * sizeof *in);
        }
        double sum = 0;
        for (int n = 0; n < N; n++)
            sum += exp(in[n]);
        loss += log(sum) - in[batch->labels[b]];
    }
    return loss * (double)batch->scale;
}

/* Check the gradients of a model with `layers` layers. */
static void expect_slopes(int layers)
{
    struct loader *loader = open_small_loader((struct share){ .global_batch = 2 * B, .samples = B }, 0.1f);
    struct model *model = open_small(layers);
    const struct batch *batch = loader_next(loader, NO_STALL);
    double *p = memory_new(model->count, sizeof *p);
    for (size_t i = 0; i < model->count; i++) {
        model->parameters[i] *= 3; /* leave the flat initial region, so that every slope matters */
        p[i] = (double)model->parameters[i];
    }
    model_forward(model, batch);
    double loss = model_loss(model, 1) * B * (double)batch->scale;
    assert_true(fabs(loss - plain_loss(p, model, batch)) < 1e-5);
    model_backward(model, batch);
    double largest = 0;
    for (size_t i = 0; i < model->count; i++) {
        double slope = slope_of(plain_loss, p, i, model, batch);
        double got = (double)model->gradients[i];
        if (!(fabs(got - slope) <= 2e-6 + 2e-5 * fabs(slope)))
            fail_msg("%d layers: gradient %zu is %.9g, finite differences say %.9g", layers, i, got, slope);
        largest = fmax(largest, fabs(slope));
    }
    assert_true(largest > 1e-2); /* the compared gradients were not all near zero */
    free(p);
    model_close(model);
    loader_close(loader);
}

TEST(gradients_agree_with_finite_differences)
{
    static const int layers[] = { 1, 2, 3, 6 };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        expect_slopes(layers[i]);
}

TEST(the_published_model_has_its_size)
{
    assert_true(fabs(workload_gradient_bytes(&published_mlp) - 12496800) < 0.5);
    assert_true(fabs(workload_flops(&published_mlp, work_samples(128)) / 1e9 - 2.13) < 0.02);
    struct model *model = open_small(4);
    size_t sum = 0;
    for (int layer = 0; layer < 4; layer++) {
        assert_int_equal(model->layer[layer].first, sum);
        assert_ptr_equal(model->layer[layer].gradients, model->gradients + sum);
        sum += workload_layer_parameters(&model->workload, layer);
    }
    assert_int_equal(sum, 8 * 9 + 2 * 10 * 9 + 10 * 6);
    assert_int_equal(model->count, sum);
    assert_int_equal(workload_parameters(&model->workload), sum);
    model_close(model);
}

TEST(forgotten_gradients_are_poison)
{
    struct model *model = open_small(3);
    assert_true(isnan(model->gradients[0]));
    assert_true(isnan(model->gradients[model->count - 1]));
    model_close(model);
}

/* Layers that hooks saw, in order. */
struct seen {
    int before, ready;
    int used[16], announced[16];
    struct model *model;
};

static void see_use(void *argument, int layer)
{
    struct seen *seen = argument;
    seen->used[seen->before++] = layer;
}

/* Check that the gradients of this layer are written, and none of the layers below. */
static void see_gradients(void *argument, int layer)
{
    struct seen *seen = argument;
    const struct model *m = seen->model;
    for (int i = 0; i < m->layers; i++)
        for (size_t k = 0; k < m->layer[i].count; k++)
            assert_true(!isnan(m->layer[i].gradients[k]) == (i >= layer));
    seen->announced[seen->ready++] = layer;
}

TEST(gradients_are_announced_in_the_order_of_backward)
{
    struct loader *loader = open_small_loader((struct share){ .global_batch = 2 * B, .samples = B }, 0.1f);
    struct model *model = open_small(5);
    struct seen seen = { .model = model };
    const struct batch *batch = loader_next(loader, NO_STALL);
    model_hook(model, (struct model_hooks){ &seen, see_use, see_gradients });
    model_forward(model, batch);
    model_backward(model, batch);
    static const int used[] = { 0, 1, 2, 3, 4, 4, 3, 2, 1, 0 };
    assert_int_equal(seen.before, 10);
    assert_int_equal(seen.ready, 5);
    assert_memory_equal(seen.used, used, sizeof used);
    assert_memory_equal(seen.announced, used + 5, 5 * sizeof *used);
    model_hook(model, (struct model_hooks){ 0 });
    model_forward(model, batch);
    model_backward(model, batch);
    assert_int_equal(seen.before + seen.ready, 15);
    model_close(model);
    loader_close(loader);
}

/* Check that gradients of 3 and of 2 samples add up to the gradient of all 5. Unequal shares need no special case. */
TEST(shares_add_up_to_the_global_batch)
{
    struct model *model = open_small(3);
    float *sum = memory_new(model->count, sizeof *sum);
    static const int first[] = { 0, 0, 3 }, samples[] = { 5, 3, 2 };
    for (int part = 0; part < 3; part++) {
        struct share share = { .global_batch = 2 * B, .first = first[part], .samples = samples[part] };
        struct loader *loader = open_small_loader(share, 0.2f);
        const struct batch *batch = loader_next(loader, NO_STALL);
        model_forward(model, batch);
        model_backward(model, batch);
        for (size_t i = 0; i < model->count; i++)
            sum[i] += (part == 0 ? -1.0f : 1.0f) * model->gradients[i];
        loader_close(loader);
    }
    for (size_t i = 0; i < model->count; i++)
        assert_true(fabsf(sum[i]) < 1e-6f);
    free(sum);
    model_close(model);
}

/* Check that repeating the backward pass leaves the gradients unchanged: the slowdown of a straggler repeats work. */
TEST(repeated_passes_give_the_same_gradients)
{
    struct loader *loader = open_small_loader((struct share){ .global_batch = 2 * B, .samples = B }, 0.1f);
    struct model *model = open_small(3);
    const struct batch *batch = loader_next(loader, NO_STALL);
    size_t bytes = model->count * sizeof(float);
    float *once = memory_new(bytes, 1);
    for (int pass = 0; pass < 2; pass++) {
        model_forward(model, batch);
        for (int again = 0; again <= pass; again++)
            model_backward(model, batch);
        if (pass == 0)
            memcpy(once, model->gradients, bytes);
    }
    assert_memory_equal(once, model->gradients, bytes);
    free(once);
    model_close(model);
    loader_close(loader);
}

TEST(adamw_follows_its_formula)
{
    enum { COUNT = 37, STEPS = 5 };
    struct adamw *optimizer = adamw_open(WORK_MLP, COUNT, 1e-3);
    struct random random;
    random_seed(&random, 1);
    float p[COUNT], g[COUNT];
    double exact[COUNT], m[COUNT] = { 0 }, v[COUNT] = { 0 };
    for (int i = 0; i < COUNT; i++)
        exact[i] = (double)(p[i] = (float)random_normal(&random));
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < COUNT; i++) {
            g[i] = (float)random_normal(&random);
            double gradient = (double)g[i];
            exact[i] -= 1e-3 * 0.01 * exact[i];
            m[i] = 0.9 * m[i] + 0.1 * gradient;
            v[i] = 0.999 * v[i] + 0.001 * gradient * gradient;
            exact[i] -= 1e-3 * (m[i] / (1 - pow(0.9, step))) / (sqrt(v[i] / (1 - pow(0.999, step))) + 1e-8);
        }
        adamw_update(optimizer, p, g);
        for (int i = 0; i < COUNT; i++)
            assert_true(fabs((double)p[i] - exact[i]) < 1e-6);
    }
    adamw_close(optimizer);
}

/* Train on labels from a random linear teacher; the loss must fall far below that of guessing. */
TEST(the_loss_falls_on_a_learnable_task)
{
    enum { SAMPLES = 64, STEPS = 150 };
    const struct workload workload = {
        .type = &mlp_type, .of.mlp = { .input_dim = 16, .hidden_dim = 32, .num_classes = 4, .num_layers = 3 }
    };
    struct random random;
    random_seed(&random, 3);
    float features[SAMPLES * 16], teacher[16 * 4];
    int32_t labels[SAMPLES];
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        features[i] = (float)random_normal(&random);
    for (size_t i = 0; i < sizeof teacher / sizeof *teacher; i++)
        teacher[i] = (float)random_normal(&random);
    for (int b = 0; b < SAMPLES; b++) {
        float score[4] = { 0 };
        labels[b] = 0;
        for (int c = 0; c < 4; c++) {
            for (int i = 0; i < 16; i++)
                score[c] += features[b * 16 + i] * teacher[i * 4 + c];
            labels[b] = score[c] > score[labels[b]] ? c : labels[b];
        }
    }
    struct batch batch = { .features = features, .labels = labels, .samples = SAMPLES, .scale = 1.0f / SAMPLES };
    struct model *model = model_open(&workload, run_published.seed, (struct batch_most){ .samples = SAMPLES });
    struct adamw *optimizer = adamw_open(WORK_MLP, model->count, 1e-2);
    for (int step = 0; step < STEPS; step++) {
        model_forward(model, &batch);
        model_backward(model, &batch);
        adamw_update(optimizer, model->parameters, model->gradients);
    }
    double last = model_loss(model, 1), all = model_loss(model, STEPS), later = model_loss(model, STEPS - 1);
    double first = STEPS * all - (STEPS - 1) * later;
    assert_true(fabs(first - log(4)) < 0.3); /* the first loss is that of guessing among four classes */
    assert_true(last < 0.1 * first);
    adamw_close(optimizer);
    model_close(model);
}

TEST(gelu_is_exact_to_its_stated_error)
{
    enum { COUNT = 4001 };
    static float z[COUNT], slope[COUNT], bias[COUNT];
    for (int i = 0; i < COUNT; i++)
        z[i] = (float)(i - 2000) / 100.0f;
    device_gelu(z, slope, bias, 1, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double x = (double)((float)(i - 2000) / 100.0f);
        double phi = 0.5 * erfc(-x / sqrt(2));
        assert_true(fabs((double)z[i] - x * phi) < 1e-6 * (1 + fabs(x)));
        assert_true(fabs((double)slope[i] - (phi + x * exp(-x * x / 2) / sqrt(2 * M_PI))) < 1e-6);
    }
}

TEST(cross_entropy_survives_extreme_logits)
{
    float logits[] = { 1000, -1000, 0, -1000, 0, 1000 }, bias[3] = { 0 };
    int32_t labels[] = { 0, 0 };
    double loss = (double)NAN;
    device_cross_entropy(&loss, logits, bias, labels, 2, 3, 1);
    assert_true(fabs(loss - 2000) < 1e-3);
    assert_true(fabsf(logits[0]) < 1e-6f && fabsf(logits[3] + 1) < 1e-6f && fabsf(logits[5] - 1) < 1e-6f);
}

AROUND_TESTS(open_device, NULL)
