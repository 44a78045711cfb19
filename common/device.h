/* device: the arithmetic that the models are made of. One thread per rank.
 *
 * Legend: B rows (samples), N and K columns. All matrices are row-major and dense. */
#ifndef LOCKSTEP_DEVICE_H
#define LOCKSTEP_DEVICE_H

#include "work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Call once, before any other: one thread, and the library's kernel is chosen. */
void device_open(void);

/* "cpu"; "model" for a device that computes nothing and charges what a platform file says a pass costs. */
const char *device_name(void);
bool device_computes(void);

/* Announces that `share` (0 to 1) of a pass is what the operations below are for. A device that computes has no use for
 * it; the model charges that time, and nothing for the operations. */
void device_pass(enum work_pass pass, struct work work, double share);

/* What the model charges for a pass; nothing on a device that computes. */
struct cost device_pass_cost(enum work_pass pass);

/* out (B,N) = x (B,K) w (K,N) */
void device_multiply(float *out, const float *x, const float *w, int B, int N, int K);
/* out (B,K) = y (B,N) w^T, w being (K,N): the gradient that flows back through w */
void device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K);
/* out (K,N) = x^T y, x being (B,K), y (B,N): the gradient of w */
void device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K);

/* z (B,N) becomes gelu(z + bias); slope (B,N) receives gelu'(z + bias), which backward needs.
 * gelu(x) = x Phi(x) with the exact Phi; erf by Abramowitz and Stegun 7.1.26, error at most 1.5e-7. */
void device_gelu(float *z, float *slope, const float *bias, int B, int N);
/* d (B,N) becomes d * slope; bias_gradient (N) receives its column sums. */
void device_gelu_back(float *d, const float *slope, float *bias_gradient, int B, int N);

/* Softmax cross-entropy. logits (B,N) become the gradient of the loss, times `scale`; labels (B) in [0,N).
 * bias (N) is added first. Returns the sum over the B samples of -log p(label), not scaled. */
double device_cross_entropy(float *logits, const float *bias, const int32_t *labels, int B, int N, float scale);
/* out (N) = column sums of x (B,N) */
void device_column_sums(float *out, const float *x, int B, int N);

/* out = value, everywhere */
void device_fill(float *out, float value, size_t count);
/* out = x * scale */
void device_scale(float *out, const float *x, float scale, size_t count);
/* Between float and the upper half of it, as collective_sum() sends it (WIRE_BF16). */
void device_narrow(uint16_t *out, const float *x, size_t count);
void device_widen(float *out, const uint16_t *x, size_t count);
/* sum += x */
void device_add(float *sum, const float *x, size_t count);

/* One step of AdamW on `count` parameters in place (Loshchilov and Hutter, ICLR 2019; PyTorch's order). */
struct adamw_rates {
    float rate;         /* learning rate */
    float beta1, beta2; /* decay of the two moments */
    float epsilon;
    float weight_decay;
    float correction1, correction2; /* 1 - beta1^t and sqrt(1 - beta2^t) at step t = 1, 2, … */
};
void device_adamw(float *p, float *m, float *v, const float *g, size_t count, const struct adamw_rates *rates);

/* The matrix kernel in use, for the preamble of a result: "OpenBLAS SkylakeX". */
const char *device_kernel(void);

#endif
