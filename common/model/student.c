#include "model/student.h"

#include "base/memory.h"
#include "base/multiversion.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* common/CMakeLists.txt has this file compiled without fused multiply-adds: not all processors have them. */

enum {
    TEACHER_HIDDEN = 8,
    TESTED = 256, /* inputs of the loss */
    SMALL = 32,   /* batches of the noise scale */
    SMALLS = 32,
    LANES = 8 /* partial sums */
};
static const float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F, decay = 0.01F; /* as in adamw.c */
static const double noise = 0.3;                                                 /* standard deviation */
static const double root_of_3 = 1.7320508075688772;                              /* uniform in +-this: variance 1 */

struct sample {
    float input[STUDENT_INPUTS], label;
};

struct student_task {
    float first[STUDENT_INPUTS][TEACHER_HIDDEN], bias[TEACHER_HIDDEN], last[TEACHER_HIDDEN]; /* the teacher */
    float mean, scale; /* subtracted from what it says, then multiplied */
    uint64_t seed;
    struct sample *sample; /* those to train on, then SMALL x SMALLS for the noise scale */
    int samples;           /* to train on */
    struct sample tested[TESTED];
};

/* Draw uniformly, with this standard deviation. */
static float draw(struct random *random, double deviation)
{
    return (float)((2 * random_unit(random) - 1) * (root_of_3 * deviation));
}

static void draw_all(struct random *random, float *out, int count, double deviation)
{
    for (int i = 0; i < count; i++)
        out[i] = draw(random, deviation);
}

/* --- the task ----------------------------------------------------------------------------------------------------- */

static float teach(const struct student_task *task, const float *input)
{
    float hidden[TEACHER_HIDDEN], said = 0;
    memcpy(hidden, task->bias, sizeof hidden);
    for (int i = 0; i < STUDENT_INPUTS; i++)
        for (int j = 0; j < TEACHER_HIDDEN; j++)
            hidden[j] += input[i] * task->first[i][j];
    for (int j = 0; j < TEACHER_HIDDEN; j++)
        said += hidden[j] > 0 ? hidden[j] * task->last[j] : 0;
    return (said - task->mean) * task->scale;
}

/* Give the teacher's function mean 0 and variance 1 over the tested inputs. */
static void normalize(struct student_task *task)
{
    double sum = 0, squares = 0;
    for (int n = 0; n < TESTED; n++) {
        const double said = (double)teach(task, task->tested[n].input);
        sum += said;
        squares += said * said;
    }
    const double mean = sum / TESTED;
    task->mean = (float)mean;
    task->scale = (float)(1 / sqrt(squares / TESTED - mean * mean));
}

struct student_task *student_task_open(uint64_t seed, int samples)
{
    struct student_task *task = memory_new(1, sizeof *task);
    struct random random;
    random_seed(&random, seed);
    task->seed = seed;
    task->scale = 1;
    task->samples = samples;
    draw_all(&random, task->first[0], STUDENT_INPUTS * TEACHER_HIDDEN, 1 / sqrt(STUDENT_INPUTS));
    draw_all(&random, task->bias, TEACHER_HIDDEN, 0.5);
    draw_all(&random, task->last, TEACHER_HIDDEN, 1);
    for (int n = 0; n < TESTED; n++)
        draw_all(&random, task->tested[n].input, STUDENT_INPUTS, 1);
    normalize(task);
    for (int n = 0; n < TESTED; n++)
        task->tested[n].label = teach(task, task->tested[n].input);
    const int all = samples + SMALL * SMALLS;
    task->sample = memory_new((size_t)all, sizeof *task->sample);
    for (int n = 0; n < all; n++) {
        struct sample *sample = &task->sample[n];
        draw_all(&random, sample->input, STUDENT_INPUTS, 1);
        sample->label = teach(task, sample->input) + draw(&random, noise);
    }
    return task;
}

void student_task_close(struct student_task *task)
{
    free(task->sample);
    free(task);
}

/* --- the passes ---------------------------------------------------------------------------------------------------- */

/* Return the student's output; `hidden` gets its activations. They stay in registers until the end, since no pointer aliases `now`. */
WIDE static float say(const float *w, const float *input, float *hidden)
{
    float part[LANES] = { 0 }, said = w[STUDENT_SHIFT], now[STUDENT_HIDDEN];
    memcpy(now, w + STUDENT_BIAS, sizeof now);
    for (int i = 0; i < STUDENT_INPUTS; i++)
        for (int j = 0; j < STUDENT_HIDDEN; j++)
            now[j] += input[i] * w[i * STUDENT_HIDDEN + j];
    for (int j = 0; j < STUDENT_HIDDEN; j++)
        now[j] = now[j] > 0 ? now[j] : 0;
    for (int j = 0; j < STUDENT_HIDDEN; j += LANES)
        for (int lane = 0; lane < LANES; lane++)
            part[lane] += now[j + lane] * w[STUDENT_LAST + j + lane];
    memcpy(hidden, now, sizeof now);
    for (int lane = 0; lane < LANES; lane++)
        said += part[lane];
    return said;
}

