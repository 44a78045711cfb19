/* branch: an auxiliary branch of pointwise operations beside a model: a chain of equal blocks on a tensor (rows, cols) of the batch's
 * features, with half its mean square as loss. Labs compute its gradients and drop them: its parameters stay as they are, and the
 * model's training does not depend on it. What it costs is known from its settings alone, so a lab can put any mixture of launches,
 * bytes and arithmetic into a step.
 *
 *     BRANCH_MICRO   x = σ(relu(x + v) w) x + v: add, relu, mul, sigmoid, mul, add; parameters v, w (rows, cols)
 *     BRANCH_NORM    x = layer_norm(σ(x) gelu(x)) + x: sigmoid, gelu, mul, layer_norm, add; parameters weight, bias (cols)
 *
 * and three ways to run it, with equal results up to rounding:
 *
 *     BRANCH_EAGER   operation by operation, dispatched, allocated, recorded on a tape (eager.h)
 *     BRANCH_REPLAY  the same loops on the same memory, without dispatch, allocation and tape; on a GPU a captured graph
 *     BRANCH_FUSED   all blocks in one loop: each element (MICRO) or row (NORM) stays in the core's cache through the whole chain;
 *                    backward computes the chain again instead of reading it
 *
 * Storage is float or bf16; arithmetic is float. Half of the bytes or of the arithmetic can be taken away (half.h): eager and replayed
 * from each operation, fused from the whole chain. The tensors of MICRO then count as one row of all cells; a single row of NORM cannot
 * lose bytes. Eager and replayed operations on fewer than 512 cells stay whole: their time is that of beginning a loop.
 *
 * It runs on the device of its rank (device/device.h). On a GPU an operation is a kernel, and a replay a captured CUDA graph. */
#ifndef LOCKSTEP_BRANCH_H
#define LOCKSTEP_BRANCH_H

#include "model/eager.h"
#include "options/memory_estimate.h"

#include <stdint.h>

enum branch_kind { BRANCH_NONE, BRANCH_MICRO, BRANCH_NORM, BRANCH_KINDS };
enum branch_way { BRANCH_EAGER, BRANCH_REPLAY, BRANCH_FUSED, BRANCH_WAYS };

struct branch_settings {
    enum branch_kind kind;
    enum branch_way way;
    bool is_bf16;
    int blocks, rows, cols;
    enum half half;
};

struct branch;

/* Open a branch with parameters drawn from the seed. NULL for BRANCH_NONE. Return to the initial parameters by opening it again. */
struct branch *branch_open(struct branch_settings settings, uint64_t seed);
void branch_close(struct branch *branch); /* NULL is allowed */

/* Return the bytes of all its tensors, as far as they are touched. */
double branch_bytes(struct branch_settings settings);

/* Return the memory that it takes. Run eagerly, the result of each operation stays until backward. */
struct memory_estimate branch_memory(struct branch_settings settings);

/* Fill the tensor with `features` (count, in device memory), again and again, and compute the chain. */
void branch_forward(struct branch *branch, const float *features, size_t count);

/* Compute all gradients. */
void branch_backward(struct branch *branch);

/* Call `after` after each operation of an unfused branch, and with POINTWISE_OPS before the first of a pass. NULL: no more. */
void branch_watch(struct branch *branch, eager_watcher *after, void *context);

/* Wait, and return the loss of the last forward, half the mean square of the touched cells. Call it before branch_backward(), which may
 * reuse the memory. */
double branch_loss(const struct branch *branch);

/* Return the operations dispatched, and the bytes and arithmetic of them, in the last forward and backward: counted by themselves if
 * EAGER, else branch_work(). */
struct eager_count branch_count(const struct branch *branch);

/* Return the same from the settings, without a branch: of forward or backward. */
struct eager_count branch_work(struct branch_settings settings, bool is_backward);

/* Return the bytes that a pass moves before its operations: it fills the input; backward of an unfused branch reads the end and writes
 * its gradient. */
double branch_edge_bytes(struct branch_settings settings, bool is_backward);

/* Return the operations of a block, and the one of a number without its tensors: for counts. */
int branch_operations(enum branch_kind kind);
struct pointwise_back branch_operation(struct branch_settings settings, int number);

/* Parameters and gradients in device memory, for checks: parts (branch_parts()) with their number of values. */
struct branch_part {
    float *value, *gradient;
    size_t count;
};
int branch_parts(const struct branch *branch, struct branch_part part[2]);

#endif
