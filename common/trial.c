#include "trial.h"

#include "device.h"
#include "memory.h"
#include "random.h"
#include "world.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MOST = 16 };

/* How far the loss is followed, and how far it may be off: so far that the rounding of two losses drowns, so near that the
 * loss is straight. In fp32 a loss is off by a few of its last places, some 1e-6 where 1e-3 is to be seen; the models of
 * test_trial.c, of 1 to 65536 classes, come to 0.8 % at most. Products in tf32 and bf16 round factors by 2^-11 and 2^-8 of
 * them, and a loss, a mean over many, by far less: seen were 2 % and 4 %, over steps that are longer for it. */
struct reach {
    double random; /* each parameter by at most so much, to and fro */
    double step;   /* so much of the loss, along AdamW's step */
    double off;    /* of what the gradients say */
};

static struct reach reach_of(enum precision precision)
{
    static const struct reach reaches[] = {
        [PRECISION_FP32] = { 1e-3, 0.01, 0.02 },
        [PRECISION_TF32] = { 1e-3, 0.03, 0.1 },
        [PRECISION_BF16] = { 3e-3, 0.1, 0.2 },
    };
    return reaches[precision];
}

struct trial {
    const struct subject *subject;
    void *bench;
    struct subject_parts parts;
    size_t count;
    float *before, *after, *gradient; /* (count) each, of the host */
    float *direction, *moved;         /* (count) */
    struct faults faults;
};

static void open_trial(struct trial *t, const struct subject *subject, const struct run *run)
{
    struct run small = *run;
    small.batch_size = small.batch_size < SAMPLES_MOST ? small.batch_size : SAMPLES_MOST;
    *t = (struct trial){ .subject = subject, .bench = subject->open(&small) };
    subject->shape(t->bench, 0);
    subject->fetch(t->bench);
    t->parts = subject->parts(t->bench);
    t->count = t->parts.count;
    float **arrays[] = { &t->before, &t->after, &t->gradient, &t->direction, &t->moved };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = memory_new(t->count, sizeof **arrays[i]);
}

static void close_trial(struct trial *t)
{
    free(t->before);
    free(t->after);
    free(t->gradient);
    free(t->direction);
    free(t->moved);
    t->subject->close(t->bench);
}

/* One step, its gradients and what it did on the host. False when there are no gradients to go on with. */
static bool take_step(struct trial *t)
{
    const struct subject_parts *parts = &t->parts;
    size_t bytes = t->count * sizeof(float), missing = 0;
    device_fetch(t->before, parts->parameters, bytes);
    device_fill(parts->gradients, NAN, t->count);
    device_fill(parts->sums, NAN, t->count);
    t->subject->pass(t->bench);
    device_copy(parts->sums, parts->gradients, t->count);
    device_fetch(t->gradient, parts->sums, bytes);
    for (size_t i = 0; i < t->count; i++)
        missing += isfinite(t->gradient[i]) ? 0 : 1;
    if (missing)
        faults_add(&t->faults, "%zu of %zu gradients are no numbers: a kernel left them out", missing, t->count);
    t->subject->update(t->bench);
    device_fetch(t->after, parts->parameters, bytes);
    return missing == 0;
}

/* In float32 with its constants the step is off by less than rate / 10^4, and by the rounding of the parameter. */
static void check_step(struct trial *t)
{
    for (size_t i = 0; i < t->count; i++) {
        double p = (double)t->before[i], exact = adamw_first_step(t->parts.optimizer, p, (double)t->gradient[i]);
        double allowed = 1e-4 * adamw_rate(t->parts.optimizer) + FLT_EPSILON * fabs(p);
        if (!(fabs((double)t->after[i] - exact) <= allowed)) {
            faults_add(&t->faults, "the update takes parameter %zu from %.9g to %.9g, AdamW to %.9g", i, p,
                       (double)t->after[i], exact);
            return;
        }
    }
}

static double loss_at(struct trial *t, double sign)
{
    for (size_t i = 0; i < t->count; i++)
        t->moved[i] = t->before[i] + (float)sign * t->direction[i];
    device_put(t->parts.parameters, t->moved, t->count * sizeof(float));
    t->subject->pass(t->bench);
    return t->parts.loss(t->bench);
}

static double product(const float *x, const float *y, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* Half the difference of the loss across `direction`, beside what the gradients say. A random direction may by chance be one
 * in which little changes: then the error is held against what changes in a usual one. */
static void check_slope(struct trial *t, const char *name, double off)
{
    double seen = (loss_at(t, 1) - loss_at(t, -1)) / 2, told = product(t->gradient, t->direction, t->count);
    double usual = sqrt(product(t->gradient, t->gradient, t->count) * product(t->direction, t->direction, t->count) /
                        (double)t->count);
    double scale = fmax(fabs(told), usual);
    if (!(fabs(seen - told) <= off * scale))
        faults_add(&t->faults,
                   "%s gradients disagree with finite differences by %.2g %% (%g %% allowed): %.4g, the loss says %.4g",
                   name, 100 * fabs(seen - told) / scale, 100 * off, told, seen);
}

static void check_slopes(struct trial *t, const struct run *run)
{
    struct reach reach = reach_of((enum precision)run->precision);
    enum { DRAWS = 8191 }; /* over and over: a prime, so that no two rows of a matrix get the same */
    float draws[DRAWS];
    struct random random;
    random_seed(&random, (uint64_t)run->seed);
    random_fill(&random, draws, DRAWS, reach.random);
    for (size_t i = 0; i < t->count; i++)
        t->direction[i] = draws[i % DRAWS];
    check_slope(t, "in a random direction", reach.off);

    for (size_t i = 0; i < t->count; i++)
        t->direction[i] = t->after[i] - t->before[i];
    double falls = -product(t->gradient, t->direction, t->count);
    if (!(falls > 0))
        faults_add(&t->faults, "the step does not go where the loss falls");
    double part = fmin(1, reach.step / fabs(falls));
    for (size_t i = 0; i < t->count; i++)
        t->direction[i] *= (float)part;
    check_slope(t, "along the step", reach.off);
}

struct faults trial_model(const struct subject *subject, const struct run *run)
{
    struct trial t;
    open_trial(&t, subject, run);
    if (take_step(&t)) {
        check_step(&t);
        check_slopes(&t, run);
    }
    close_trial(&t);
    return t.faults;
}

struct faults trial_run(struct world *world, const struct subject *subject, const struct run *run)
{
    struct faults all = { 0 };
    if (!device_computes())
        return all;
    struct faults mine = { 0 };
    if (!world_is_simulated() || world_rank(world) == 0) /* there one process computes for all */
        mine = trial_model(subject, run);
    int ranks = world_size(world);
    struct faults *gathered = memory_new((size_t)ranks, sizeof *gathered);
    world_gather(world, &mine, sizeof mine, gathered);
    for (int rank = 0; rank < ranks; rank++)
        faults_join(&all, &gathered[rank], "before anything was measured, rank %d: ", rank);
    free(gathered);
    return all;
}
