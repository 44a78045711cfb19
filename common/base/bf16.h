/* bf16: the upper half of a float: its 8 bits of exponent, and 8 of its 24 of mantissa. */
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

/* Rounds to nearest, ties to even; a NaN stays one. Without branches, so that loops over it vectorise. */
static inline uint16_t bf16_round(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
    return (uint16_t)(isnan(value) ? quiet : rounded);
}

#endif
