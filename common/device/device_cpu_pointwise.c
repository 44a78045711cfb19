/* Implement the operations of pointwise.h on a CPU. */
#include "base/multiversion.h"
#include "device/device.h"
#include "device/device_cpu.h"
#include "device/device_cpu_cell.h"
#include "device/device_cpu_layer_norm.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- one element -------------------------------------------------------------------------------------------------- */

INLINE float sigmoid(float x)
{
    return 1.0f / (1.0f + fast_exp(-x));
}

/* Return Phi(x), and *bell = e^(-x^2 / 2), as device_gelu() does. */
INLINE float normal_share(float x, float *bell)
{
    *bell = fast_exp(-0.5f * x * x);
    const float t = 1.0f / (1.0f + 0.3275911f * fabsf(x) * 0.70710678f);
    const float poly =
        t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    const float upper = 0.5f * poly * *bell;
    return x < 0 ? upper : 1.0f - upper;
}

INLINE float forward_of(enum pointwise_op op, float a, float b)
{
    float bell;
    switch (op) {
    case POINTWISE_ADD:
        return a + b;
    case POINTWISE_MUL:
        return a * b;
    case POINTWISE_RELU:
        return a > 0 ? a : 0;
    case POINTWISE_SIGMOID:
        return sigmoid(a);
    default:
        return a * normal_share(a, &bell);
    }
}

/* Return dy/da times the gradient d. */
INLINE float backward_of(enum pointwise_op op, float a, float b, float y, float d)
{
    float bell, phi;
    switch (op) {
    case POINTWISE_ADD:
        return d;
    case POINTWISE_MUL:
        return d * b;
    case POINTWISE_RELU:
        return a > 0 ? d : 0;
    case POINTWISE_SIGMOID:
        return d * y * (1.0f - y);
    default:
        phi = normal_share(a, &bell);
        return d * (phi + a * 0.39894228f * bell);
    }
}

/* --- loops -------------------------------------------------------------------------------------------------------- */

INLINE void some_forward(const struct pointwise *p, enum pointwise_op op, bool is_bf16, struct half_part part)
{
    const void *restrict a = p->a, *restrict b = pointwise_is_binary(op) ? p->b : p->a;
    void *restrict y = p->y;
    for (size_t i = part.first; i < part.end; i++)
        put(y, i, forward_of(op, get(a, i, is_bf16), get(b, i, is_bf16)), is_bf16);
}

INLINE void each_forward(const struct pointwise *p, enum pointwise_op op, bool is_bf16)
{
    const bool is_early = is_far(p->rows * p->cols, is_bf16);
    const size_t group = is_early ? early_cells(is_bf16) : SIZE_MAX;
    for (struct half_part part = { 0 }; half_next(&part, p->half, p->rows, p->cols, group);) {
        const void *tensors[] = { p->a, p->y, p->b };
        for (int i = 0; is_early && i < 2 + pointwise_is_binary(op); i++)
            load_early(tensors[i], part, is_bf16, EARLY_BYTES);
        if (part.times == 0)
            move_cells(p->y, p->a, pointwise_is_binary(op) ? p->b : p->a, p->a, is_bf16, part);
        for (int time = 0; time < part.times; time++) {
            some_forward(p, op, is_bf16, part);
            half_again();
        }
    }
}

/* True if the gradient of a tensor depends on its own values. */
INLINE bool reads_input(enum pointwise_op op)
{
    return op == POINTWISE_RELU || op == POINTWISE_GELU;
}

/* Compute the gradient of a or of b for some elements, or move what that would read. `is_rehearsal`: leave it as it was. */
INLINE void one_backward(const struct pointwise_back *p, enum pointwise_op op, bool is_bf16, bool adds, bool is_of_b,
                         struct half_part part, bool is_rehearsal)
{
    const bool reads_a = reads_input(op), reads_b = op == POINTWISE_MUL, reads_y = op == POINTWISE_SIGMOID;
    const void *input = is_of_b ? p->of.b : p->of.a, *other = is_of_b ? p->of.a : p->of.b;
    void *gradient = is_of_b ? p->db : p->da;
    if (part.times == 0) {
        move_cells(gradient, p->dy,
                   reads_a   ? input
                   : reads_b ? other
                   : reads_y ? p->of.y
                             : p->dy,
                   adds ? gradient : p->dy, is_bf16, part);
        return;
    }
    float unused[HALF_GROUP];
    const void *dy = cell(p->dy, part.first, is_bf16), *a = reads_a ? cell(input, part.first, is_bf16) : dy,
               *b = reads_b ? cell(other, part.first, is_bf16) : dy,
               *y = reads_y ? cell(p->of.y, part.first, is_bf16) : dy;
    const void *before = cell(gradient, part.first, is_bf16);
    void *out = is_rehearsal ? unused : cell(gradient, part.first, is_bf16);
#pragma omp simd
    for (size_t i = 0; i < part.end - part.first; i++) {
        const float slope =
            backward_of(op, get(a, i, is_bf16), get(b, i, is_bf16), get(y, i, is_bf16), get(dy, i, is_bf16));
        put(out, i, (adds ? get(before, i, is_bf16) : 0) + slope, is_bf16);
    }
    half_use(out);
}

/* Compute both gradients. A rehearsal adds nothing to sums. Whether they are sums is decided outside of the loops, so that the others
 * do not read what they overwrite. */
