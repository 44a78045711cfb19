/* A training step against its floor: the time of its arithmetic and its memory traffic alone.
 *
 * MLP: the matrix products, each with OpenBLAS's fastest kernel and layout for it, plus AdamW's 28 bytes per parameter at the
 * rate of a copy. Transformer: all floating-point operations at the rate of its matrix products (timed the same way), plus the
 * bytes of all other operations at the rate of a copy. The copy is the faster of the C library's and a plain loop in each round.
 * Its two arrays together are as large as the optimizer's four, so that caches help both equally.
 *
 * Our windows are whole steps (forward, backward, AdamW) of one rank without collectives. Weights are reset in each window: a
 * model that fits its batch perfectly multiplies zeros. */
#include "bench.h"

#include "base/die.h"
#include "base/memory.h"
#include "base/stats.h"
#include "bench/step_work.h"
#include "device/device.h"
#include "products.h"
#include "world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 40, WARM_UP = 2, COPIES = 6 };
static const double WINDOW = 0.15; /* seconds of steps per round */

static const struct step_case {
    struct step step;
    const char *name;
    double goal;
} cases[] = {
    { { .model = WORK_MLP, .batch = 128 }, "MLP step, batch 128", 1.10 },
    { { .model = WORK_MLP, .batch = 512 }, "MLP step, batch 512", 1.05 },
    { { .model = WORK_TRANSFORMER, .batch = 8, .tokens = 128 }, "transformer step, 8x128", 2 },
    { { .model = WORK_TRANSFORMER, .batch = 8, .tokens = 256 }, "transformer step, 8x256", 2 },
    { { .model = WORK_TRANSFORMER, .batch = 8, .tokens = 256, .is_packed = true },
      "transformer step, 8 packed of 128 to 256",
      2 },
};

/* Everything that takes turns. */
struct contest {
    struct step_counts counts;
    struct trainee trainee;
    struct products products; /* in the model's order and layout, with the chosen kernel */
    struct best_products best;
    struct copy copy;
    int steps; /* per window */
};

/* Return seconds per call, after WARM_UP calls. */
static double window(void (*once)(void *), void *argument, int times)
{
    for (int i = 0; i < WARM_UP; i++)
        once(argument);
    double began = world_now();
    for (int i = 0; i < times; i++)
        once(argument);
    return (world_now() - began) / times;
}

static void open_contest(struct contest *c, struct makers *makers, const struct step *step)
{
    const struct step_sizes sizes = step_sizes_published();
    const size_t mebibyte = (size_t)1 << 20;
    c->counts = step_count(&sizes, step);
    size_t half = (size_t)c->counts.parameters * 4 * sizeof(float) / 2;
    trainee_open(&c->trainee, &sizes, step);
    products_open(&c->products, &sizes, step);
    copy_open(&c->copy, (half + mebibyte - 1) / mebibyte * mebibyte);
    c->best = products_find(makers, &sizes, step);
    if (fabs(products_flops(&c->best) - c->counts.product_flops) > 0.5)
        die(STATUS_WRONG, "a step has %.0f operations in matrix products, but the products of its floor have %.0f",
            c->counts.product_flops, products_flops(&c->best));
    c->steps = (int)fmax(1, fmin(20, WINDOW / window(trainee_once, &c->trainee, 1)));
}

static void close_contest(struct contest *c)
{
    trainee_close(&c->trainee);
    products_close(&c->products);
    copy_close(&c->copy);
}

/* Seconds in a round. */
struct round {
    double step, products, best, copied_byte;
};

static double step_window(struct contest *c)
{
    trainee_restart(&c->trainee);
    return window(trainee_once, &c->trainee, c->steps);
}

/* Copy by a loop like the optimizer's. */
static void loop_once(void *argument)
{
    const struct copy *copy = argument;
    device_scale(copy->to, copy->from, 1, copy->bytes / sizeof(float));
}

static double copied_byte(struct copy *copy)
{
    return fmin(window(copy_once, copy, COPIES), window(loop_once, copy, COPIES)) / (2.0 * (double)copy->bytes);
}

/* Run one round; every second round measures the step last. */
static struct round run_round(struct contest *c, int turn)
{
    struct round r = { 0 };
    if (turn % 2 == 0)
        r.step = step_window(c);
    r.best = products_seconds(&c->best);
    r.copied_byte = copied_byte(&c->copy);
    r.products = window(products_once, &c->products, c->steps);
    if (turn % 2 == 1)
        r.step = step_window(c);
    return r;
}

/* Return the floor in seconds, given the seconds of the matrix products. */
static double floor_of(const struct contest *c, const struct round *r, double products)
{
    const struct step_counts *n = &c->counts;
    const double adamw_bytes = 28 * n->parameters; /* reads p, m, v, g; writes p, m, v */
    if (c->trainee.step.model == WORK_MLP)
        return products + adamw_bytes * r->copied_byte;
    return n->flops * products / n->product_flops + n->other_bytes * r->copied_byte;
}

static void run_case(struct bench *bench, struct makers *makers, const struct step_case *of)
{
    struct contest contest;
    open_contest(&contest, makers, &of->step);
    int rounds = bench_rounds(bench, ROUNDS);
    double *columns = memory_new(5 * (size_t)rounds, sizeof *columns);
    double *step = columns, *floors = step + rounds, *products = floors + rounds, *best = products + rounds;
    double *in_order = best + rounds;
    for (int i = 0; i < rounds; i++) {
        const struct round r = run_round(&contest, i);
        step[i] = r.step;
        floors[i] = floor_of(&contest, &r, r.best);
        in_order[i] = floor_of(&contest, &r, r.products);
        products[i] = r.products;
        best[i] = r.best;
    }
    rows_add_rounds(&bench->rows, memory_text("%s, against its floor, ms", of->name), 1e3, step, floors, rounds,
                    of->goal);
    rows_add_rounds(&bench->rows, memory_text("  its products, against kernel and layout best for each, ms"), 1e3,
                    products, best, rounds, (double)NAN);
    rows_add_rounds(&bench->rows, memory_text("  the step against a floor of its products in their order, ms"), 1e3,
                    step, in_order, rounds, (double)NAN);
    free(columns);
    close_contest(&contest);
}

void bench_steps(struct bench *bench)
{
    struct makers makers;
    device_open(0, PRECISION_FP32);
    makers_open(&makers);
    rows_heading("A training step");
    if (makers.count == 0)
        puts("not measured: the floors are made by build/lib/cores/time_products, which needs OpenBLAS");
    for (size_t i = 0; i < sizeof cases / sizeof *cases && makers.count > 0; i++)
        run_case(bench, &makers, &cases[i]);
    makers_close(&makers);
    device_close();
}
