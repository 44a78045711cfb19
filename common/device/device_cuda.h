/* device_cuda: between device_cuda.c, which has the GPU, device_cuda_calls.c, which knows what is to be computed, and
 * device_cuda_*.cu, which do it on the GPU; and what engine_nccl.c needs of them. For C17 and C++17.
 *
 * A launcher hands its work to `stream` and returns. Pointers are device memory. What each one computes, and the legend,
 * is in device.h under the same name. The same input gives the same bits in every run: no sum depends on which block
 * comes first. */
#ifndef LOCKSTEP_DEVICE_CUDA_H
#define LOCKSTEP_DEVICE_CUDA_H

#include "device/sequence.h"
#include "options/precision.h"

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- device_cuda.c: for who has work of his own on the same GPU --------------------------------------------------- */

/* Where all work of this rank is done, one after the other. */
cudaStream_t cuda_stream(void);

/* Ends the program where `error` is one, with a line that says so of `what`; or in any case. */
void cuda_must(cudaError_t error, const char *what);
void cuda_die(const char *what, const char *why);

/* Returns when a stream has done all it was told. */
void cuda_wait(cudaStream_t stream);

/* From now on whoever waits for the GPU calls `watch` about once a millisecond, in the thread that opened the device;
 * waits shorter than that do without. NULL is nobody. */
void cuda_watch(void (*watch)(void *argument), void *argument);

/* --- device_cuda_calls.c ------------------------------------------------------------------------------------------- */

/* Once there is a stream, and while there is one. Products round their factors to `precision`. */
void cuda_work_open(enum precision precision);
void cuda_work_close(void);
int cuda_work_version(void); /* of cuBLAS: 130100 for 13.1 */

/* --- device_cuda_*.cu: launchers ----------------------------------------------------------------------------------- */

/* Room for sums that several blocks have a part in. The last block to finish adds the parts up, in their order, and finds
 * out that it is the last by `arrived`: so many have been here, which is zero between launches. */
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

/* As struct attention. */
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
