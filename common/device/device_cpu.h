/* device_cpu: the exponential function for the loops of the CPU device. */
#ifndef LOCKSTEP_DEVICE_CPU_H
#define LOCKSTEP_DEVICE_CPU_H

#include "base/multiversion.h"

#include <stdint.h>
#include <string.h>

/* Compute e^x without branches or calls, so that loops over it vectorise: 2^n from the exponent's bits times a
 * polynomial on [-ln2/2, ln2/2] (Cephes expf's coefficients). Relative error below 1e-7 from -87.3 to 88.3; 0 below,
 * infinity above. A NaN stays NaN. Beyond +-2^20 the result may be NaN.
 *
 * Adding `shift` rounds to a whole number, which then stands in the lowest bits of the sum. The limits apply to these
 * bits. If a float is compared to two limits, GCC 12 makes three cases of the following code and computes each for all
 * elements. */
static inline float fast_exp(float x)
{
    enum { SHIFT_BITS = 0x4b400000, BIAS = 127 }; /* bits of `shift`; bias of an exponent */
    const float shift = 12582912.0f;              /* 1.5 * 2^23 */
    float shifted = x * 1.44269504f + shift, n = shifted - shift;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int32_t whole;
    memcpy(&whole, &shifted, sizeof whole);
    whole = whole > SHIFT_BITS - BIAS ? whole : SHIFT_BITS - BIAS;
    whole = whole < SHIFT_BITS + BIAS + 1 ? whole : SHIFT_BITS + BIAS + 1;
    uint32_t bits = (uint32_t)(whole - SHIFT_BITS + BIAS) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

#endif
