#include "model/gradcheck.h"

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "world/world.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES_MOST = 16,
    PIECE = 8191,   /* parameters that the host takes at a time: a prime, see draw() */
    NEARER_MOST = 8 /* times that the way is halved */
};

/* How far the loss is followed, and how far it may be off: so far that the rounding of two losses drowns, some 1e-6 where 1e-3
 * is to be seen, so near that the loss is straight. How near that is nobody knows beforehand: layers of width 1 to 8 may bend
 * the loss within a small part of a step. So where it disagrees it is followed half as far, again and again: what was bent is
 * straight there, and a gradient that is wrong stays wrong. In fp32, of 200000 models drawn as test_trial.c draws them
 * (2026-11-21), 1.1 % disagreed along the whole step, the last agreed along 1/32 of it, and none failed; with gradients made
 * 5 % too large, 4 of 2000 passed. Products in tf32 and bf16 round factors by 2^-11 and 2^-8 of them, and a loss, a mean over
 * many, by far less: seen were 2 % and 4 %, over steps that are longer for it. */
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

/* Where the parameters go from `before`. */
enum way { WAY_RANDOM, WAY_STEP };

struct trial {
    const struct workload *workload;
    void *bench;
    struct workload_parts parts;
    float *before, *gradients; /* (count) the parameters before the step, and what it went by; of the host */
    float draws[PIECE];
    double falls;  /* by how much the loss is to fall in the step */
    double length; /* of the gradients: the root of the sum of their squares */
    struct check_failures failures;
};

/* The random direction, each in -1 to 1, over and over: a prime, so that no two rows of a matrix get the same. */
static void draw(struct trial *t, int seed)
{
    struct random random;
    random_seed(&random, (uint64_t)seed);
    random_fill(&random, t->draws, PIECE, 1);
}

static struct run small_run(const struct run *run)
{
    struct run small = *run;
    small.batch_size = small.batch_size < SAMPLES_MOST ? small.batch_size : SAMPLES_MOST;
    return small;
}

static void open_trial(struct trial *t, const struct workload *workload, const struct run *run)
{
    struct run small = small_run(run);
    *t = (struct trial){ .workload = workload, .bench = workload->open(&small) };
    workload->shape(t->bench, 0);
    workload->fetch(t->bench);
    t->parts = workload->parts(t->bench);
    draw(t, run->seed);
}

struct memory_estimate gradcheck_memory(const struct workload *workload, const struct run *run)
{
    struct run small = small_run(run);
    return workload->need(&small, 1); /* the moments are gone before what is kept beside the model is there */
}

static void close_trial(struct trial *t)
{
    free(t->before);
    free(t->gradients);
    t->workload->close(t->bench);
}

static size_t piece_from(const struct trial *t, size_t from)
{
    return t->parts.count - from < PIECE ? t->parts.count - from : PIECE;
}

static void take_step(struct trial *t)
{
    device_fill(t->parts.gradients, NAN, t->parts.count);
    t->workload->pass(t->bench);
    t->workload->update(t->bench);
}

/* A piece of the step, as it lies there when it is done: the parameters before are drawn once more. */
struct piece {
    float before[PIECE], after[PIECE], gradients[PIECE];
};

static void fetch_piece(const struct trial *t, struct weights *weights, struct piece *piece, size_t from, size_t count)
{
    size_t bytes = count * sizeof(float);
    weights_next(weights, piece->before, count);
    device_fetch(piece->after, t->parts.parameters + from, bytes);
    device_fetch(piece->gradients, t->parts.gradients + from, bytes);
}

/* False when there are no gradients to go on with. */
static bool look_at_gradients(struct trial *t)
{
    struct weights weights = t->parts.weights;
    struct piece piece;
    size_t missing = 0;
    for (size_t from = 0; from < t->parts.count; from += PIECE) {
        size_t count = piece_from(t, from);
        fetch_piece(t, &weights, &piece, from, count);
        for (size_t i = 0; i < count; i++) {
            double g = (double)piece.gradients[i];
            missing += isfinite(g) ? 0 : 1;
            t->length += g * g;
            t->falls -= g * (double)(piece.after[i] - piece.before[i]);
        }
    }
    t->length = sqrt(t->length);
    if (missing)
        check_failures_add(&t->failures, "%zu of %zu gradients are no numbers: a kernel left them out", missing,
                           t->parts.count);
    return missing == 0;
}

