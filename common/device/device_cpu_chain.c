/* Implement the chains of chain.h on a CPU. */
#include "device/chain.h"

#include "base/memory.h"
#include "base/multiversion.h"
#include "device/device.h"
#include "device/device_cpu.h"
#include "device/device_cpu_cell.h"

#include <stdlib.h>
#include <string.h>

enum {
    LANES = 64,  /* elements of MICRO that go through the whole chain together */
    TILE = 2048, /* elements of NORM, in whole rows, likewise */
    RESULTS = 5  /* tensors that a block of NORM computes */
};

struct device_chain {
    struct chain of;
    float *level;                    /* MICRO: (blocks + 1, LANES), what each block begins with */
    size_t tile_rows;                /* NORM: rows of a tile */
    void **result;                   /* NORM: (blocks, RESULTS) tensors of a tile */
    float **moments;                 /* NORM: (blocks) */
    void *gradient[RESULTS], *first; /* NORM: of a block's results; of a block's input */
    float *unused;                   /* NORM: (2, cols), for gradients of weight and bias that must not count twice */
};

struct device_chain *device_chain_open(struct chain of)
{
    struct device_chain *f = memory_new(1, sizeof *f);
    const size_t size = of.is_bf16 ? 2 : 4, blocks = (size_t)of.blocks, cols = (size_t)of.cols;
    f->of = of;
    f->level = memory_new((blocks + 1) * LANES, sizeof *f->level);
    if (!of.is_norm)
        return f;
    f->tile_rows = cols < TILE ? TILE / cols : 1;
    f->result = memory_new(blocks * RESULTS, sizeof *f->result);
    f->moments = memory_new(blocks, sizeof *f->moments);
    for (size_t i = 0; i < blocks * RESULTS; i++)
        f->result[i] = memory_new(f->tile_rows * cols, size);
    for (size_t i = 0; i < blocks; i++)
        f->moments[i] = memory_new(2 * f->tile_rows, sizeof(float));
    for (size_t i = 0; i < RESULTS; i++)
        f->gradient[i] = memory_new(f->tile_rows * cols, size);
    f->first = memory_new(f->tile_rows * cols, size);
    f->unused = memory_new(2 * cols, sizeof *f->unused);
    return f;
}

void device_chain_close(struct device_chain *f)
{
    if (!f)
        return;
    for (int i = 0; f->result && i < f->of.blocks * RESULTS; i++)
        free(f->result[i]);
    for (int i = 0; f->moments && i < f->of.blocks; i++)
        free(f->moments[i]);
    for (int i = 0; i < RESULTS; i++)
        free(f->gradient[i]);
    free(f->first);
    free(f->unused);
    free(f->result);
    free(f->moments);
    free(f->level);
    free(f);
}

/* --- MICRO: lanes of elements -------------------------------------------------------------------------------------- */

static inline float gate_of(float x)
{
    return 1.0f / (1.0f + fast_exp(-x));
}

/* Compute all levels of `lanes` elements. */
WIDE static void raise(float *restrict level, const float *restrict x, const float *restrict v, const float *restrict w,
                       int blocks, size_t lanes)
{
    memcpy(level, x, lanes * sizeof *level);
    for (int block = 0; block < blocks; block++) {
        const float *restrict from = level + (size_t)block * LANES;
        float *restrict to = level + ((size_t)block + 1) * LANES;
        for (size_t i = 0; i < lanes; i++) {
            const float sum = from[i] + v[i], open = sum > 0 ? sum : 0;
            to[i] = gate_of(open * w[i]) * from[i] + v[i];
        }
    }
}

WIDE static void lower(const float *restrict level, const float *restrict v, const float *restrict w,
                       float *restrict v_gradient, float *restrict w_gradient, int blocks, size_t lanes, float scale)
{
    float d[LANES], of_v[LANES] = { 0 }, of_w[LANES] = { 0 };
    for (size_t i = 0; i < lanes; i++)
        d[i] = level[(size_t)blocks * LANES + i] * scale;
    for (int block = blocks; block-- > 0;) {
        const float *restrict x = level + (size_t)block * LANES;
        for (size_t i = 0; i < lanes; i++) {
            const float sum = x[i] + v[i], open = sum > 0 ? sum : 0, gate = gate_of(open * w[i]);
            const float of_product = d[i] * x[i] * gate * (1.0f - gate), of_sum = sum > 0 ? of_product * w[i] : 0;
            of_v[i] += d[i] + of_sum;
            of_w[i] += of_product * open;
            d[i] = d[i] * gate + of_sum;
        }
    }
    memcpy(v_gradient, of_v, lanes * sizeof *of_v);
    memcpy(w_gradient, of_w, lanes * sizeof *of_w);
}

/* Read v, w and x, and write x instead of results. */
WIDE static void move(const struct chain_arrays *a, bool is_back, struct half_part part)
{
    move_cells(is_back ? a->v_gradient : a->y, a->x, a->v, a->w, false, part);
    if (is_back)
        move_cells(a->w_gradient, a->x, a->x, a->x, false, part);
}

static void some_micro(struct device_chain *f, const struct chain_arrays *a, bool is_back, float scale,
                       struct half_part part)
{
    const float *x = a->x;
    float *y = a->y;
    for (size_t first = part.first; first < part.end; first += LANES) {
        const size_t lanes = part.end - first < LANES ? part.end - first : LANES;
        raise(f->level, x + first, a->v + first, a->w + first, f->of.blocks, lanes);
        if (is_back)
            lower(f->level, a->v + first, a->w + first, a->v_gradient + first, a->w_gradient + first, f->of.blocks,
                  lanes, scale);
        else
            memcpy(y + first, f->level + (size_t)f->of.blocks * LANES, lanes * sizeof *y);
    }
}

