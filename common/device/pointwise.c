#include "device/pointwise.h"

const char *const pointwise_names[POINTWISE_OPS] = { "add", "mul", "relu", "sigmoid", "gelu", "layer_norm" };

bool pointwise_is_binary(enum pointwise_op op)
{
    return op == POINTWISE_ADD || op == POINTWISE_MUL;
}

/* Operations of an element: e^x 22, Phi(x) 22 + 17. */
static const double forward_flops[POINTWISE_OPS] = { 1, 1, 1, 25, 40, 9 },
                    backward_flops[POINTWISE_OPS] = { 0, 2, 1, 3, 43, 15 };
/* Tensors that a backward reads beside dy, each once. */
static const int backward_reads[POINTWISE_OPS] = { 0, 2, 1, 1, 1, 1 };

static double touched(const struct pointwise *p)
{
    return (double)half_touched(p->half, p->rows, p->cols);
}

static double computed(const struct pointwise *p)
{
    return (double)half_computed(p->half, p->rows, p->cols);
}

struct pointwise_count pointwise_count_forward(const struct pointwise *p)
{
    const double tensors = pointwise_is_binary(p->op) ? 3 : 2;
    return (struct pointwise_count){ .bytes = tensors * touched(p) * (p->is_bf16 ? 2 : 4),
                                     .flops = forward_flops[p->op] * computed(p) };
}

struct pointwise_count pointwise_count_backward(const struct pointwise_back *p)
{
    const int gradients = 1 + pointwise_is_binary(p->of.op), sums = p->adds_a + (gradients == 2 && p->adds_b);
    const double tensors = 1 + backward_reads[p->of.op] + gradients;
    return (struct pointwise_count){ .bytes = tensors * touched(&p->of) * (p->of.is_bf16 ? 2 : 4),
                                     .flops = (backward_flops[p->of.op] + sums) * computed(&p->of) };
}
