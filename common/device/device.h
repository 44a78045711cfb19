/* device: arithmetic, memory and clock of the device that a rank computes on: one CPU thread, or one GPU.
 *
 * A GPU is asynchronous: a call enqueues an operation and returns. Operations of one rank run in order, on device
 * memory. Only device_put(), device_fetch(), their variants and staging buffers copy between device and host memory. On
 * a CPU, device memory is ordinary memory.
 *
 * Legend: B rows (samples, or tokens of sequences), N and K columns. All matrices are row-major and dense. */
#ifndef LOCKSTEP_DEVICE_H
#define LOCKSTEP_DEVICE_H

#include "base/ledger.h"
#include "device/chain.h"
#include "device/pointwise.h"
#include "device/sequence.h"
#include "options/precision.h"
#include "options/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- selection and identity -------------------------------------------------------------------------------------- */

/* Open the device. Call once, before any other function. `place` is this rank's index on its host and selects its GPU.
 * End the program with STATUS_CANNOT if there is no such device. */
void device_open(int place, enum precision precision);
void device_close(void);

/* Return "cpu", "cuda" or "model". The model device computes nothing and charges the costs in a platform file. */
const char *device_name(void);
bool device_computes(void);

/* Return the library of matrix products, for the preamble of a result: "OpenBLAS SkylakeX, one thread per rank". */
const char *device_kernel(void);

/* Return the number of GPUs of this host that ranks may train on; 0 if ranks train on cores. */
int device_gpus(void);

/* Return the name, driver and libraries of this rank's GPU, for a result; "" without one. */
const char *device_about(void);

/* Seed the jitter of this rank, on a device that models jitter. */
void device_seed(uint64_t seed);

/* True if operations run beside the program that enqueues them: on a GPU. It then can also capture them as a graph. */
bool device_is_asynchronous(void);

/* --- time -------------------------------------------------------------------------------------------------------- */

/* Record an event after all work enqueued so far. On a CPU, return a stamp of now (world/stamps.h), on a GPU a negative handle.
 * device_event_seconds() returns its time on the world's clock, in seconds; that of a handle after device_wait() has returned, until the
 * next device_clock_sync_begin(). */
double device_record_event(void);
double device_event_seconds(double moment);

/* Reserve room for this many events until the next device_clock_sync_begin(), so that recording one allocates nothing. */
void device_reserve_events(size_t moments);

/* Wait until all enqueued work is done. */
void device_wait(void);

/* Wait, discard all events and set the device's clock by the world's. device_clock_sync_end() waits and compares the
 * clocks a second time, which corrects the events in between for drift. */
void device_clock_sync_begin(void);
void device_clock_sync_end(void);

/* Return the largest error of the clock sync, in seconds. */
double device_clock_error(void);

/* --- memory ------------------------------------------------------------------------------------------------------ */

/* Allocate zeroed device memory, for the operations below and for collectives. The ledger counts it for its owner. A device
 * that computes nothing only reserves addresses: reading or writing them crashes the program. */
void *device_new(enum memory_owner owner, size_t count, size_t size);
void device_free(void *memory); /* waits for all enqueued work; so do all functions below that free */

/* Allocate device memory on fresh pages. On a CPU, the first write to each page causes a page fault. */
void *device_map(enum memory_owner owner, size_t bytes);
void device_unmap(void *memory, size_t bytes);

/* Return a fake buffer of this many bytes for a collective, if `memory` is only reserved addresses. Its contents need
 * neither be copied nor summed. Return NULL for any other memory. */
void *device_fake_buffer(const void *memory, size_t bytes);

/* True if MPI can access device memory directly. */
bool device_is_host_accessible(void);

/* Allocate host memory with fast device copies. MPI uses it if it cannot access device memory. NULL is no memory. */
void *device_stage_new(enum memory_owner owner, size_t bytes);
void device_stage_free(void *stage);

/* Return where device memory is; and on a GPU, its bytes that all programs take, NaN on any other device. */
enum memory_place device_place(void);
double device_bytes_taken(void);

/* Copy between device and host memory. device_fetch() waits for all work enqueued before. device_put() returns when the
 * copy is done, and does not wait for other work. */
void device_put(void *out, const void *host, size_t bytes);
void device_fetch(void *host, const void *memory, size_t bytes);

/* Enqueue a copy to the device, without waiting. `host` must come from device_stage_new() and stay unchanged until the
 * copy is done. */
void device_put_later(void *out, const void *host, size_t bytes);

/* Copies beside operations, on an asynchronous device. Enqueue a copy to the device, which does not wait for operations, nor they for it.
 * `host` stays unchanged until the copy is done. If it comes from device_stage_new() (pinned memory), the device reads it itself and the
 * call returns at once; of any other memory the call makes a pinned copy first, and may wait for the whole copy. */