static void micro(struct device_chain *f, const struct chain_arrays *a, bool is_back, float scale)
{
    const size_t cells = (size_t)f->of.rows * (size_t)f->of.cols;
    for (struct half_part part = { 0 }; half_next(&part, f->of.half, 1, cells, cells);) {
        if (part.times == 0)
            move(a, is_back, part);
        for (int time = 0; time < part.times; time++)
            some_micro(f, a, is_back, scale, part);
    }
}

/* --- NORM: tiles of rows ------------------------------------------------------------------------------------------- */

/* Operations of a block and what they work on: a result of the block by number, or its input. */
enum { INPUT = -1 };
static const struct step {
    enum pointwise_op op;
    int a, b;
} steps[RESULTS] = { { POINTWISE_SIGMOID, INPUT, 0 },
                     { POINTWISE_GELU, INPUT, 0 },
                     { POINTWISE_MUL, 0, 1 },
                     { POINTWISE_LAYER_NORM, 2, 0 },
                     { POINTWISE_ADD, 3, INPUT } };

static struct pointwise call_of(const struct device_chain *f, const struct chain_arrays *a, int block, int step,
                                const void *input, size_t rows)
{
    void **result = f->result + block * RESULTS;
    const struct step *s = &steps[step];
    return (struct pointwise){ .op = s->op,
                               .is_bf16 = f->of.is_bf16,
                               .half = f->of.half == HALF_FLOPS ? HALF_FLOPS : HALF_NONE,
                               .rows = rows,
                               .cols = (size_t)f->of.cols,
                               .a = s->a == INPUT ? input : result[s->a],
                               .b = s->b == INPUT ? input : result[s->b],
                               .y = result[step],
                               .weight = a->norm.weight,
                               .bias = a->norm.bias,
                               .moments = f->moments[block] };
}

/* Return the input of a block. */
static const void *input_of(const struct device_chain *f, int block, const void *x)
{
    return block == 0 ? x : f->result[block * RESULTS - 1];
}

static void tile_forward(struct device_chain *f, const struct chain_arrays *a, const void *x, size_t rows)
{
    for (int block = 0; block < f->of.blocks; block++)
        for (int step = 0; step < RESULTS; step++) {
            const struct pointwise call = call_of(f, a, block, step, input_of(f, block, x), rows);
            device_pointwise(&call);
        }
}

/* Compute a block's gradients from that of its end, gradient[4]; the input's then is in `first`. A rehearsal adds nothing to those of
 * weight and bias. */
static void block_backward(struct device_chain *f, const struct chain_arrays *a, int block, const void *x, size_t rows,
                           bool is_rehearsal)
{
    bool has_first = false;
    for (int step = RESULTS; step-- > 0;) {
        const struct step *s = &steps[step];
        struct pointwise_back back = { .of = call_of(f, a, block, step, input_of(f, block, x), rows),
                                       .dy = f->gradient[step],
                                       .da = s->a == INPUT ? f->first : f->gradient[s->a],
                                       .db = s->b == INPUT ? f->first : f->gradient[s->b],
                                       .adds_a = s->a == INPUT && has_first,
                                       .weight_gradient = is_rehearsal ? f->unused : a->norm.weight_gradient,
                                       .bias_gradient = is_rehearsal ? f->unused + f->of.cols : a->norm.bias_gradient };
        device_pointwise_back(&back);
        has_first |= s->a == INPUT || (pointwise_is_binary(s->op) && s->b == INPUT);
    }
}

static void some_norm(struct device_chain *f, const struct chain_arrays *a, bool is_back, float scale,
                      struct half_part tile, bool is_rehearsal)
{
    const size_t row_bytes = (size_t)f->of.cols * (f->of.is_bf16 ? 2 : 4), rows = tile.end - tile.first;
    const void *x = (const char *)a->x + tile.first * row_bytes, *end = f->result[f->of.blocks * RESULTS - 1];
    tile_forward(f, a, x, rows);
    if (!is_back) {
        memcpy((char *)a->y + tile.first * row_bytes, end, rows * row_bytes);
        return;
    }
    device_pointwise_scale(f->gradient[RESULTS - 1], end, scale, rows * (size_t)f->of.cols, f->of.is_bf16);
    for (int block = f->of.blocks; block-- > 0;) {
        block_backward(f, a, block, x, rows, is_rehearsal);
        void *swap = f->gradient[RESULTS - 1];
        f->gradient[RESULTS - 1] = f->first;
        f->first = swap;
    }
}

/* Arithmetic is halved within the operations, bytes by tiles. */
static void norm(struct device_chain *f, const struct chain_arrays *a, bool is_back, float scale)
{
    const enum half half = f->of.half == HALF_BYTES ? HALF_BYTES : HALF_NONE;
    for (struct half_part tile = { 0 }; half_next(&tile, half, (size_t)f->of.rows, 1, f->tile_rows);)
        for (int time = tile.times; time > 0; time--)
            some_norm(f, a, is_back, scale, tile, time == 2);
}

void device_chain_forward(struct device_chain *f, const struct chain_arrays *a)
{
    (f->of.is_norm ? norm : micro)(f, a, false, 0);
}

void device_chain_back(struct device_chain *f, const struct chain_arrays *a, float scale)
{
    (f->of.is_norm ? norm : micro)(f, a, true, scale);
}
