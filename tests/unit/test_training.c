/* test_training.c: test the training job against independent arithmetic. Gradients are compared with central finite
 * differences of a plain forward pass in double precision, AdamW with its formula in double precision. The loss must
 * fall on a learnable task. */
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "model/adamw.h"
#include "model/loader.h"
#include "model/mlp.h"
#include "options/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { B = 5 };

static struct run small_run(void)
{
    struct run run = run_published;
    run.ranks = 2;
    run.batch_size = B;
    run.input_dim = 7;
    run.hidden_dim = 9; /* odd widths, so that vector loops leave a remainder */
    run.num_classes = 6;
    return run;
}

static void backward(struct mlp *model, const struct batch *batch)
{
    for (int layer = MLP_LAYERS; layer-- > 0;)
        mlp_backward(model, batch, layer);
}

/* Return the loss of a batch, each sample weighted by `scale`, computed the slow obvious way in double precision. */
static double plain_loss(const double *p, const struct run *run, const struct batch *batch)
{
    int width[] = { run->input_dim, run->hidden_dim, run->hidden_dim, run->num_classes };
    double loss = 0;
    for (int b = 0; b < batch->samples; b++) {
        double in[64], out[64];
        for (int i = 0; i < width[0]; i++)
            in[i] = (double)batch->features[b * width[0] + i];
        const double *w = p;
        for (int layer = 0; layer < 3; layer++) {
            int K = width[layer], N = width[layer + 1];
            for (int n = 0; n < N; n++) {
                double z = w[K * N + n];
                for (int k = 0; k < K; k++)
                    z += in[k] * w[k * N + n];
                out[n] = layer < 2 ? z * 0.5 * (1 + erf(z / sqrt(2))) : z;
            }
            w += K * N + N;
            memcpy(in, out, (size_t)N * sizeof *in);
        }
        double sum = 0;
        for (int n = 0; n < width[3]; n++)
            sum += exp(in[n]);
        loss += log(sum) - in[batch->labels[b]];
    }
    return loss * (double)batch->scale;
}

static void gradients_agree_with_finite_differences(void **state)
{
    (void)state;
    struct run run = small_run();
    struct loader *loader = loader_open(&run, B);
    struct mlp *model = mlp_open(&run, B);
    loader_restart(loader, (struct share){ .global_batch = 2 * B, .samples = B }, 0, 0.1f);
    const struct batch *batch = loader_next(loader, (struct stall){ .kind = STALL_NONE });
    size_t count = mlp_parameter_count(model);
    double *p = memory_new(count, sizeof *p);
    for (size_t i = 0; i < count; i++) {
        mlp_parameters(model)[i] *= 3; /* leave the flat initial region, so that every slope matters */
        p[i] = (double)mlp_parameters(model)[i];
    }
    mlp_forward(model, batch);
    double loss = mlp_loss(model, 1) * B * (double)batch->scale;
    assert_true(fabs(loss - plain_loss(p, &run, batch)) < 1e-5);
    backward(model, batch);
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double h = 1e-5;
        double held = p[i];
        p[i] = held + h;
        double above = plain_loss(p, &run, batch);
        p[i] = held - h;
        double below = plain_loss(p, &run, batch);
        p[i] = held;
        double slope = (above - below) / (2 * h);
        double got = (double)mlp_gradients(model)[i];
        if (!(fabs(got - slope) <= 2e-6 + 2e-5 * fabs(slope)))
            fail_msg("gradient %zu is %.9g, finite differences say %.9g", i, got, slope);
        largest = fmax(largest, fabs(slope));
    }
    assert_true(largest > 1e-2); /* the compared gradients were not all near zero */
    free(p);
    mlp_close(model);
    loader_close(loader);
}

static void the_published_model_has_its_size(void **state)
{
    (void)state;
    assert_true(fabs(mlp_gradient_bytes(&run_published) - 12496800) < 0.5);
    assert_true(fabs(mlp_flops(&run_published, 128) / 1e9 - 2.13) < 0.02);
    struct run run = small_run();
    struct mlp *model = mlp_open(&run, 1);
    assert_int_equal(mlp_parameter_count(model) * sizeof(float), (size_t)mlp_gradient_bytes(&run));
    mlp_close(model);
}

static void forgotten_gradients_are_poison(void **state)
{
    (void)state;
    struct run run = small_run();
    struct mlp *model = mlp_open(&run, 1);
    assert_true(isnan(mlp_gradients(model)[0]));
    assert_true(isnan(mlp_gradients(model)[mlp_parameter_count(model) - 1]));
    mlp_close(model);
}

