/* test_pointwise.c: compare pointwise operations, chains and branches of the CUDA device with the CPU's: every operation, both storages,
 * whole and halved, at sizes that are no multiples of a vector, warp or block, of rows that fit registers and of those that do not.
 * A captured graph must give the bits of the calls that it captured, and all orders of execution the same bits.
 *
 *     test_pointwise CPU_MODULE [bits]
 *
 * CPU_MODULE is a shared library of the CPU's files. `bits` only prints a digest of some results. Exits with 77 without a GPU. */
#include "base/bf16.h"
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "gpu/beside_cpu.h"
#include "model/branch.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- tensors in both memories ---------------------------------------------------------------------------------------- */

/* The tensors of a case, each on the host and on the GPU. */
struct twin {
    void *host, *gpu;
    size_t count;
    bool is_bf16;
};

static struct {
    struct random random;
    size_t shift; /* elements before each tensor: with 1 no row is aligned */
    void *host[64], *gpu[64];
    int twins;
} test;

static void begin_case(int seed, bool is_aligned)
{
    random_seed(&test.random, (uint64_t)seed);
    test.shift = is_aligned ? 0 : 1;
}

static void end_case(void)
{
    while (test.twins > 0) {
        free(test.host[--test.twins]);
        device_free(test.gpu[test.twins]);
    }
}

static size_t size_of(bool is_bf16)
{
    return is_bf16 ? sizeof(uint16_t) : sizeof(float);
}

static float value(const void *x, size_t i, bool is_bf16)
{
    return is_bf16 ? bf16_widen(((const uint16_t *)x)[i]) : ((const float *)x)[i];
}

/* Return a tensor of normal numbers, also where it is an output: what a kernel should have written then differs. */
static struct twin random_twin(size_t count, bool is_bf16)
{
    const size_t size = size_of(is_bf16);
    struct twin x = { memory_new(count + 1, size), device_new(MEMORY_DATA, count + 1, size), count, is_bf16 };
    test.host[test.twins] = x.host;
    test.gpu[test.twins++] = x.gpu;
    x.host = (char *)x.host + test.shift * size;
    x.gpu = (char *)x.gpu + test.shift * size;
    for (size_t i = 0; i < count; i++) {
        const float drawn = (float)random_normal(&test.random);
        if (is_bf16)
            ((uint16_t *)x.host)[i] = bf16_round(drawn);
        else
            ((float *)x.host)[i] = drawn;
    }
    device_put(x.gpu, x.host, count * size);
    return x;
}

/* Compare results up to `limit` times the largest magnitude, at least that of the inputs, and a last bit of bf16. */
static void expect_values(const char *what, const void *got, const void *wanted, size_t count, bool is_bf16,
                          double limit)
{
    double most = 1;
    for (size_t i = 0; i < count; i++)
        if (fabs((double)value(wanted, i, is_bf16)) > most)
            most = fabs((double)value(wanted, i, is_bf16));
    for (size_t i = 0; i < count; i++) {
        const double x = (double)value(got, i, is_bf16), y = (double)value(wanted, i, is_bf16);
        const double allowed = limit * most + (is_bf16 ? 0x1p-7 * fabs(y) : 0);
        if (!(fabs(x - y) <= allowed))
            fail_msg("%s, element %zu of %zu: %.9g, not %.9g +- %.2g", what, i, count, x, y, allowed);
    }
}

/* Return the share of values with the CPU's bits. */
static double same_bits(struct twin x)
{
    const size_t size = size_of(x.is_bf16);
    char *got = memory_new(x.count, size);
    size_t same = 0;
    device_fetch(got, x.gpu, x.count * size);
    for (size_t i = 0; i < x.count; i++)
        same += memcmp(got + i * size, (const char *)x.host + i * size, size) == 0;
    free(got);
    return (double)same / (double)x.count;
}

static void expect_alike(const char *what, struct twin x, double limit)
{
    const size_t bytes = x.count * size_of(x.is_bf16);
    void *got = memory_new(x.count, size_of(x.is_bf16));
    device_fetch(got, x.gpu, bytes);
    digest(got, bytes);
    expect_values(what, got, x.host, x.count, x.is_bf16, limit);
    free(got);
}

