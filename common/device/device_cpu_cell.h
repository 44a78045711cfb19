/* device_cpu_cell: reading, writing and moving cells of tensors, for the loops of pointwise.h. Each is inlined where `is_bf16` is a constant,
 * so that each loop exists for floats and for bf16. */
#ifndef LOCKSTEP_DEVICE_CPU_CELL_H
#define LOCKSTEP_DEVICE_CPU_CELL_H

#include "base/bf16.h"
#include "device/half.h"

#include <stdint.h>

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

/* Return the address of cell i. */
INLINE void *cell(const void *x, size_t i, bool is_bf16)
{
    return (char *)(uintptr_t)x + i * (is_bf16 ? sizeof(uint16_t) : sizeof(float));
}

/* Write a value of x, y or z to each cell of a part: read and written as if it were computed. `out` may be one of them. */
void move_cells(void *out, const void *x, const void *y, const void *z, bool is_bf16, struct half_part part);

#endif
