/* device_cpu_cell: reading, writing and moving cells of tensors, for the loops of pointwise.h. Each is inlined where `is_bf16` is a constant,
 * so that each loop exists for floats and for bf16. */
#ifndef LOCKSTEP_DEVICE_CPU_CELL_H
#define LOCKSTEP_DEVICE_CPU_CELL_H

#include "base/bf16.h"
#include "device/half.h"

#define INLINE static inline __attribute__((always_inline))

INLINE float get(const void *x, size_t i, bool is_bf16)
{
    return is_bf16 ? bf16_widen(((const uint16_t *)x)[i]) : ((const float *)x)[i];
}

INLINE void put(void *x, size_t i, float value, bool is_bf16)
{
    if (is_bf16)
        ((uint16_t *)x)[i] = bf16_round(value);
    else
        ((float *)x)[i] = value;
}

/* Write a value of x, y or z to each cell: read and written as if it were computed. `out` may be one of them. */
INLINE void move(void *out, const void *x, const void *y, const void *z, bool is_bf16, struct half_part part)
{
    const unsigned count = (unsigned)(part.end - part.first);
    if (is_bf16) {
        const uint16_t *of_x = (const uint16_t *)x + part.first, *of_y = (const uint16_t *)y + part.first,
                       *of_z = (const uint16_t *)z + part.first;
        uint16_t *to = (uint16_t *)out + part.first;
#pragma omp simd
        for (unsigned i = 0; i < count; i++) {
            const uint16_t one = of_x[i], two = of_y[i], three = of_z[i];
            to[i] = i % 4 == 1 ? two : i % 4 == 2 ? three : one;
        }
    } else {
        const float *of_x = (const float *)x + part.first, *of_y = (const float *)y + part.first,
                    *of_z = (const float *)z + part.first;
        float *to = (float *)out + part.first;
#pragma omp simd
        for (unsigned i = 0; i < count; i++) {
            const float one = of_x[i], two = of_y[i], three = of_z[i];
            to[i] = i % 4 == 1 ? two : i % 4 == 2 ? three : one;
        }
    }
}

#endif
