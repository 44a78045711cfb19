/* test_branch.c: test the operations of an eager branch by finite differences, its replay and its fused form against it, its storage in
 * bf16, its halves, and that what its operations count is what its settings say. The tests of GPUs link it with theirs. */
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "model/branch.h"
#include "support/on_device.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 3 };

static float *draw(size_t count)
{
    struct random random;
    float *x = memory_new(count, sizeof *x);
    random_seed(&random, SEED);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)random_normal(&random);
    return x;
}

static size_t cells_of(struct branch_settings of)
{
    return (size_t)of.rows * (size_t)of.cols;
}

/* Run forward on features in host memory. */
static void forward(struct branch *branch, const float *x, size_t count)
{
    float *features = device_new(MEMORY_DATA, count, sizeof *features);
    device_put(features, x, count * sizeof *x);
    branch_forward(branch, features, count);
    device_free(features);
}

static double loss_of(struct branch *branch, const float *x, size_t count)
{
    forward(branch, x, count);
    return branch_loss(branch);
}

/* A branch's parameters and gradients, copied to host memory. */
struct parts {
    struct branch_part at[2];
};

static float *fetched(const float *x, size_t count)
{
    float *host = memory_new(count, sizeof *host);
    device_fetch(host, x, count * sizeof *host);
    return host;
}

static struct parts get_parts(const struct branch *branch)
{
    struct parts parts;
    branch_parts(branch, parts.at);
    for (int p = 0; p < 2; p++) {
        struct branch_part *part = &parts.at[p];
        *part = (struct branch_part){ fetched(part->value, part->count),
                                      part->gradient ? fetched(part->gradient, part->count) : NULL, part->count };
    }
    return parts;
}

static void free_parts(struct parts *parts)
{
    for (int p = 0; p < 2; p++) {
        free(parts->at[p].value);
        free(parts->at[p].gradient);
    }
}

static void put_values(struct branch *branch, const struct parts *parts)
{
    struct branch_part part[2];
    branch_parts(branch, part);
    device_wait(); /* a copy does not wait for work that reads the parameters */
    for (int p = 0; p < 2; p++)
        device_put(part[p].value, parts->at[p].value, part[p].count * sizeof(float));
}

static struct branch_settings small(enum branch_kind kind, enum branch_way way)
{
    return (struct branch_settings){ .kind = kind, .way = way, .blocks = 3, .rows = 5, .cols = 13 };
}

/* Compare some gradients with central differences of the loss. */
static void assert_gradients(struct branch_settings of)
{
    const size_t cells = cells_of(of);
    const double step = 0.01;
    float *x = draw(cells);
    struct branch *branch = branch_open(of, SEED), *other;
    struct branch_settings fused = of;
    fused.way = BRANCH_FUSED;
    fused.is_bf16 = false;
    other = branch_open(fused, SEED);
    for (int pass = 0; pass < 3; pass++) { /* a replay records in the first */
        forward(branch, x, cells);
        branch_backward(branch);
    }
    struct parts parts = get_parts(branch), changed = get_parts(other);
    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i < parts.at[p].count; i += 1 + parts.at[p].count / 7) {
            float *at = &changed.at[p].value[i], was = *at;
            *at = was + (float)step;
            put_values(other, &changed);
            const double above = loss_of(other, x, cells);
            *at = was - (float)step;
            put_values(other, &changed);
            const double below = loss_of(other, x, cells), slope = (above - below) / (2 * step),
                         gradient = (double)parts.at[p].gradient[i];
            *at = was;
            if (!(fabs(gradient - slope) < 0.01 * fabs(slope) + 2e-4))
                fail_msg("kind %d, way %d, part %d: gradient %zu is %g, not %g", of.kind, of.way, p, i, gradient,
                         slope);
        }
    free_parts(&parts);
    free_parts(&changed);
    branch_close(branch);
    branch_close(other);
    free(x);
}

TEST(gradients_are_differences)
{
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++)
        for (enum branch_way way = BRANCH_EAGER; way < BRANCH_WAYS; way++)
            assert_gradients(small(kind, way));
}

/* Run some steps, and return a loss and the parameters then. */
struct outcome {
    double loss;
    struct parts parts;
};