/* --- operations ------------------------------------------------------------------------------------------------------- */

static const struct shape {
    size_t rows, cols;
} shapes[] = {
    { 3, 2 * HALF_GROUP + 100 }, { 1, 1 }, { 1, 1000 }, { 3, 31 }, { 4, 256 }, { 5, 1025 }, { 2, 4100 }, { 3, 6001 }
};
enum { SHAPES = sizeof shapes / sizeof *shapes, MANY = 530 }; /* MANY rows: more than a layer norm has parts */

/* Sums of rows: the CPU adds one after the other. */
static const double alike = 2e-6, sums_alike = 3e-5;

static void check_operation(struct pointwise of, bool adds)
{
    const size_t cells = of.rows * of.cols;
    const bool is16 = of.is_bf16;
    struct twin a = random_twin(cells, is16), b = random_twin(cells, is16), y = random_twin(cells, is16),
                dy = random_twin(cells, is16), da = random_twin(cells, is16), db = random_twin(cells, is16),
                weight = random_twin(of.cols, false), bias = random_twin(of.cols, false),
                moments = random_twin(2 * of.rows, false), of_weight = random_twin(of.cols, false),
                of_bias = random_twin(of.cols, false);
    float *scratch = memory_new(cpu(device_pointwise_scratch)(of.cols, of.half), sizeof *scratch),
          *gpu_scratch = device_new(MEMORY_DATA, device_pointwise_scratch(of.cols, of.half), sizeof *gpu_scratch);
    struct pointwise_back back = { .of = of, .adds_a = adds, .adds_b = adds }, gpu;
    back.of.a = a.host, back.of.b = b.host, back.of.y = y.host, back.of.moments = moments.host;
    back.of.weight = weight.host, back.of.bias = bias.host, back.dy = dy.host, back.da = da.host, back.db = db.host;
    back.weight_gradient = of_weight.host, back.bias_gradient = of_bias.host, back.scratch = scratch;
    gpu = back;
    gpu.of.a = a.gpu, gpu.of.b = b.gpu, gpu.of.y = y.gpu, gpu.of.moments = moments.gpu;
    gpu.of.weight = weight.gpu, gpu.of.bias = bias.gpu, gpu.dy = dy.gpu, gpu.da = da.gpu, gpu.db = db.gpu;
    gpu.weight_gradient = of_weight.gpu, gpu.bias_gradient = of_bias.gpu, gpu.scratch = gpu_scratch;
    device_pointwise(&gpu.of);
    cpu(device_pointwise)(&back.of);
    expect_alike(pointwise_names[of.op], y, of.op == POINTWISE_LAYER_NORM ? sums_alike : alike);
    /* from equal results */
    device_put(y.gpu, y.host, cells * size_of(is16));
    device_put(moments.gpu, moments.host, 2 * of.rows * sizeof(float));
    device_pointwise_back(&gpu);
    cpu(device_pointwise_back)(&back);
    expect_alike("gradient of a", da, of.op == POINTWISE_LAYER_NORM ? sums_alike : alike);
    expect_alike("gradient of b", db, alike);
    expect_alike("gradient of weight", of_weight, sums_alike);
    expect_alike("gradient of bias", of_bias, sums_alike);
    free(scratch);
    device_free(gpu_scratch);
}

static void check_operations(int shapes_checked)
{
    for (int i = 0; i < shapes_checked; i++)
        for (int op = 0; op < POINTWISE_OPS; op++)
            for (enum half half = HALF_NONE; half <= HALF_FLOPS; half++)
                for (int how = 0; how < 2; how++) { /* aligned floats that are added to; bf16 that is neither */
                    struct pointwise of = { (enum pointwise_op)op, .is_bf16 = how, .half = half, .rows = shapes[i].rows,
                                            .cols = shapes[i].cols };
                    if (half == HALF_BYTES && op == POINTWISE_LAYER_NORM && of.rows < 2)
                        continue;
                    begin_case(i, how == 0);
                    check_operation(of, how == 0);
                    end_case();
                    if (half == HALF_NONE) { /* the other alignment, gradients written */
                        begin_case(i, how == 1);
                        check_operation(of, how == 1);
                        end_case();
                    }
                }
}

