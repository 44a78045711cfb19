/* A training step against its floor: the time of its arithmetic and its memory traffic alone.
 *
 * MLP: the matrix products, each with OpenBLAS's fastest kernel and layout for it, plus AdamW's 28 bytes per parameter at the
 * rate of a copy. Transformer: all floating-point operations at the rate of its matrix products (timed the same way), plus the
 * bytes of all other operations at the rate of a copy. The copy is the faster of the C library's and a plain loop in each round.
 * Its two arrays together are as large as the optimizer's four, so that caches help both equally.
 *
 * OpenBLAS takes its kernel when it is loaded, so products at other kernels are timed in processes of their own (products.h),
 * started anew with each start of this one.
 *
 * Our windows are whole steps (forward, backward, AdamW) of one rank without collectives. Weights are reset in each window: a
 * model that fits its batch perfectly multiplies zeros. */
#include "products.h"
#include "ranks.h"

#include "base/csv.h"
#include "base/die.h"
#include "base/memory.h"
#include "base/stats.h"
#include "bench/step_work.h"
#include "device/device.h"
#include "world/world.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4, WARM_UP = 2, COPIES = 6, FINDING_TURNS = 2, FINDING_S = 600 /* timeout of a case */ };
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

/* The contestants, which take turns. */
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

static void open_contest(struct contest *c, const struct step_sizes *sizes, const struct step *step,
                         const struct best_products *best)
{
    const size_t mebibyte = (size_t)1 << 20;
    c->counts = step_count(sizes, step);
    size_t half = (size_t)c->counts.parameters * 4 * sizeof(float) / 2;
    trainee_open(&c->trainee, sizes, step);
    products_open(&c->products, sizes, step);
    copy_open(&c->copy, (half + mebibyte - 1) / mebibyte * mebibyte);
    c->best = *best;
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

static void run_case(struct ranks *ranks, const struct step_case *of, const struct best_products *fastest)
{
    struct contest contest;
    open_contest(&contest, &ranks->sizes, &of->step, fastest);
    int rounds = ranks_rounds(ranks, ROUNDS);
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
    char *what = memory_text("%s, against its floor, ms", of->name);
    ranks_found(ranks, what, 1e3, of->goal, step, floors, rounds);
    ranks_found(ranks, "  its products, against kernel and layout best for each, ms", 1e3, (double)NAN, products, best,
                rounds);
    ranks_found(ranks, "  the step against a floor of its products in their order, ms", 1e3, (double)NAN, step,
                in_order, rounds);
    free(what);
    free(columns);
    close_contest(&contest);
}

/* Start a process for each kernel. Without OpenBLAS end the program: there is no floor. */
static void open_makers(struct makers *makers)
{
    makers_open(makers);
    if (makers->count == 0)
        die(STATUS_CANNOT, "no floor of a step: build/lib/cores/time_products needs OpenBLAS");
}

void ranks_products(struct ranks *ranks)
{
    const int turns = ranks_rounds(ranks, FINDING_TURNS) < FINDING_TURNS ? 1 : FINDING_TURNS;
    struct makers makers;
    open_makers(&makers);
    struct csv csv = { .out = fopen(ranks->products, "w") };
    if (!csv.out)
        die(STATUS_WRONG, "cannot write %s: %s", ranks->products, strerror(errno));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct best_products best = products_list(&ranks->sizes, &cases[i].step);
        products_find(&best, &makers, turns);
        products_write(&best, cases[i].name, &csv);
        world_set_timeout(ranks->world, FINDING_S);
    }
    if (fclose(csv.out) != 0)
        die(STATUS_WRONG, "cannot write %s: %s", ranks->products, strerror(errno));
    makers_close(&makers);
}

void ranks_steps(struct ranks *ranks)
{
    struct makers makers;
    open_makers(&makers);
    struct csv_table table = csv_open(ranks->products, (const char *const[]){ "case", "maker", "words", NULL });
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct best_products best = products_list(&ranks->sizes, &cases[i].step);
        if (!products_read(&best, &makers, cases[i].name, &table))
            die(STATUS_WRONG, "%s lacks a product of '%s', or its kernel; run bench again", ranks->products,
                cases[i].name);
        run_case(ranks, &cases[i], &best);
    }
    csv_free(&table);
    makers_close(&makers);
}