/* Take a step down the gradients (plain SGD). */
static void update(struct branch *b, float rate)
{
    struct branch_part part[2];
    const int parts = branch_parts(b, part);
    for (int i = 0; i < parts; i++) {
        float *step = device_new(MEMORY_GRADIENTS, part[i].count, sizeof *step);
        device_scale(step, part[i].gradient, -rate, part[i].count);
        device_add(part[i].value, step, part[i].count);
        device_free(step);
    }
}

static struct outcome train(struct branch_settings of, int steps)
{
    float *x = draw(cells_of(of));
    struct branch *branch = branch_open(of, SEED);
    struct outcome outcome = { 0 };
    for (int step = 0; step < steps; step++) {
        outcome.loss = loss_of(branch, x, cells_of(of));
        branch_backward(branch);
        update(branch, 0.5f);
    }
    outcome.parts = get_parts(branch);
    branch_close(branch);
    free(x);
    return outcome;
}

static double difference(struct outcome *a, struct outcome *b)
{
    double most = fabs(a->loss / b->loss - 1);
    for (int p = 0; p < 2; p++) {
        const struct branch_part *one = &a->parts.at[p], *other = &b->parts.at[p];
        assert_int_equal(one->count, other->count);
        for (size_t i = 0; i < one->count; i++)
            most = fmax(most, fabs((double)(one->value[i] - other->value[i])));
    }
    free_parts(&a->parts);
    free_parts(&b->parts);
    return most;
}

static double difference_of(struct branch_settings a, struct branch_settings b, int steps)
{
    struct outcome first = train(a, steps), second = train(b, steps);
    return difference(&first, &second);
}

TEST(a_replay_gives_the_same_bits)
{
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++)
        assert_true(difference_of(small(kind, BRANCH_EAGER), small(kind, BRANCH_REPLAY), 20) <= 0);
}

TEST(a_fused_branch_differs_by_rounding)
{
    static const int shapes[][3] = { { 1, 1, 1 }, { 3, 5, 13 }, { 2, 1, 64 }, { 2, 200, 65 }, { 1, 3, 5000 } };
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++)
        for (int i = 0; i < 5; i++) {
            struct branch_settings eager = { .kind = kind,
                                             .blocks = shapes[i][0],
                                             .rows = shapes[i][1],
                                             .cols = shapes[i][2] },
                                   fused = eager;
            fused.way = BRANCH_FUSED;
            assert_true(difference_of(eager, fused, 5) < 1e-4);
        }
}

TEST(bf16_differs_by_its_rounding)
{
    for (enum branch_way way = BRANCH_EAGER; way < BRANCH_WAYS; way++) {
        struct branch_settings wide = small(BRANCH_NORM, BRANCH_EAGER), narrow = small(BRANCH_NORM, way);
        narrow.is_bf16 = true;
        const double off = difference_of(wide, narrow, 5);
        assert_true(off > 1e-5 && off < 0.03);
    }
}

TEST(training_lowers_the_loss)
{
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++) {
        struct outcome first = train(small(kind, BRANCH_EAGER), 1), last = train(small(kind, BRANCH_EAGER), 60);
        assert_true(last.loss < 0.98 * first.loss);
        difference(&first, &last);
    }
}

/* The operations of each step count the work that the settings imply. */
TEST(operations_count_what_the_settings_say)
{
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++)
        for (int is_bf16 = 0; is_bf16 <= (kind == BRANCH_NORM); is_bf16++) {
            struct branch_settings of = small(kind, BRANCH_EAGER);
            of.is_bf16 = is_bf16;
            float *x = draw(cells_of(of));
            struct branch *branch = branch_open(of, SEED);
            for (int step = 0; step < 3; step++) {
                forward(branch, x, cells_of(of));
                branch_backward(branch);
                const struct eager_count counted = branch_count(branch), forward = branch_work(of, false),
                                         backward = branch_work(of, true);
                assert_int_equal(counted.dispatched, 2 * 3 * branch_operations(kind));
                assert_int_equal(counted.dispatched, forward.dispatched + backward.dispatched);
                assert_true(fabs(counted.work.bytes - forward.work.bytes - backward.work.bytes) < 0.5);
                assert_true(fabs(counted.work.flops - forward.work.flops - backward.work.flops) < 0.5);
            }
            branch_close(branch);
            free(x);
        }
}

