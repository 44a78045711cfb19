/* device_cpu_cell: reading, writing and moving cells of tensors, for the loops of pointwise.h. Each is inlined where `is_bf16` is a
 * constant, so that each loop exists for floats and for bf16. */
#ifndef LOCKSTEP_DEVICE_CPU_CELL_H
#define LOCKSTEP_DEVICE_CPU_CELL_H

#include "base/bf16.h"
#include "device/half.h"

#include <stdint.h>
#include <string.h>

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

/* Read a byte so that its cache line comes to the core. The compiler would leave out a plain read, whose value the program does not use. */
INLINE void touch(const char *x)
{
    __asm__ volatile("" : : "r"(*x));
}

/* Tensors larger than the cache nearest a core, taken as 32 KiB, are far. Loops over them go on in parts of 512 bytes, and before each
 * part ask for the cache lines that lie a page further on. The processor by itself loads ahead within a page of 4 KiB only. Where a loop
 * computes much on each cell, its window of instructions does not reach the next page either, so it waits there for memory and then
 * computes, instead of both at once. */
enum { EARLY_PART = 512, EARLY_BYTES = 4096, NEAR_BYTES = 32 << 10 };

/* True if a tensor of `cells` cells is far. */
INLINE bool is_far(size_t cells, bool is_bf16)
{
    return cells * (is_bf16 ? sizeof(uint16_t) : sizeof(float)) > NEAR_BYTES;
}

/* Return the most cells of such a part. */
INLINE size_t early_cells(bool is_bf16)
{
    return EARLY_PART / (is_bf16 ? sizeof(uint16_t) : sizeof(float));
}

/* Ask for the cache lines of x that lie `ahead` bytes after those of a part. Beyond the end of x that does nothing. */
INLINE void load_early(const void *x, struct half_part part, bool is_bf16, size_t ahead)
{
    enum { LINE = 64 };
    const char *end = cell(x, part.end, is_bf16);
    for (const char *at = cell(x, part.first, is_bf16); at < end; at += LINE)
        __builtin_prefetch(at + ahead);
}

/* Copy the cells of a part from x to `out`, and read each whole cache line of y and z there: all that would come to the core and leave
 * it if the part were computed. The arrays may be the same. Lines of all arrays come in turns, as in a loop that computes. */
INLINE void move_cells(void *out, const void *x, const void *y, const void *z, bool is_bf16, struct half_part part)
{
    enum { LINE = 64 };
    const size_t bytes = (part.end - part.first) * (is_bf16 ? sizeof(uint16_t) : sizeof(float));
    char *to = cell(out, part.first, is_bf16);
    const char *of_x = cell(x, part.first, is_bf16), *of_y = cell(y, part.first, is_bf16),
               *of_z = cell(z, part.first, is_bf16);
    size_t at = 0;
    for (; at + LINE <= bytes; at += LINE) {
        touch(of_y + at);
        touch(of_z + at);
        memmove(to + at, of_x + at, LINE);
    }
    memmove(to + at, of_x + at, bytes - at);
}

#endif