/* Check that gradients of 3 and of 2 samples add up to the gradient of all 5. Unequal shares need no special case. */
static void shares_add_up_to_the_global_batch(void **state)
{
    (void)state;
    struct run run = small_run();
    struct mlp *model = mlp_open(&run, B);
    size_t count = mlp_parameter_count(model);
    float *sum = memory_new(count, sizeof *sum);
    static const int first[] = { 0, 0, 3 }, samples[] = { 5, 3, 2 };
    for (int part = 0; part < 3; part++) {
        struct loader *loader = loader_open(&run, B);
        struct share share = { .global_batch = 2 * B, .first = first[part], .samples = samples[part] };
        loader_restart(loader, share, 0, 0.2f);
        const struct batch *batch = loader_next(loader, (struct stall){ .kind = STALL_NONE });
        mlp_forward(model, batch);
        backward(model, batch);
        for (size_t i = 0; i < count; i++)
            sum[i] += (part == 0 ? -1.0f : 1.0f) * mlp_gradients(model)[i];
        loader_close(loader);
    }
    for (size_t i = 0; i < count; i++)
        assert_true(fabsf(sum[i]) < 1e-6f);
    free(sum);
    mlp_close(model);
}

/* Check that repeating the backward pass leaves the gradients unchanged: the slowdown of a straggler repeats work. */
static void repeated_passes_give_the_same_gradients(void **state)
{
    (void)state;
    struct run run = small_run();
    struct loader *loader = loader_open(&run, B);
    struct mlp *model = mlp_open(&run, B);
    loader_restart(loader, (struct share){ .global_batch = 2 * B, .samples = B }, 0, 0.1f);
    const struct batch *batch = loader_next(loader, (struct stall){ .kind = STALL_NONE });
    size_t bytes = mlp_parameter_count(model) * sizeof(float);
    float *once = memory_new(bytes, 1);
    for (int pass = 0; pass < 2; pass++) {
        mlp_forward(model, batch);
        for (int again = 0; again <= pass; again++)
            backward(model, batch);
        if (pass == 0)
            memcpy(once, mlp_gradients(model), bytes);
    }
    assert_memory_equal(once, mlp_gradients(model), bytes);
    free(once);
    mlp_close(model);
    loader_close(loader);
}

static void adamw_follows_its_formula(void **state)
{
    (void)state;
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
static void the_loss_falls_on_a_learnable_task(void **state)
{
    (void)state;
    enum { SAMPLES = 64, STEPS = 150 };
    struct run run = run_published;
    run.input_dim = 16;
    run.hidden_dim = 32;
    run.num_classes = 4;
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
    struct mlp *model = mlp_open(&run, SAMPLES);
    struct adamw *optimizer = adamw_open(WORK_MLP, mlp_parameter_count(model), 1e-2);
    for (int step = 0; step < STEPS; step++) {
        mlp_forward(model, &batch);
        backward(model, &batch);
        adamw_update(optimizer, mlp_parameters(model), mlp_gradients(model));
    }
    double last = mlp_loss(model, 1), all = mlp_loss(model, STEPS), later = mlp_loss(model, STEPS - 1);
    double first = STEPS * all - (STEPS - 1) * later;
    assert_true(fabs(first - log(4)) < 0.3); /* the first loss is that of guessing among four classes */
    assert_true(last < 0.1 * first);
    adamw_close(optimizer);
    mlp_close(model);
}

static void gelu_is_exact_to_its_stated_error(void **state)
{
    (void)state;
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

static void cross_entropy_survives_extreme_logits(void **state)
{
    (void)state;
    float logits[] = { 1000, -1000, 0, -1000, 0, 1000 }, bias[3] = { 0 };
    int32_t labels[] = { 0, 0 };
    double loss = (double)NAN;
    device_cross_entropy(&loss, logits, bias, labels, 2, 3, 1);
    assert_true(fabs(loss - 2000) < 1e-3);
    assert_true(fabsf(logits[0]) < 1e-6f && fabsf(logits[3] + 1) < 1e-6f && fabsf(logits[5] - 1) < 1e-6f);
}

int main(void)
{
    device_open(0, PRECISION_FP32);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_agree_with_finite_differences), cmocka_unit_test(the_published_model_has_its_size),
        cmocka_unit_test(forgotten_gradients_are_poison),          cmocka_unit_test(shares_add_up_to_the_global_batch),
        cmocka_unit_test(repeated_passes_give_the_same_gradients), cmocka_unit_test(adamw_follows_its_formula),
        cmocka_unit_test(the_loss_falls_on_a_learnable_task),      cmocka_unit_test(gelu_is_exact_to_its_stated_error),
        cmocka_unit_test(cross_entropy_survives_extreme_logits),
    };
    return cmocka_run_group_tests_name("training", tests, NULL, NULL);
}
