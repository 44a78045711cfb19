#include "device/device_cpu_layer_norm.h"

#include "base/multiversion.h"
#include "device/device_cpu_cell.h"

#include <math.h>
#include <stdint.h>

/* Return the part of a row that is computed: bytes are halved by rows, arithmetic within each row. */
INLINE enum half half_of_row(enum half half)
{
    return half == HALF_FLOPS ? HALF_FLOPS : HALF_NONE;
}

/* Return the rows to compute twice, which come first, and set *end to the end of all that are computed. */
INLINE size_t rows_twice(const struct pointwise *p, size_t *end)
{
    const size_t twice = p->half == HALF_BYTES ? p->rows / 2 : 0;
    *end = p->rows - twice;
    return twice;
}

/* Return the end of what of a part is computed. */
INLINE size_t computed_end(struct half_part part)
{
    return part.times > 0 ? part.end : part.first;
}

/* Return the bytes by which a row's last loop prefetches ahead: the next row, at which the next loop begins; at least a page. 0 for tensors
 * that stay near. */
INLINE size_t bytes_ahead(const struct pointwise *p, bool is_bf16)
{
    const size_t row = p->cols * (is_bf16 ? sizeof(uint16_t) : sizeof(float));
    if (!is_far(p->rows * p->cols, is_bf16))
        return 0;
    return row > EARLY_BYTES ? row : EARLY_BYTES;
}

/* Return the most cells of a part of that loop. */
INLINE size_t last_group(size_t ahead, bool is_bf16)
{
    return ahead > 0 ? early_cells(is_bf16) : SIZE_MAX;
}

/* --- forward ------------------------------------------------------------------------------------------------------- */

INLINE void row_forward(const struct pointwise *p, size_t row, bool is_bf16)
{
    const size_t N = p->cols, size = is_bf16 ? 2 : 4;
    const void *restrict a = (const char *)p->a + row * N * size;
    void *restrict y = (char *)p->y + row * N * size;
    const float *restrict weight = p->weight, *restrict bias = p->bias;
    const enum half half = half_of_row(p->half);
    const float count = (float)half_computed(half, 1, N);
    float sum = 0, squares = 0;
    for (struct half_part part = { 0 }; half_next(&part, half, 1, N, SIZE_MAX);)
#pragma omp simd reduction(+ : sum)
        for (size_t n = part.first; n < computed_end(part); n++)
            sum += get(a, n, is_bf16);
    const float mean = sum / count;
    for (struct half_part part = { 0 }; half_next(&part, half, 1, N, SIZE_MAX);)
#pragma omp simd reduction(+ : squares)
        for (size_t n = part.first; n < computed_end(part); n++) {
            const float off = get(a, n, is_bf16) - mean;
            squares += off * off;
        }
    const float scale = 1.0f / sqrtf(squares / count + 1e-5f);
    const size_t ahead = bytes_ahead(p, is_bf16);
    for (struct half_part part = { 0 }; half_next(&part, half, 1, N, last_group(ahead, is_bf16));) {
        if (ahead > 0) {
            load_early(a, part, is_bf16, ahead);
            load_early(y, part, is_bf16, ahead);
        }
        if (part.times == 0)
            move_cells(y, a, a, a, is_bf16, part);
        else
#pragma omp simd
            for (size_t n = part.first; n < part.end; n++)
                put(y, n, (get(a, n, is_bf16) - mean) * scale * weight[n] + bias[n], is_bf16);
    }
    p->moments[2 * row] = mean;
    p->moments[2 * row + 1] = scale;
}

INLINE void norm_forward(const struct pointwise *p, bool is_bf16)
{
    size_t end;
    const size_t twice = rows_twice(p, &end);
    for (size_t row = 0; row < end; row++)
        for (int time = row < twice ? 2 : 1; time > 0; time--) {
            row_forward(p, row, is_bf16);
            half_again();
        }
}

WIDE static void forward_f32(const struct pointwise *p)
{
    norm_forward(p, false);
}

WIDE static void forward_bf16(const struct pointwise *p)
{
    norm_forward(p, true);
}

void layer_norm_forward(const struct pointwise *p)
{
    (p->is_bf16 ? forward_bf16 : forward_f32)(p);
}

/* --- backward ------------------------------------------------------------------------------------------------------ */

/* Compute the gradients of a row. A rehearsal leaves them as they were: it writes to `scratch`. */
INLINE void row_backward(const struct pointwise_back *p, size_t row, bool is_bf16, bool adds, bool is_rehearsal)
{
    const size_t N = p->of.cols, size = is_bf16 ? 2 : 4;
    const void *restrict a = (const char *)p->of.a + row * N * size, *restrict dy =
                                                                         (const char *)p->dy + row * N * size;
    void *da = (char *)p->da + row * N * size, *out = is_rehearsal ? p->scratch : da;
    float *const unused = p->scratch;
    float *restrict weight_gradient = is_rehearsal ? unused + N : p->weight_gradient, *restrict bias_gradient =
                                                                                          is_rehearsal
                                                                                              ? unused + 2 * N
                                                                                              : p->bias_gradient;
    const float *restrict weight = p->of.weight;
    const enum half half = half_of_row(p->of.half);
    const float mean = p->of.moments[2 * row], scale = p->of.moments[2 * row + 1],
                count = (float)half_computed(half, 1, N);
    float sum = 0, along = 0; /* of the gradient of the normalised values, and along them */
    for (struct half_part part = { 0 }; half_next(&part, half, 1, N, SIZE_MAX);)
#pragma omp simd reduction(+ : sum, along)
        for (size_t n = part.first; n < computed_end(part); n++) {
            const float d = get(dy, n, is_bf16), normal = (get(a, n, is_bf16) - mean) * scale;
            sum += d * weight[n];
            along += d * weight[n] * normal;
        }
    sum /= count;
    along /= count;
    const size_t ahead = bytes_ahead(&p->of, is_bf16);
    for (struct half_part part = { 0 }; half_next(&part, half, 1, N, last_group(ahead, is_bf16));) {
        if (ahead > 0) {
            load_early(dy, part, is_bf16, ahead);
            load_early(a, part, is_bf16, ahead);
            load_early(da, part, is_bf16, ahead);
        }
        if (part.times == 0)
            move_cells(da, dy, a, adds ? da : dy, is_bf16, part);
        else
#pragma omp simd
            for (size_t n = part.first; n < part.end; n++) {
                const float d = get(dy, n, is_bf16), normal = (get(a, n, is_bf16) - mean) * scale;
                const float before = adds ? get(da, n, is_bf16) : 0;
                const float slope = scale * (d * weight[n] - sum - normal * along);
                put(out, n, before + slope, is_bf16);
                weight_gradient[n] += d * normal;
                bias_gradient[n] += d;
            }
    }
}

INLINE void norm_backward(const struct pointwise_back *p, bool is_bf16, bool adds)
{
    size_t end;
    const size_t twice = rows_twice(&p->of, &end);
    for (size_t row = 0; row < end; row++)
        for (int time = row < twice ? 2 : 1; time > 0; time--) {
            row_backward(p, row, is_bf16, adds, time == 2);
            half_again();
        }
}

WIDE static void backward_f32(const struct pointwise_back *p)
{
    if (p->adds_a)
        norm_backward(p, false, true);
    else
        norm_backward(p, false, false);
}

WIDE static void backward_bf16(const struct pointwise_back *p)
{
    if (p->adds_a)
        norm_backward(p, true, true);
    else
        norm_backward(p, true, false);
}

void layer_norm_backward(const struct pointwise_back *p)
{
    (p->of.is_bf16 ? backward_bf16 : backward_f32)(p);
}