/* By hand: a block of MICRO on 10 floats moves 3 + 2 + 3 + 2 + 3 + 3 tensors forward and computes 1 + 1 + 1 + 25 + 1 + 1 per element. */
TEST(counts_are_those_by_hand)
{
    struct branch_settings of = { .kind = BRANCH_MICRO, .blocks = 1, .rows = 2, .cols = 5 };
    struct eager_count count = branch_work(of, false);
    assert_true(fabs(count.work.bytes - 16 * 40) < 1e-9 && fabs(count.work.flops - 30 * 10) < 1e-9);
    assert_int_equal(count.dispatched, 6);
    assert_true(fabs(branch_edge_bytes(of, false) - 40) < 1e-9 && fabs(branch_edge_bytes(of, true) - 2 * 40) < 1e-9);
    /* backward: dy and a gradient of each tensor, sums too; of mul and relu their inputs, of sigmoid its result */
    count = branch_work(of, true);
    assert_true(fabs(count.work.bytes - (3 + 3 + 5 + 3 + 5 + 3) * 40) < 1e-9);
    of.way = BRANCH_FUSED;
    assert_true(fabs(branch_edge_bytes(of, false) - 40) < 1e-9 && fabs(branch_edge_bytes(of, true)) < 1e-9);
    count = branch_work(of, false);
    assert_true(fabs(count.work.bytes - 4 * 40) < 1e-9 && fabs(count.work.flops - 30 * 10) < 1e-9);
    assert_int_equal(count.dispatched, 0);
    of = (struct branch_settings){ .kind = BRANCH_NORM, .is_bf16 = true, .blocks = 2, .rows = 2, .cols = 5 };
    /* bf16: 2 + 2 + 3 + 2 + 3 tensors of 20 bytes */
    assert_true(fabs(branch_work(of, false).work.bytes - 2 * 12 * 20) < 1e-9);
}

/* --- halves -------------------------------------------------------------------------------------------------------- */

/* Open a branch whose parameters are the first of another's. */
static struct branch *open_like(struct branch_settings of, struct branch *other)
{
    struct branch *branch = branch_open(of, SEED);
    struct parts parts = get_parts(branch), from = get_parts(other);
    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i < parts.at[p].count; i++)
            parts.at[p].value[i] = from.at[p].value[i];
    put_values(branch, &parts);
    free_parts(&parts);
    free_parts(&from);
    return branch;
}

static void run_some(struct branch *branch, const float *x, size_t count)
{
    for (int pass = 0; pass < 3; pass++) { /* a replay records in the first */
        forward(branch, x, count);
        branch_backward(branch);
    }
}

/* Compare gradients of a half, the first `computed` of every `every`, with `times` those of another branch. */
static void assert_same_gradients(struct branch *half, struct branch *other, size_t computed, size_t every,
                                  double times, double tolerance)
{
    struct parts a = get_parts(half), b = get_parts(other);
    for (int p = 0; p < 2; p++) {
        double most = 0;
        for (size_t i = 0; i < b.at[p].count; i++)
            most = fmax(most, fabs((double)b.at[p].gradient[i]));
        for (size_t i = 0; i < b.at[p].count; i++) {
            const double got = (double)a.at[p].gradient[i / computed * every + i % computed],
                         wanted = times * (double)b.at[p].gradient[i];
            if (!(fabs(got - wanted) <= tolerance * most))
                fail_msg("part %d: gradient %zu is %g, not %g", p, i, got, wanted);
        }
        assert_true(most > 0);
    }
    free_parts(&a);
    free_parts(&b);
}

/* Half the bytes: the gradients are those of a branch on half the rows. */
TEST(half_the_bytes_is_half_the_rows)
{
    enum { COLS = 100 };
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++)
        for (enum branch_way way = BRANCH_EAGER; way < BRANCH_WAYS; way++)
            for (int is_bf16 = 0; is_bf16 <= (kind == BRANCH_NORM); is_bf16++)
                for (int rows = 6; rows <= 7; rows++) {
                    struct branch_settings whole = { .kind = kind, .is_bf16 = is_bf16, .blocks = 3, .cols = COLS };
                    struct branch_settings half = whole;
                    const bool is_norm = kind == BRANCH_NORM;
                    half.way = way;
                    half.half = HALF_BYTES;
                    half.rows = rows;
                    whole.rows = is_norm ? rows - rows / 2 : 1;
                    whole.cols = is_norm ? COLS : COLS * rows - COLS * rows / 2;
                    const size_t cells = cells_of(whole);
                    float *x = draw(cells_of(half));
                    struct branch *a = branch_open(half, SEED), *b = open_like(whole, a);
                    run_some(a, x, cells_of(half));
                    run_some(b, x, cells);
                    const size_t group = is_norm ? COLS : cells;
                    assert_same_gradients(a, b, group, group, 1, is_bf16 ? 0.02 : 1e-5);
                    branch_close(a);
                    branch_close(b);
                    free(x);
                }
}

