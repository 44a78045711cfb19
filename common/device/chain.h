/* chain: blocks of pointwise operations in one pass over a tensor (rows, cols), forward and backward; backward computes the chain again
 * instead of reading it. The blocks are those of model/branch.h:
 *
 *     MICRO   x = σ(relu(x + v) w) x + v; float only
 *     NORM    x = layer_norm(σ(x) gelu(x)) + x; every result of a bf16 chain is rounded, as if it had been stored
 *
 * device.h runs them. For C17 and C++17. */
#ifndef LOCKSTEP_CHAIN_H
#define LOCKSTEP_CHAIN_H

#include "device/pointwise.h"

struct chain {
    bool is_norm, is_bf16;
    int blocks, rows, cols;
    enum half half; /* MICRO counts as one row of all cells. Rows of NORM: their bytes are halved by rows */
};

/* Arrays of the shape of the tensor: x and y as it is stored, the others floats. */
struct chain_arrays {
    const void *x;      /* input */
    void *y;            /* the chain's end */
    const float *v, *w; /* parameters of MICRO */
    float *v_gradient, *w_gradient;
    struct norm_weights norm; /* of NORM; gradients are added to */
};

#endif