/* In float32 with its constants the step is off by less than rate / 10^4, and by the rounding of the parameter. */
static void check_step(struct trial *t)
{
    struct weights weights = t->parts.weights;
    struct piece piece;
    for (size_t i = 0; i < t->parts.count; i++) {
        size_t at = i % PIECE;
        if (at == 0)
            fetch_piece(t, &weights, &piece, i, piece_from(t, i));
        double p = (double)piece.before[at], after = (double)piece.after[at];
        double exact = adamw_first_step(t->parts.optimizer, p, (double)piece.gradients[at]);
        double allowed = 1e-4 * adamw_rate(t->parts.optimizer) + FLT_EPSILON * fabs(p);
        if (!(fabs(after - exact) <= allowed)) {
            check_failures_add(&t->failures, "the update takes parameter %zu from %.9g to %.9g, AdamW to %.9g", i, p,
                               after, exact);
            return;
        }
    }
}

/* What is looked at from now on, in the place of the moments: a rank is to need no more memory here than while it trains. The
 * passes to come write other gradients. */
static void keep_step(struct trial *t)
{
    struct weights weights = t->parts.weights;
    size_t count = t->parts.count;
    t->workload->spare(t->bench);
    t->before = memory_new(count, sizeof *t->before);
    t->gradients = memory_new(count, sizeof *t->gradients);
    weights_next(&weights, t->before, count);
    device_fetch(t->gradients, t->parts.gradients, count * sizeof *t->gradients);
}

/* What is found `far` along a way. What the parameters change by is taken as it is once they are rounded. */
struct found {
    double loss;
    double told;    /* by how much the loss changes if the gradients are right */
    double squares; /* of what the parameters change by, their sum */
};

static struct found look(struct trial *t, enum way way, double far)
{
    const struct adamw *optimizer = t->parts.optimizer;
    float moved[PIECE];
    struct found found = { 0 };
    for (size_t from = 0; from < t->parts.count; from += PIECE) {
        size_t count = piece_from(t, from);
        const float *before = t->before + from, *gradients = t->gradients + from;
        for (size_t i = 0; i < count; i++) {
            double p = (double)before[i], g = (double)gradients[i];
            float direction = way == WAY_STEP ? (float)(adamw_first_step(optimizer, p, g) - p) : t->draws[i];
            moved[i] = before[i] + (float)far * direction;
            double change = (double)(moved[i] - before[i]);
            found.told += (double)gradients[i] * change;
            found.squares += change * change;
        }
        device_put(t->parts.parameters + from, moved, count * sizeof *moved);
    }
    t->workload->pass(t->bench);
    found.loss = t->parts.loss(t->bench);
    return found;
}

/* Half the difference of the loss across `before`, beside what the gradients say. A random direction may by chance be one in
 * which little changes: then the error is held against what changes in a usual one. */
static void check_slope(struct trial *t, enum way way, double far, double off)
{
    double seen = 0, told = 0, error = 0;
    for (int nearer = 0; nearer <= NEARER_MOST; nearer++) {
        struct found there = look(t, way, far), back = look(t, way, -far);
        seen = (there.loss - back.loss) / 2;
        told = (there.told - back.told) / 2;
        error = fabs(seen - told) / fmax(fabs(told), t->length * sqrt(there.squares / (double)t->parts.count));
        if (error <= off)
            return;
        far /= 2;
    }
    check_failures_add(
        &t->failures,
        "%s gradients disagree with finite differences by %.2g %% (%g %% allowed): %.4g, the loss says %.4g",
        way == WAY_STEP ? "along the step" : "in a random direction", 100 * error, 100 * off, told, seen);
}

static void check_slopes(struct trial *t, struct reach reach)
{
    check_slope(t, WAY_RANDOM, reach.random, reach.off);
    if (!(t->falls > 0))
        check_failures_add(&t->failures, "the step does not go where the loss falls");
    check_slope(t, WAY_STEP, fmin(1, reach.step / fabs(t->falls)), reach.off);
}

struct check_failures gradcheck_model(const struct workload *workload, const struct run *run)
{
    struct trial t;
    open_trial(&t, workload, run);
    take_step(&t);
    if (look_at_gradients(&t)) {
        check_step(&t);
        keep_step(&t);
        check_slopes(&t, reach_of((enum precision)run->precision));
    }
    close_trial(&t);
    return t.failures;
}

struct check_failures gradcheck_run(struct world *world, const struct workload *workload, const struct run *run)
{
    struct check_failures all = { 0 };
    if (!device_computes())
        return all;
    struct check_failures mine = { 0 };
    if (!world_is_simulated() || world_rank(world) == 0) /* there one process computes for all */
        mine = gradcheck_model(workload, run);
    int ranks = world_size(world);
    struct check_failures *gathered = memory_new((size_t)ranks, sizeof *gathered);
    world_gather(world, &mine, sizeof mine, gathered);
    for (int rank = 0; rank < ranks; rank++)
        check_failures_join(&all, &gathered[rank], "before anything was measured, rank %d: ", rank);
    free(gathered);
    return all;
}