/* Half the arithmetic: one of two groups of columns is computed; their gradients are those of a branch of these columns, whose loss is a
 * mean over half as many cells. */
TEST(half_the_flops_is_half_the_columns)
{
    enum { ROWS = 3, COLS = 2 * HALF_GROUP };
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++)
        for (enum branch_way way = BRANCH_EAGER; way < BRANCH_WAYS; way++)
            for (int is_bf16 = 0; is_bf16 <= (kind == BRANCH_NORM); is_bf16++) {
                struct branch_settings half = { .kind = kind,
                                                .way = way,
                                                .is_bf16 = is_bf16,
                                                .blocks = 3,
                                                .rows = ROWS,
                                                .cols = COLS,
                                                .half = HALF_FLOPS },
                                       whole = half;
                whole.way = BRANCH_EAGER;
                whole.half = HALF_NONE;
                whole.cols = COLS / 2;
                float *x = draw(cells_of(half)), *some = memory_new(cells_of(whole), sizeof *some);
                for (size_t i = 0; i < cells_of(whole); i++)
                    some[i] = x[i / HALF_GROUP * COLS + i % HALF_GROUP];
                struct branch *a = branch_open(half, SEED), *b = branch_open(whole, SEED);
                struct parts from = get_parts(a), to = get_parts(b);
                for (int p = 0; p < 2; p++)
                    for (size_t i = 0; i < to.at[p].count; i++)
                        to.at[p].value[i] = from.at[p].value[i / HALF_GROUP * COLS + i % HALF_GROUP];
                put_values(b, &to);
                free_parts(&from);
                free_parts(&to);
                run_some(a, x, cells_of(half));
                run_some(b, some, cells_of(whole));
                assert_same_gradients(a, b, HALF_GROUP, COLS, 0.5, is_bf16 ? 0.02 : 1e-5);
                branch_close(a);
                branch_close(b);
                free(x);
                free(some);
            }
}

/* Operations on fewer cells than two groups stay whole, those of a chain in one loop do not. */
TEST(tiny_operations_are_not_halved)
{
    for (enum branch_way way = BRANCH_EAGER; way < BRANCH_WAYS; way++)
        for (enum half half = HALF_BYTES; half <= HALF_FLOPS; half++)
            for (int cols = 2 * HALF_GROUP - 1; cols <= 2 * HALF_GROUP; cols++) {
                const struct branch_settings whole = { BRANCH_MICRO, way, false, .blocks = 3, .rows = 1, .cols = cols };
                struct branch_settings of = whole;
                of.half = half;
                const struct pointwise_count all = branch_work(whole, true).work, some = branch_work(of, true).work;
                const bool is_whole = cols < 2 * HALF_GROUP && way != BRANCH_FUSED;
                assert_true((some.bytes == all.bytes) == (is_whole || half == HALF_FLOPS));
                assert_true((some.flops == all.flops) == (is_whole || half == HALF_BYTES));
            }
}

