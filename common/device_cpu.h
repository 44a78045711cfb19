/* device_cpu: what the loops of this device share. */
#ifndef LOCKSTEP_DEVICE_CPU_H
#define LOCKSTEP_DEVICE_CPU_H

#include "wide.h"

#include <stdint.h>
#include <string.h>

/* e^x without branches or calls, so that loops over it vectorise: 2^n from the exponent bits times a polynomial on
 * [-ln2/2, ln2/2] (Cephes expf's coefficients). Relative error below 3e-7; below -87 it returns about 1e-38. */
static inline float fast_exp(float x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    float n = (x * 1.44269504f + shift) - shift;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int32_t bits = ((int32_t)(n > -127.0f ? n : -127.0f) + 127) << 23; /* a NaN stays one in p, and is no integer */
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

#endif