INLINE void both_backward(const struct pointwise_back *p, enum pointwise_op op, bool is_bf16, struct half_part part,
                          bool is_rehearsal)
{
    if (p->adds_a)
        one_backward(p, op, is_bf16, true, false, part, is_rehearsal);
    else
        one_backward(p, op, is_bf16, false, false, part, false);
    if (pointwise_is_binary(op) && p->adds_b)
        one_backward(p, op, is_bf16, true, true, part, is_rehearsal);
    else if (pointwise_is_binary(op))
        one_backward(p, op, is_bf16, false, true, part, false);
    half_again();
}

/* Ask early for all that both_backward() reads and writes. */
INLINE void backward_early(const struct pointwise_back *p, enum pointwise_op op, bool is_bf16, struct half_part part)
{
    const bool is_binary = pointwise_is_binary(op);
    const void *tensors[] = { p->dy,
                              p->da,
                              is_binary ? p->db : NULL,
                              reads_input(op) || op == POINTWISE_MUL ? p->of.a : NULL,
                              op == POINTWISE_MUL ? p->of.b : NULL,
                              op == POINTWISE_SIGMOID ? p->of.y : NULL };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (tensors[i])
            load_early(tensors[i], part, is_bf16, EARLY_BYTES);
}

/* Both gradients of some elements are computed while the gradient that they share is in the cache. */
enum { TOGETHER = 1024 };
INLINE void each_backward(const struct pointwise_back *p, enum pointwise_op op, bool is_bf16)
{
    const bool is_early = is_far(p->of.rows * p->of.cols, is_bf16);
    const size_t group = is_early ? early_cells(is_bf16) : TOGETHER;
    for (struct half_part part = { 0 }; half_next(&part, p->of.half, p->of.rows, p->of.cols, group);) {
        if (is_early)
            backward_early(p, op, is_bf16, part);
        for (int time = part.times == 2 ? 2 : 1; time > 0; time--)
            both_backward(p, op, is_bf16, part, time == 2);
    }
}

/* --- one function for each operation and storage ------------------------------------------------------------------- */

#define EACH(name, op, is_bf16)                                                                                        \
    WIDE static void name##_forward(const struct pointwise *p)                                                         \
    {                                                                                                                  \
        each_forward(p, op, is_bf16);                                                                                  \
    }                                                                                                                  \
    WIDE static void name##_backward(const struct pointwise_back *p)                                                   \
    {                                                                                                                  \
        each_backward(p, op, is_bf16);                                                                                 \
    }
EACH(add_f32, POINTWISE_ADD, false)
EACH(mul_f32, POINTWISE_MUL, false)
EACH(relu_f32, POINTWISE_RELU, false)
EACH(sigmoid_f32, POINTWISE_SIGMOID, false)
EACH(gelu_f32, POINTWISE_GELU, false)
EACH(add_bf16, POINTWISE_ADD, true)
EACH(mul_bf16, POINTWISE_MUL, true)
EACH(relu_bf16, POINTWISE_RELU, true)
EACH(sigmoid_bf16, POINTWISE_SIGMOID, true)
EACH(gelu_bf16, POINTWISE_GELU, true)

static void (*const forwards[POINTWISE_OPS][2])(const struct pointwise *p) = {
    { add_f32_forward, add_bf16_forward },   { mul_f32_forward, mul_bf16_forward },
    { relu_f32_forward, relu_bf16_forward }, { sigmoid_f32_forward, sigmoid_bf16_forward },
    { gelu_f32_forward, gelu_bf16_forward }, { layer_norm_forward, layer_norm_forward },
};
static void (*const backwards[POINTWISE_OPS][2])(const struct pointwise_back *p) = {
    { add_f32_backward, add_bf16_backward },   { mul_f32_backward, mul_bf16_backward },
    { relu_f32_backward, relu_bf16_backward }, { sigmoid_f32_backward, sigmoid_bf16_backward },
    { gelu_f32_backward, gelu_bf16_backward }, { layer_norm_backward, layer_norm_backward },
};

void device_pointwise(const struct pointwise *call)
{
    forwards[call->op][call->is_bf16](call);
}

void device_pointwise_back(const struct pointwise_back *call)
{
    backwards[call->of.op][call->of.is_bf16](call);
}

/* A row that is computed twice writes here the first time: the gradient of its input, and those of weight and bias. */
size_t device_pointwise_scratch(size_t cols, enum half half)
{
    return half == HALF_BYTES ? 3 * cols : 0;
}

/* --- scaling and filling ------------------------------------------------------------------------------------------- */

INLINE void scale_each(void *restrict out, const void *restrict x, float scale, size_t count, bool is_bf16)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        put(out, i, scale * get(x, i, is_bf16), is_bf16);
}

WIDE static void scale_any(void *out, const void *x, float scale, size_t count, bool is_bf16)
{
    if (is_bf16)
        scale_each(out, x, scale, count, true);
    else
        scale_each(out, x, scale, count, false);
}

void device_pointwise_scale(void *out, const void *x, float scale, size_t count, bool is_bf16)
{
    scale_any(out, x, scale, count, is_bf16);
}

void device_pointwise_fill(void *out, size_t cells, bool is_bf16, const float *x, size_t count)
{
    for (size_t first = 0; first < cells; first += count) {
        const size_t some = cells - first < count ? cells - first : count;
        if (is_bf16)
            device_narrow((uint16_t *)out + first, x, some);
        else
            memcpy((float *)out + first, x, some * sizeof *x);
    }
}