/* Halves are exact, what is odd rounds up, and the operations count what the settings say. */
TEST(halves_count_half)
{
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++)
        for (enum branch_way way = BRANCH_EAGER; way < BRANCH_WAYS; way++)
            for (enum half half = HALF_BYTES; half <= HALF_FLOPS; half++)
                for (int odd = 0; odd <= 1; odd++) {
                    struct branch_settings whole = {
                        .kind = kind, .way = way, .blocks = 3, .rows = 8, .cols = 2 * HALF_GROUP + 2
                    };
                    whole.rows += odd;
                    whole.cols += odd;
                    struct branch_settings of = whole;
                    of.half = half;
                    /* cells of MICRO count as one row */
                    const double rows = kind == BRANCH_MICRO ? 1 : whole.rows, cells = (double)cells_of(whole),
                                 cols = cells / rows;
                    const double computed = half == HALF_FLOPS ? rows * ceil(cols / 2) : cells;
                    const double touched = half == HALF_FLOPS ? cells
                                           : rows > 1         ? ceil(rows / 2) * cols
                                                              : ceil(cols / 2);
                    double flops = 0, bytes = 0;
                    for (int is_backward = 0; is_backward <= 1; is_backward++) {
                        const struct eager_count all = branch_work(whole, is_backward),
                                                 some = branch_work(of, is_backward);
                        assert_int_equal(all.dispatched, some.dispatched);
                        assert_true(fabs(some.work.flops - all.work.flops * computed / cells) < 1e-6);
                        assert_true(fabs(some.work.bytes - all.work.bytes * touched / cells) < 1e-6);
                        flops += some.work.flops;
                        bytes += some.work.bytes;
                    }
                    assert_true(fabs(branch_bytes(of) - branch_bytes(whole) * touched / cells) < 1e-6);
                    float *x = draw(cells_of(of));
                    struct branch *branch = branch_open(of, SEED);
                    run_some(branch, x, cells_of(of));
                    assert_true(fabs(branch_count(branch).work.flops - flops) < 1e-6);
                    assert_true(fabs(branch_count(branch).work.bytes - bytes) < 1e-6);
                    branch_close(branch);
                    free(x);
                }
}

/* Return the sums of host and GPU, in bytes by owner. */
static struct ledger_sums held(void)
{
    struct ledger_sums sums = ledger_now(MEMORY_HOST);
    const struct ledger_sums gpu = ledger_now(MEMORY_GPU);
    for (int owner = 0; owner < MEMORY_OWNERS; owner++)
        sums.of[owner] += gpu.of[owner];
    return sums;
}

/* A branch also holds a sum and the moments of a norm, besides its tensors. */
TEST(memory_is_what_it_says)
{
    enum { ROWS = 64, COLS = 2000 };
    const int known = device_is_asynchronous() ? 2 : 3; /* on a GPU, kernels also have scratch among the activations */
    static const enum memory_owner owners[] = { MEMORY_PARAMETERS, MEMORY_GRADIENTS, MEMORY_ACTIVATIONS };
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++)
        for (enum branch_way way = BRANCH_EAGER; way <= BRANCH_FUSED; way++)
            for (int is_bf16 = 0; is_bf16 <= (kind == BRANCH_NORM);
                 is_bf16++) { /* tiny operations are always of floats */
                const struct branch_settings of = {
                    .kind = kind, .way = way, .is_bf16 = is_bf16, .blocks = 3, .rows = ROWS, .cols = COLS
                };
                const struct ledger_sums before = held();
                float *x = draw(cells_of(of));
                struct branch *branch = branch_open(of, SEED);
                run_some(branch, x, cells_of(of));
                const struct ledger_sums now = held();
                const struct memory_estimate says = branch_memory(of);
                for (int i = 0; i < known; i++)
                    if (fabs((double)(now.of[owners[i]] - before.of[owners[i]]) - says.of[owners[i]]) > 32e3)
                        fail_msg("kind %d, way %d, bf16 %d: %s %zu bytes, said to be %.0f", kind, way, is_bf16,
                                 memory_owner_names[owners[i]], now.of[owners[i]] - before.of[owners[i]],
                                 says.of[owners[i]]);
                branch_close(branch);
                free(x);
            }
}

/* Parts of a half follow each other without gap, and compute what half_computed() says. */
TEST(parts_cover_the_touched_cells)
{
    for (enum half half = HALF_NONE; half <= HALF_FLOPS; half++)
        for (size_t rows = 1; rows <= 5; rows++)
            for (size_t cols = 1; cols <= 5 * HALF_GROUP; cols += 7) {
                size_t at = 0, computed = 0;
                for (struct half_part part = { 0 }; half_next(&part, half, rows, cols, HALF_GROUP);) {
                    assert_int_equal(part.first, at);
                    assert_true(part.end > part.first && part.end - part.first <= HALF_GROUP);
                    computed += (size_t)part.times * (part.end - part.first);
                    at = part.end;
                }
                assert_int_equal(at, half_touched(half, rows, cols));
                assert_int_equal(computed, half_computed(half, rows, cols));
            }
}

AROUND_TESTS(open_device, device_close)
