/* bf16: the upper half of a float, with all 8 exponent bits and 8 of the 24 mantissa bits. */
#ifndef LOCKSTEP_BF16_H
#define LOCKSTEP_BF16_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float bf16_widen(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Round to nearest, ties to even; a NaN stays a NaN. The code has no branches, so loops over it vectorise. */
static inline uint16_t bf16_round(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
    return (uint16_t)(isnan(value) ? quiet : rounded);
}

#endif