TEST(test_operations)
{
    check_operations(SHAPES);
    begin_case(0, true);
    check_operation((struct pointwise){ .op = POINTWISE_LAYER_NORM, .rows = MANY, .cols = 12 }, false);
    end_case();
}

TEST(test_fill_and_scale)
{
    enum { CELLS = 2001, COUNT = 37 };
    for (int how = 0; how < 4; how++) {
        const bool is16 = how % 2;
        begin_case(how, how / 2);
        struct twin out = random_twin(CELLS, is16), x = random_twin(COUNT, false), scaled = random_twin(CELLS, is16);
        device_pointwise_fill(out.gpu, CELLS, is16, x.gpu, COUNT);
        cpu(device_pointwise_fill)(out.host, CELLS, is16, x.host, COUNT);
        device_pointwise_scale(scaled.gpu, out.gpu, 0.3f, CELLS, is16);
        cpu(device_pointwise_scale)(scaled.host, out.host, 0.3f, CELLS, is16);
        expect_alike("fill", out, 0);
        expect_alike("scale", scaled, 0);
        end_case();
    }
}

/* --- chains ----------------------------------------------------------------------------------------------------------- */

static void check_chain(struct chain of)
{
    const size_t cells = (size_t)of.rows * (size_t)of.cols, cols = (size_t)of.cols;
    const double limit = of.is_bf16 ? 0.02 : sums_alike;
    struct twin x = random_twin(cells, of.is_bf16), y = random_twin(cells, of.is_bf16), v = random_twin(cells, false),
                w = random_twin(cells, false), of_v = random_twin(cells, false), of_w = random_twin(cells, false),
                weight = random_twin(cols, false), bias = random_twin(cols, false),
                of_weight = random_twin(cols, false), of_bias = random_twin(cols, false);
    struct chain_arrays
        host = { x.host,
                 y.host,
                 v.host,
                 w.host,
                 of_v.host,
                 of_w.host,
                 { weight.host, bias.host, of_weight.host, of_bias.host } },
        gpu = { x.gpu, y.gpu, v.gpu, w.gpu, of_v.gpu, of_w.gpu, { weight.gpu, bias.gpu, of_weight.gpu, of_bias.gpu } };
    struct device_chain *on_cpu = cpu(device_chain_open)(of), *on_gpu = device_chain_open(of);
    device_chain_forward(on_gpu, &gpu);
    cpu(device_chain_forward)(on_cpu, &host);
    expect_alike("chain", y, limit);
    if (of.is_bf16 && cells >= 1000 && of.half == HALF_NONE) { /* each operation's result is rounded, as the CPU does */
        const double same = same_bits(y);
        if (!(same > 0.98))
            fail_msg("%d blocks: %.1f %% of the chain's values have the CPU's bits", of.blocks, 100 * same);
    }
    device_chain_back(on_gpu, &gpu, 0.1f);
    cpu(device_chain_back)(on_cpu, &host, 0.1f);
    expect_alike("chain's gradient of v", of_v, limit);
    expect_alike("chain's gradient of w", of_w, limit);
    expect_alike("chain's gradient of weight", of_weight, limit);
    expect_alike("chain's gradient of bias", of_bias, limit);
    cpu(device_chain_close)(on_cpu);
    device_chain_close(on_gpu);
}

static void check_chains(int shapes_checked)
{
    for (int i = 0; i < shapes_checked; i++)
        for (enum half half = HALF_NONE; half <= HALF_FLOPS; half++)
            for (int kind = 0; kind < 3; kind++) /* MICRO, NORM, NORM in bf16 */
                for (int blocks = 1; blocks <= 3; blocks += 2) {
                    struct chain of = { kind > 0, kind == 2, blocks, (int)shapes[i].rows, (int)shapes[i].cols, half };
                    if (half == HALF_BYTES && of.is_norm && of.rows < 2)
                        continue;
                    begin_case(i, kind != 2);
                    check_chain(of);
                    end_case();
                }
}