/* Add a sample's gradients; `back` is the gradient of the student's output. */
WIDE static void add_gradients(float *g, const float *w, const float *input, const float *hidden, float back)
{
    float each[STUDENT_HIDDEN];
    g[STUDENT_SHIFT] += back;
    for (int j = 0; j < STUDENT_HIDDEN; j++) {
        each[j] = hidden[j] > 0 ? back * w[STUDENT_LAST + j] : 0;
        g[STUDENT_LAST + j] += back * hidden[j];
        g[STUDENT_BIAS + j] += each[j];
    }
    for (int i = 0; i < STUDENT_INPUTS; i++)
        for (int j = 0; j < STUDENT_HIDDEN; j++)
            g[i * STUDENT_HIDDEN + j] += input[i] * each[j];
}

/* Compute the gradients of the mean square error over these samples. */
static void compute_gradients(float *g, const float *w, const struct sample *sample, int count)
{
    float hidden[STUDENT_HIDDEN];
    memset(g, 0, STUDENT_PARAMETERS * sizeof *g);
    for (int n = 0; n < count; n++) {
        const float error = say(w, sample[n].input, hidden) - sample[n].label;
        add_gradients(g, w, sample[n].input, hidden, 2 * error / (float)count);
    }
}

static double mean_square_error(const float *w, const struct sample *sample, int count)
{
    float hidden[STUDENT_HIDDEN];
    double sum = 0;
    for (int n = 0; n < count; n++) {
        const double error = (double)(say(w, sample[n].input, hidden) - sample[n].label);
        sum += error * error;
    }
    return sum / count;
}

double student_batch_loss(const struct student *student, const struct student_task *task, int first, int batch)
{
    return mean_square_error(student->parameters, task->sample + first, batch);
}

double student_loss(const struct student *student, const struct student_task *task)
{
    return mean_square_error(student->parameters, task->tested, TESTED);
}

/* --- the steps ----------------------------------------------------------------------------------------------------- */

void student_begin(struct student *student, const struct student_task *task, enum student_optimizer optimizer)
{
    struct random random;
    random_seed_plus(&random, task->seed, 1);
    *student = (struct student){ .optimizer = optimizer, .mean_decayed = 1, .square_decayed = 1 };
    float *p = student->parameters;
    draw_all(&random, p, STUDENT_BIAS, 1 / sqrt(3 * STUDENT_INPUTS)); /* as in mlp.h */
    draw_all(&random, p + STUDENT_BIAS, STUDENT_HIDDEN, 1 / sqrt(3 * STUDENT_INPUTS));
    draw_all(&random, p + STUDENT_LAST, STUDENT_HIDDEN, 1 / sqrt(3 * STUDENT_HIDDEN));
}

WIDE static void update_by_adamw(float *p, float *mean, float *square, const float *g, float rate, float correction1,
                                 float correction2)
{
    for (int i = 0; i < STUDENT_PARAMETERS; i++) {
        mean[i] = beta1 * mean[i] + (1 - beta1) * g[i];
        square[i] = beta2 * square[i] + (1 - beta2) * (g[i] * g[i]);
        p[i] -= rate * (mean[i] / correction1 / (sqrtf(square[i]) / correction2 + epsilon) + decay * p[i]);
    }
}

void student_step(struct student *student, const struct student_task *task, int first, int batch, double rate)
{
    float *p = student->parameters;
    const float *g = student->gradients;
    compute_gradients(student->gradients, student->parameters, task->sample + first, batch);
    if (student->optimizer == STUDENT_ADAMW) {
        student->mean_decayed *= (double)beta1;
        student->square_decayed *= (double)beta2;
        update_by_adamw(p, student->mean, student->square, g, (float)rate, (float)(1 - student->mean_decayed),
                        (float)sqrt(1 - student->square_decayed));
    } else {
        for (int i = 0; i < STUDENT_PARAMETERS; i++)
            p[i] -= (float)rate * g[i];
    }
}

/* Return the sum of squares, each with the weight that the optimizer gives to its parameter's gradient. */
static double square_of(const float *g, const struct student *student)
{
    double sum = 0;
    for (int i = 0; i < STUDENT_PARAMETERS; i++) {
        const double weight =
            student->optimizer == STUDENT_ADAMW ? 1 / (sqrt((double)student->square[i]) + (double)epsilon) : 1;
        sum += weight * ((double)g[i] * (double)g[i]);
    }
    return sum;
}

/* The square of the mean gradient over n samples is on average that of the true one + variance / n. */
double student_noise_scale(const struct student *student, const struct student_task *task)
{
    float all[STUDENT_PARAMETERS], g[STUDENT_PARAMETERS];
    const struct sample *sample = task->sample + task->samples;
    double small = 0;
    for (int k = 0; k < SMALLS; k++) {
        compute_gradients(g, student->parameters, sample + (ptrdiff_t)k * SMALL, SMALL);
        small += square_of(g, student) / SMALLS;
    }
    compute_gradients(all, student->parameters, sample, SMALL * SMALLS);
    const double large = square_of(all, student);
    const double variance = (small - large) / (1.0 / SMALL - 1.0 / (SMALL * SMALLS));
    const double mean = large - variance / (SMALL * SMALLS);
    return mean > 0 && variance > 0 ? variance / mean : (double)NAN;
}
