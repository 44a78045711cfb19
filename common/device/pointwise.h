/* pointwise: operations on tensors element by element, or row by row, each in a loop of its own: forward and backward. Tensors are
 * (rows, cols), dense, in device memory, stored as floats or as bf16 (base/bf16.h) and computed as floats.
 *
 *     ADD         y = a + b              backward: da = dy, db = dy
 *     MUL         y = a b                          da = dy b, db = dy a
 *     RELU        y = max(a, 0)                    da = dy where a > 0, else 0
 *     SIGMOID     y = 1 / (1 + e^-a)               da = dy y (1 - y)
 *     GELU        y = a Phi(a), exact Phi          da = dy (Phi(a) + a phi(a))
 *     LAYER_NORM  y = (a - mean) / sqrt(variance + 1e-5) x weight + bias, with the row's mean and variance
 *
 * Every call counts what it moves and computes (struct pointwise_count): bytes of each tensor that it reads, writes or adds to, once
 * each (a core reads a line before it writes to it, so that adding to a tensor takes no longer than writing it), and additions,
 * multiplications, divisions and comparisons of its loop. Sigmoid and GELU compute e^x with the 22 operations of device_cpu.h's
 * fast_exp(). device.h runs them. For C17 and C++17. */
#ifndef LOCKSTEP_POINTWISE_H
#define LOCKSTEP_POINTWISE_H

#include "device/half.h"

enum pointwise_op {
    POINTWISE_ADD,
    POINTWISE_MUL,
    POINTWISE_RELU,
    POINTWISE_SIGMOID,
    POINTWISE_GELU,
    POINTWISE_LAYER_NORM,
    POINTWISE_OPS
};
extern const char *const pointwise_names[POINTWISE_OPS];

/* An operation on certain tensors. Weight, bias (cols) and moments (rows, 2) belong to LAYER_NORM, which writes each row's mean and
 * 1 / sqrt(variance + 1e-5) to `moments` for its backward. */
struct pointwise {
    enum pointwise_op op;
    bool is_bf16;
    enum half half; /* HALF_BYTES of a LAYER_NORM needs two rows */
    size_t rows, cols;
    const void *a, *b; /* b: of ADD and MUL only */
    void *y;
    const float *weight, *bias;
    float *moments;
};

/* Its backward: gradients of a and b from that of y. They are written, or added to what is there if `adds_…`; those of weight and bias
 * are always added. */
struct pointwise_back {
    struct pointwise of;
    const void *dy;
    void *da, *db;
    bool adds_a, adds_b;
    float *weight_gradient, *bias_gradient;
    float *scratch; /* (device_pointwise_scratch()): of LAYER_NORM, for what rows add up, or must not add twice */
};

/* Weight and bias of a layer norm (cols), and their gradients, to which backward adds. */
struct norm_weights {
    float *weight, *bias, *weight_gradient, *bias_gradient;
};

/* Bytes moved and operations computed. */
struct pointwise_count {
    double bytes, flops;
};
struct pointwise_count pointwise_count_forward(const struct pointwise *call);
struct pointwise_count pointwise_count_backward(const struct pointwise_back *call);

/* True for an operation of two tensors. */
bool pointwise_is_binary(enum pointwise_op op);

#endif