void device_copy_beside(void *out, const void *host, size_t bytes);
/* Let copies from now on wait for all operations enqueued so far, or operations for copies. */
void device_copies_follow(void);
void device_operations_follow(void);
/* Record an event (device_record_event()) after all copies enqueued so far. */
double device_record_copies(void);

/* Copy host[i] = memory[i * stride], `count` elements of `size` bytes. Wait for all work enqueued before. */
void device_sample(void *host, const void *memory, size_t size, size_t stride, size_t count);

/* Enqueue the same copy, without waiting. `stage` must come from device_stage_new(); it holds the elements after
 * device_wait(). */
void device_sample_later(void *stage, const void *memory, size_t size, size_t stride, size_t count);

/* Staging buffer: the host writes to `host`, and device_deliver() copies the first `bytes` bytes to `device` before it
 * returns. On a CPU both pointers are equal. Any thread may call device_deliver(). */
struct device_staging_buffer {
    void *host, *device;
    size_t bytes;
};
struct device_staging_buffer device_staging_buffer_open(enum memory_owner owner, size_t count, size_t size);
void device_staging_buffer_close(struct device_staging_buffer *buffer);
void device_deliver(const struct device_staging_buffer *buffer, size_t bytes);

/* --- costs of a device that computes nothing ---------------------------------------------------------------------- */

/* Set the model that is trained from now on, by its sizes: a platform file may have the costs of the published one (work.h). */
void device_trains(enum work_model model, const struct cost_scale *scale);

/* Draw this rank's jitter for the passes that follow, at the begin of each forward pass. A device that computes ignores the
 * call. */
void device_draw_jitter(enum work_model model);

/* Charge `share` (0 to 1) of a pass of this model to the operations that follow. The model device lets that time pass,
 * and no time for the operations. A device that computes ignores the call. */
void device_charge(enum work_model model, enum work_pass pass, struct work work, double share);

/* Costs of this rank's host in the platform file. On a device that computes, `pace` is 1 and the rest 0. */
struct device_costs {
    struct cost pass[WORK_PASSES]; /* costs on the platform's fastest host */
    double slowdown;               /* slowdown: time on this host / time on the fastest */
    double jitter;                 /* standard deviation of a step's time, as a share of the time */
    double parallel_capacity;      /* parallel capacity: ranks of this host that can train at full speed at once */
    int cores;                     /* cores of this host */
    uint64_t host;                 /* hash of its name */
};
struct device_costs device_costs(enum work_model model);

/* --- graphs -------------------------------------------------------------------------------------------------------- */

/* Capture operations on an asynchronous device: between begin and end they are kept in a graph, and do not run. A launch of the graph
 * enqueues all of them by one call. The operations must have run before, because a capture may neither allocate, nor copy to or from
 * the host, nor wait. Only the thread that opened the device may capture. */
struct device_graph;
void device_capture_begin(void);
struct device_graph *device_capture_end(void);
void device_graph_launch(const struct device_graph *graph);
void device_graph_free(struct device_graph *graph); /* NULL is allowed */

/* --- operations --------------------------------------------------------------------------------------------------- */

/* out (B,N) = x (B,K) w (K,N) */
void device_multiply(float *out, const float *x, const float *w, int B, int N, int K);
/* out (B,K) = y (B,N) w^T with w (K,N): the gradient of the inputs x */
void device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K);
/* out (K,N) = x^T y with x (B,K) and y (B,N): the gradient of w */
void device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K);

/* Replace z (B,N) by gelu(z + bias), and write gelu'(z + bias), which backward needs, to slope (B,N).
 * gelu(x) = x Phi(x) with the exact Phi. On a CPU, erf by Abramowitz and Stegun 7.1.26, error at most 1.5e-7. */
void device_gelu(float *z, float *slope, const float *bias, int B, int N);
/* Multiply d (B,N) by slope, and write its column sums to bias_gradient (N). */
void device_gelu_back(float *d, const float *slope, float *bias_gradient, int B, int N);

/* Softmax cross-entropy of logits (B,N) + bias (N), with labels (B) in [0,N). Replace the logits by the gradient of the
 * loss, times `scale`. Write the sum of -log p(label) over the B samples, not scaled, to loss (1). */
void device_cross_entropy(double *loss, float *logits, const float *bias, const int32_t *labels, int B, int N,
                          float scale);
/* out (N) = column sums of x (B,N) */
void device_column_sums(float *out, const float *x, int B, int N);

/* Copy row index[b] of table (.,N) to row b of out (B,N). */
void device_gather(float *out, const float *table, const int32_t *index, int B, int N);
/* Zero out (rows,N), then add row b of x (B,N) to its row index[b]: a dense gradient of the table. */
void device_scatter(float *out, int rows, const float *x, const int32_t *index, int B, int N);

