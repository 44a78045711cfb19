#include "bench/step_work.h"

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"

#include <math.h>
#include <stdlib.h>

/* --- training steps ---------------------------------------------------------------------------------------------- */

/* Return a copy of `host` in device memory; free `host`. */
static void *to_device(void *host, size_t bytes)
{
    void *memory = device_new(MEMORY_ACTIVATIONS, bytes, 1);
    device_put(memory, host, bytes);
    free(host);
    return memory;
}

static int32_t *draw_below(struct random *random, int count, int n)
{
    int32_t *drawn = memory_new((size_t)count, sizeof *drawn);
    for (int i = 0; i < count; i++)
        drawn[i] = (int32_t)random_below(random, (uint32_t)n);
    return drawn;
}

static float *draw_normal(struct random *random, size_t count)
{
    float *drawn = memory_new(count, sizeof *drawn);
    for (size_t i = 0; i < count; i++)
        drawn[i] = (float)random_normal(random);
    return drawn;
}

static void open_samples(struct trainee *t, const struct step_sizes *sizes, struct random *random)
{
    int B = t->step.batch;
    size_t cells = (size_t)B * (size_t)sizes->input_dim;
    t->arrays[0] = to_device(draw_normal(random, cells), cells * sizeof(float));
    t->arrays[1] = to_device(draw_below(random, B, sizes->num_classes), (size_t)B * sizeof(int32_t));
    t->batch =
        (struct batch){ .samples = B, .features = t->arrays[0], .labels = t->arrays[1], .scale = 1.0f / (float)B };
}

/* Return random words from 1; padding is 0. */
static int32_t *draw_words(struct random *random, const struct sequence *texts, int count, int rows, int words)
{
    int32_t *drawn = draw_below(random, rows, words - 1);
    for (int i = 0; i < count; i++)
        for (int row = 0; row < texts[i].extent; row++) {
            int32_t *word = &drawn[texts[i].first + row];
            *word = row < texts[i].tokens ? *word + 1 : 0;
        }
    return drawn;
}

static void open_texts(struct trainee *t, const struct step_sizes *sizes, struct random *random)
{
    int T = t->step.batch, L = t->step.tokens, R = step_rows(&t->step), first = 0;
    struct sequence *texts = memory_new((size_t)T, sizeof *texts), *copy = memory_new((size_t)T, sizeof *copy);
    for (int i = 0; i < T; i++) {
        texts[i] = copy[i] = (struct sequence){ first, step_text_length(&t->step, i), step_text_extent(&t->step, i) };
        first += texts[i].extent;
    }
    t->listed = texts;
    t->arrays[0] = to_device(draw_words(random, texts, T, R, sizes->vocab_size), (size_t)R * sizeof(int32_t));
    t->arrays[1] = to_device(copy, (size_t)T * sizeof *copy);
    t->arrays[2] = to_device(draw_below(random, T, sizes->num_topics), (size_t)T * sizeof(int32_t));
    t->batch = (struct batch){ .samples = T,
                               .labels = t->arrays[2],
                               .scale = 1.0f / (float)T,
                               .token = t->arrays[0],
                               .sequence = t->arrays[1],
                               .listed = texts,
                               .rows = R,
                               .longest = L };
}

void trainee_open(struct trainee *t, const struct step_sizes *sizes, const struct step *step)
{
    struct random random;
    random_seed(&random, (uint64_t)run_published.seed + 1); /* the weights use the seed itself */
    *t = (struct trainee){ .step = *step };
    const struct workload workload = step_workload(sizes, step);
    const struct batch_most most = { .samples = step->batch, .rows = step_rows(step), .length = step->tokens };
    t->trainer = trainer_open_for(&workload, step->model == WORK_MLP ? &run_published : &run_published_texts, most);
    if (step->model == WORK_MLP)
        open_samples(t, sizes, &random);
    else
        open_texts(t, sizes, &random);
}

void trainee_close(struct trainee *t)
{
    trainer_close(t->trainer);
    for (size_t i = 0; i < sizeof t->arrays / sizeof *t->arrays; i++)
        device_free(t->arrays[i]);
    free(t->listed);
}

void trainee_restart(struct trainee *t)
{
    trainer_restart(t->trainer, (struct share){ 0 }, 0, 0);
}

void trainee_once(void *argument)
{
    struct trainee *t = argument;
    trainer_forward(t->trainer, &t->batch);
    trainer_backward(t->trainer, &t->batch);
    trainer_update(t->trainer);
}

double trainee_loss(const struct trainee *t)
{
    return trainer_loss(t->trainer, 1);
}

/* --- matrix products alone -------------------------------------------------------------------------------- */

void products_open(struct products *p, const struct step_sizes *sizes, const struct step *step)
{
    struct random random;
    random_seed(&random, (uint64_t)run_published.seed + 2);
    p->layers = step_layers(sizes, step);
    for (int i = 0; i < p->layers.arrays; i++)
        p->array[i] = to_device(draw_normal(&random, p->layers.floats[i]), p->layers.floats[i] * sizeof(float));
    for (int i = 0; i < p->layers.count; i++) {
        const struct step_layer *l = &p->layers.of[i];
        size_t count = (size_t)l->K * (size_t)l->N;
        float *weights = memory_new(count, sizeof *weights);
        random_fill(&random, weights, count, 1.0 / sqrt(l->K));
        p->weights[i] = to_device(weights, count * sizeof *weights);
        p->gradient[i] = device_new(MEMORY_ACTIVATIONS, count, sizeof(float));
    }
}

void products_close(struct products *p)
{
    for (int i = 0; i < p->layers.arrays; i++)
        device_free(p->array[i]);
    for (int i = 0; i < p->layers.count; i++) {
        device_free(p->weights[i]);
        device_free(p->gradient[i]);
    }
}

void products_once(void *argument)
{
    struct products *p = argument;
    for (int i = 0; i < p->layers.count; i++) {
        const struct step_layer *l = &p->layers.of[i];
        device_multiply(p->array[l->y], p->array[l->x], p->weights[i], l->B, l->N, l->K);
    }
    for (int i = p->layers.count; i-- > 0;) {
        const struct step_layer *l = &p->layers.of[i];
        device_multiply_outer(p->gradient[i], p->array[l->x], p->array[l->dy], l->B, l->N, l->K);
        if (l->dx != STEP_NO_ARRAY)
            device_multiply_back(p->array[l->dx], p->array[l->dy], p->weights[i], l->B, l->N, l->K);
    }
}

/* --- a copy -------------------------------------------------------------------------------------------------------- */

void copy_open(struct copy *copy, size_t bytes)
{
    const size_t piece = (1 << 20) / sizeof(float);
    struct random random;
    random_seed(&random, (uint64_t)run_published.seed + 3);
    copy->bytes = bytes;
    copy->from = device_new(MEMORY_ACTIVATIONS, bytes, 1);
    copy->to = device_new(MEMORY_ACTIVATIONS, bytes, 1);
    float *numbers = draw_normal(&random, piece);
    for (size_t done = 0; done < bytes / sizeof(float); done += piece)
        device_put(copy->from + done, numbers, piece * sizeof *numbers);
    free(numbers);
}

void copy_close(struct copy *copy)
{
    device_free(copy->from);
    device_free(copy->to);
}

void copy_once(void *argument)
{
    const struct copy *copy = argument;
    device_copy(copy->to, copy->from, copy->bytes / sizeof(float));
}
