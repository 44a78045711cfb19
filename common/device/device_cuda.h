/* device_cuda: internal interface of the GPU device. device_cuda.c chooses the GPU, device_cuda_memory.c and
 * device_cuda_events.c are its memory and its clock, device_cuda_calls.c calls the operations, and device_cuda_*.cu
 * compute them. engine_nccl.c uses parts of it. For C17 and C++17.
 *
 * A launcher enqueues its work on `stream` and returns. Pointers are device memory. Each computes what the function of
 * the same name in device.h does; the legend is there, too. The same input gives the same bits in every run: no sum
 * depends on the order of blocks. */
#ifndef LOCKSTEP_DEVICE_CUDA_H
#define LOCKSTEP_DEVICE_CUDA_H

#include "device/chain.h"
#include "device/pointwise.h"
#include "device/sequence.h"
#include "options/precision.h"

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- device_cuda.c: for code with work of its own on the same GPU ------------------------------------------------- */

/* Return the stream that runs all work of this rank in order. */
cudaStream_t cuda_stream(void);

/* Return the number and the name of this rank's GPU, for messages. */
int cuda_index(void);
const char *cuda_name(void);

/* End the program if `error` is an error, with a message that names `what`. cuda_die() always ends it. */
void cuda_must(cudaError_t error, const char *what);
void cuda_die(const char *what, const char *why);

/* Wait until all work enqueued on a stream is done. */
void cuda_wait(cudaStream_t stream);

/* Call `watch` about once a millisecond while the program waits for the GPU in the thread that opened the device.
 * Shorter waits do not call it. NULL turns it off. */
void cuda_watch(void (*watch)(void *argument), void *argument);

/* --- parts, opened in the order memory, calls, events; closed in reverse order -------------------------------- */

/* device_cuda_memory.c */
cudaStream_t cuda_copies(void); /* the stream of copies beside operations */
void cuda_memory_open(void);
void cuda_memory_close(void);

/* device_cuda_events.c */
void cuda_events_open(void);
void cuda_events_close(void);

/* --- device_cuda_calls.c ------------------------------------------------------------------------------------------- */

/* Call while the stream exists. Products round their factors to `precision`. */
void cuda_work_open(enum precision precision);
void cuda_work_close(void);
int cuda_work_version(void); /* version of cuBLAS: 130100 for 13.1 */

/* --- device_cuda_*.cu: launchers ----------------------------------------------------------------------------------- */

/* Memory for sums of several blocks. The last block to finish adds up the parts, in their order. `arrived` counts the
 * blocks that have finished, so that the last block can be found. `arrived` is 0 between launches. */
struct cuda_parts {
    void *part;            /* cuda_column_parts() floats, or B doubles for the cross-entropy */
    unsigned int *arrived; /* cuda_column_arrivals(), or 1 for the cross-entropy */
};
size_t cuda_column_parts(int N);
size_t cuda_column_arrivals(int N);

void cuda_gelu(cudaStream_t stream, float *z, float *slope, const float *bias, int B, int N);
void cuda_gelu_back(cudaStream_t stream, struct cuda_parts parts, float *d, const float *slope, float *bias_gradient,
                    int B, int N);
void cuda_cross_entropy(cudaStream_t stream, struct cuda_parts parts, double *loss, float *logits, const float *bias,
                        const int32_t *labels, int B, int N, float scale);
void cuda_column_sums(cudaStream_t stream, struct cuda_parts parts, float *out, const float *x, int B, int N);

void cuda_gather(cudaStream_t stream, float *out, const float *table, const int32_t *index, int B, int N);
void cuda_scatter(cudaStream_t stream, float *out, int rows, const float *x, const int32_t *index, int B, int N);
void cuda_residual(cudaStream_t stream, float *x, const float *beside, const float *bias, int B, int N);

void cuda_layer_norm(cudaStream_t stream, float *y, float *moments, const float *x, const float *weight,
                     const float *bias, int B, int N);
struct cuda_norm {
    float *d, *weight_gradient, *bias_gradient;
    const float *back, *x, *moments, *weight;
};
void cuda_layer_norm_back(cudaStream_t stream, struct cuda_parts parts, struct cuda_norm norm, int B, int N);

void cuda_mean_pool(cudaStream_t stream, float *out, const float *x, const struct sequence *text, int texts, int N);
void cuda_mean_pool_back(cudaStream_t stream, float *d, const float *back, const struct sequence *text, int texts,
                         int N);

/* Members of struct attention that the kernels need. */
struct cuda_heads {
    const struct sequence *text;
    int texts, longest;
    int heads, head_width;
    const float *projected, *bias;
    float *out, *log_sum;
};
void cuda_attention(cudaStream_t stream, struct cuda_heads heads);
void cuda_attention_back(cudaStream_t stream, float *back, const float *d, struct cuda_heads heads);

void cuda_fill(cudaStream_t stream, float *out, float value, size_t count);
void cuda_scale(cudaStream_t stream, float *out, const float *x, float scale, size_t count);
void cuda_narrow(cudaStream_t stream, uint16_t *out, const float *x, size_t count);
void cuda_widen(cudaStream_t stream, float *out, const uint16_t *x, size_t count);
void cuda_add(cudaStream_t stream, float *sum, const float *x, size_t count);

/* Pointwise operations. Return the most parts that gradients of a layer norm of N columns are added up from; a part is 2 N floats. */
int cuda_norm_parts(int N);
void cuda_pointwise(cudaStream_t stream, struct pointwise call);
void cuda_pointwise_back(cudaStream_t stream, struct pointwise_back call);
void cuda_pointwise_scale(cudaStream_t stream, void *out, const void *x, float scale, size_t count, bool is_bf16);
void cuda_pointwise_fill(cudaStream_t stream, void *out, size_t cells, bool is_bf16, const float *x, size_t count);

/* Chains, with memory of their own: cuda_chain_memory() bytes for backward, aligned to 16; none for forward. */
size_t cuda_chain_memory(struct chain of);
void cuda_chain_forward(cudaStream_t stream, struct chain of, struct chain_arrays arrays);
void cuda_chain_back(cudaStream_t stream, struct chain of, struct chain_arrays arrays, float scale, void *memory);

/* m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; p = keep p - step m / (shrink sqrt(v) + epsilon) */
struct cuda_adamw_step {
    float *p, *m, *v;
    const float *g;
    float beta1, beta2, keep, step, shrink, epsilon;
};
void cuda_adamw(cudaStream_t stream, struct cuda_adamw_step adamw, size_t count);

#ifdef __cplusplus
}
#endif

#endif
