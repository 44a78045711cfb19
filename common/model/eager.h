/* eager: operations on tensors as an eager framework runs them. Each call checks its tensors, looks up the loop in a table, allocates
 * the result, runs the loop (device/pointwise.h; on a GPU it launches a kernel) and records a node on a tape. eager_backward() walks the
 * tape from its end; it allocates gradients when the first one arrives, and frees tensors behind it. This is the work of PyTorch's
 * dispatcher, caching allocator and autograd, without Python: a dispatch takes a hundred nanoseconds here and some microseconds there.
 *
 * A recording keeps the calls of one forward and backward with their addresses. eager_replay_…() runs the same loops on the same
 * memory without checks, allocation and tape. On a GPU the first replay captures them as two CUDA graphs, of forward and of backward; a
 * replay then launches such a graph.
 *
 * All tensors of an `eager` have the same shape and storage, in device memory. */
#ifndef LOCKSTEP_EAGER_H
#define LOCKSTEP_EAGER_H

#include "device/device.h"

/* A tensor and its gradient, NULL until backward has computed one. */
struct tensor {
    void *data, *gradient;
    bool is_kept; /* an input or a parameter: only its owner frees it */
};

struct eager;

/* half: take half of all operations' bytes or arithmetic away (half.h). */
struct eager *eager_open(size_t rows, size_t cols, bool is_bf16, enum half half);
void eager_close(struct eager *eager);

/* Allocate a tensor that stays: an input or a parameter. Its gradient stays too, until the next eager_begin(). */
struct tensor *eager_keep(struct eager *eager);

/* Begin a step: an empty tape, no gradients, counts of zero. */
void eager_begin(struct eager *eager);

/* Compute an operation and record it. `b`: NULL for those of one tensor. */
struct tensor *eager_run(struct eager *eager, enum pointwise_op op, struct tensor *a, struct tensor *b);
struct tensor *eager_layer_norm(struct eager *eager, struct tensor *a, struct norm_weights norm);

/* Return the gradient of the last tensor, to be filled by the caller before eager_backward(). */
void *eager_seed(struct eager *eager, struct tensor *last);

/* Compute the gradients of all kept tensors that the tape reaches. */
void eager_backward(struct eager *eager);

/* Operations of the step so far: how many were dispatched, and what they moved and computed. A replay dispatches none. */
struct eager_count {
    long dispatched;
    struct pointwise_count work;
};
struct eager_count eager_count(const struct eager *eager);

/* Record the calls from now on, over one step. Its memory is not used again until eager_close() or the next record. */
void eager_record(struct eager *eager);
void eager_stop_recording(struct eager *eager);

/* Call `after` after each operation, replayed ones too; NULL: no more. For tables: a clock takes longer than a small operation. */
typedef void eager_watcher(void *context, enum pointwise_op op, bool is_backward);
void eager_watch(struct eager *eager, eager_watcher *after, void *context);

/* Run the recorded calls of forward or backward: where they are watched call by call, else on a GPU as a graph. The caller fills inputs and
 * the seed as in the recorded step. */
void eager_replay_forward(struct eager *eager);
void eager_replay_backward(struct eager *eager);

#endif