/* Add beside (B,N) and bias to x (B,N): the end of a residual branch that began at `beside`. */
void device_residual(float *x, const float *beside, const float *bias, int B, int N);

/* y (B,N) = (x - mean) / sqrt(variance + 1e-5) * weight + bias, with the row's mean and variance. Write mean and
 * 1 / sqrt(variance + 1e-5), which backward needs, to moments (B,2). */
void device_layer_norm(float *y, float *moments, const float *x, const float *weight, const float *bias, int B, int N);
/* Add the gradient through the norm to d (B,N), which holds the gradient past it. back (B,N) is the gradient of y.
 * Write the gradients of weight and bias to weight_gradient and bias_gradient (N). */
void device_layer_norm_back(float *d, float *weight_gradient, float *bias_gradient, const float *back, const float *x,
                            const float *moments, const float *weight, int B, int N);

/* out (texts,N) = mean of x (B,N) over the valid rows of each sequence */
void device_mean_pool(float *out, const float *x, const struct sequence *text, int texts, int N);
/* d (B,N) = each valid row's share of back (texts,N), and 0 for padding */
void device_mean_pool_back(float *d, const float *back, const struct sequence *text, int texts, int N);

/* Softmax attention of each sequence to itself. Legend: H heads, D columns of each. A row of `projected` holds query,
 * key and value, H x D columns each, head after head, all without their bias. Scores, q k / sqrt D, are computed for
 * extent x extent rows of a sequence and then masked where the key is padding. Memory never holds the scores of
 * more than DEVICE_LANES queries at a time. */
enum { DEVICE_LANES = 16 };
struct attention {
    const struct sequence *text; /* (texts), which make up the B rows */
    int texts, longest;          /* most rows of a sequence */
    int heads, head_width;       /* H and D, D at most DEVICE_LANES */
    const float *projected;      /* (B,3HD) */
    const float *bias;           /* (3HD) */
    float *out;                  /* (B,HD) */
    float *log_sum;              /* (B,H): log of the sum of a query's e^score, which backward needs */
    float *scratch;              /* (device_attention_scratch()), 64-byte aligned */
};
void device_attention(const struct attention *a);
/* back (B,3HD) = gradient of `projected`, from d (B,HD), the gradient of `out` */
void device_attention_back(float *back, const float *d, const struct attention *a);
/* Return the floats of scratch for sequences of at most `most_length` rows. */
size_t device_attention_scratch(int most_length);
/* Return the queries that attention computes for a sequence of `extent` rows: on a core a multiple of DEVICE_LANES, because the lanes
 * beyond the sequence take as long as the others. */
int device_attention_queries(int extent);

/* out = value, everywhere */
void device_fill(float *out, float value, size_t count);
/* out = x */
void device_copy(float *out, const float *x, size_t count);
/* out = x * scale */
void device_scale(float *out, const float *x, float scale, size_t count);
/* Convert between float and bf16, the upper half of a float, which collective_sum() sends for TYPE_BF16. */
void device_narrow(uint16_t *out, const float *x, size_t count);
void device_widen(float *out, const uint16_t *x, size_t count);
/* sum += x */
void device_add(float *sum, const float *x, size_t count);

/* Run an operation of pointwise.h, and its backward. A layer norm's backward takes two kernels on a GPU, all others one. */
void device_pointwise(const struct pointwise *call);
void device_pointwise_back(const struct pointwise_back *call);
/* Return the floats of scratch for the backward of a layer norm of `cols` columns. */
size_t device_pointwise_scratch(size_t cols, enum half half);
/* out = scale x, `count` values in one storage */
void device_pointwise_scale(void *out, const void *x, float scale, size_t count, bool is_bf16);
/* Fill out (cells), in its storage, with x (count), again and again. */
void device_pointwise_fill(void *out, size_t cells, bool is_bf16, const float *x, size_t count);

/* Run a chain (chain.h), which takes memory of its own. On a GPU a pass is one kernel; one more adds up the gradients of NORM's weight
 * and bias. */
struct device_chain;
struct device_chain *device_chain_open(struct chain of);
void device_chain_close(struct device_chain *chain); /* NULL is allowed */
void device_chain_forward(struct device_chain *chain, const struct chain_arrays *arrays);
/* The gradient of y is y x scale. */
void device_chain_back(struct device_chain *chain, const struct chain_arrays *arrays, float scale);

/* Apply one step of AdamW to `count` parameters in place (Loshchilov and Hutter, ICLR 2019; PyTorch's order). */
struct adamw_rates {
    float rate;         /* learning rate */
    float beta1, beta2; /* decay of the two moments */
    float epsilon;
    float weight_decay;
    float correction1, correction2; /* 1 - beta1^t and sqrt(1 - beta2^t) at step t = 1, 2, … */
};
void device_adamw(float *p, float *m, float *v, const float *g, size_t count, const struct adamw_rates *rates);

#endif