TEST(test_chains)
{
    check_chains(SHAPES);
    begin_case(0, true);
    check_chain((struct chain){ .is_norm = true, .blocks = 1, .rows = MANY, .cols = 12 });
    end_case();
}

/* Threads of a long MICRO chain take several cells each: 5000 blocks leave memory for 1536 threads. */
TEST(test_long_chain)
{
    begin_case(1, true);
    check_chain((struct chain){ .blocks = 5000, .rows = 2, .cols = 1000 });
    end_case();
}

/* --- branches --------------------------------------------------------------------------------------------------------- */

enum { SEED = 5, PASSES = 3 };

/* Compare loss and gradients of a branch with the CPU's, after passes of which a replay records the first. */
static void check_branch(struct branch_settings of)
{
    const size_t cells = (size_t)of.rows * (size_t)of.cols;
    const double limit = of.is_bf16 ? 0.03 : 1e-4;
    struct twin x = random_twin(cells, false);
    struct branch *gpu = branch_open(of, SEED), *host = cpu(branch_open)(of, SEED);
    for (int pass = 0; pass < PASSES; pass++) {
        branch_forward(gpu, x.gpu, cells);
        cpu(branch_forward)(host, x.host, cells);
        const double loss = branch_loss(gpu), wanted = cpu(branch_loss)(host);
        if (!(fabs(loss - wanted) <= limit * wanted))
            fail_msg("kind %d, way %d: loss %g, not %g", of.kind, of.way, loss, wanted);
        branch_backward(gpu);
        cpu(branch_backward)(host);
    }
    struct branch_part part[2], wanted[2];
    assert_int_equal(branch_parts(gpu, part), cpu(branch_parts)(host, wanted));
    for (int p = 0; p < 2; p++) {
        float *got = memory_new(part[p].count, sizeof *got);
        device_fetch(got, part[p].gradient, part[p].count * sizeof *got);
        digest(got, part[p].count * sizeof *got);
        expect_values("a branch's gradient", got, wanted[p].gradient, part[p].count, false, limit);
        free(got);
    }
    const struct eager_count count = branch_count(gpu), on_cpu = cpu(branch_count)(host);
    assert_int_equal(count.dispatched, on_cpu.dispatched);
    assert_true(fabs(count.work.bytes - on_cpu.work.bytes) < 0.5 && fabs(count.work.flops - on_cpu.work.flops) < 0.5);
    branch_close(gpu);
    cpu(branch_close)(host);
}

TEST(test_branches)
{
    for (enum branch_kind kind = BRANCH_MICRO; kind <= BRANCH_NORM; kind++)
        for (enum branch_way way = BRANCH_EAGER; way < BRANCH_WAYS; way++)
            for (int is_bf16 = 0; is_bf16 <= (kind == BRANCH_NORM); is_bf16++)
                for (enum half half = HALF_NONE; half <= HALF_FLOPS; half++) {
                    begin_case((int)way, true);
                    check_branch((struct branch_settings){ kind, way, is_bf16, 2, 4, 2 * HALF_GROUP + 3, half });
                    end_case();
                }
}

/* A graph runs what it captured, at each launch: y = 1 + 2 + 2 + 2. */
TEST(test_graph)
{
    enum { COUNT = 1001 };
    begin_case(0, true);
    struct twin y = random_twin(COUNT, false), two = random_twin(COUNT, false);
    device_fill(y.gpu, 1, COUNT);
    device_fill(two.gpu, 2, COUNT);
    device_capture_begin();
    device_add(y.gpu, two.gpu, COUNT);
    struct device_graph *graph = device_capture_end();
    for (int i = 0; i < 3; i++)
        device_graph_launch(graph);
    device_graph_free(graph);
    device_graph_free(NULL);
    for (int i = 0; i < COUNT; i++)
        ((float *)y.host)[i] = 7;
    expect_alike("graph", y, 0);
    end_case();
}

/* --- the same bits, always --------------------------------------------------------------------------------------------- */

static void run_some(void)
{
    check_operations(1);
    check_chains(1);
}

TEST(test_bits)
{
    assert_same_bits(run_some);
}

int main(int count, char **argument)
{
    return beside_cpu_main(count, argument, run_some);
}
