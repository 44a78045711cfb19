/* device: the arithmetic that the models are made of. One thread per rank.
 *
 * Legend: B rows (samples, or tokens of texts), N and K columns. All matrices are row-major and dense. */
#ifndef LOCKSTEP_DEVICE_H
#define LOCKSTEP_DEVICE_H

#include "text.h"
#include "work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Call once, before any other: one thread, and the library's kernel is chosen. */
void device_open(void);

/* From now on this rank's jitter is drawn from `seed`, on a device that models it. */
void device_seed(uint64_t seed);

/* "cpu"; "model" for a device that computes nothing and charges what a platform file says a pass costs. */
const char *device_name(void);
bool device_computes(void);

/* Memory of the device, zeros: what the operations below work on, and what collectives send. On a device that computes
 * nothing it is an address and no more: who reads or writes it is ended. */
void *device_new(size_t count, size_t size);
void device_free(void *memory);

/* The same of pages that nobody has had before: whoever fills them first has them made. */
void *device_map(size_t bytes);
void device_unmap(void *memory, size_t bytes);

/* What a collective takes in place of device memory that is no more than an address: as many bytes, of which neither
 * copies nor sums need to be made. NULL for any other memory. */
void *device_blank(const void *memory, size_t bytes);

/* out = host (count), which lies in the program's own memory */
void device_put(float *out, const float *host, size_t count);

/* Announces that `share` (0 to 1) of a pass of this model is what the operations below are for. A device that computes has
 * no use for it; the other one charges that time, and nothing for the operations. */
void device_pass(enum work_model model, enum work_pass pass, struct work work, double share);

/* What a platform file says of this rank's host; on a device that computes nothing is said. */
struct device_costs {
    struct cost pass[WORK_PASSES]; /* on the platform's fastest host */
    double pace;                   /* so many times as long it takes here */
    double jitter;                 /* standard deviation of a step's time, as a share of it */
    double feeds;                  /* so many ranks of this host can train at full speed at once */
    int cores;                     /* of this host */
    uint64_t host;                 /* tells it from others */
};
struct device_costs device_costs(enum work_model model);

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

/* out (B,N): row b is row index[b] of table (.,N). */
void device_gather(float *out, const float *table, const int32_t *index, int B, int N);
/* Row b of x (B,N) is added to row index[b] of out (rows,N), which is zeroed first: a dense gradient of the table. */
void device_scatter(float *out, int rows, const float *x, const int32_t *index, int B, int N);

/* x (B,N) becomes x + beside + bias: the end of a branch whose beginning was `beside` (B,N). */
void device_residual(float *x, const float *beside, const float *bias, int B, int N);

/* y (B,N) = (x - mean) / sqrt(variance + 1e-5) * weight + bias, mean and variance being those of the row;
 * moments (B,2) receives mean and 1 / sqrt(variance + 1e-5), which backward needs. */
void device_layer_norm(float *y, float *moments, const float *x, const float *weight, const float *bias, int B, int N);
/* To d (B,N), the gradient that goes past the norm, is added what goes through it, back (B,N) being the gradient of y;
 * weight_gradient and bias_gradient (N) receive theirs. */
void device_layer_norm_back(float *d, float *weight_gradient, float *bias_gradient, const float *back, const float *x,
                            const float *moments, const float *weight, int B, int N);

/* out (texts,N): the mean of x (B,N) over a text's valid rows. */
void device_mean_pool(float *out, const float *x, const struct text *text, int texts, int N);
/* d (B,N): what each row has of back (texts,N); nothing for padding. */
void device_mean_pool_back(float *d, const float *back, const struct text *text, int texts, int N);

/* Softmax attention of every text to itself. Legend: H heads, D columns of each. A row of `projected` holds query, key
 * and value, H x D columns each, head after head, all without their bias. Scores, q k / sqrt D, are computed for
 * extent x extent rows of a text and then masked where the key is padding; they never lie in memory for more than
 * DEVICE_LANES queries at a time. */
enum { DEVICE_LANES = 16 };
struct attention {
    const struct text *text; /* (texts), that make up the B rows */
    int texts;
    int heads, head_width;  /* H and D, D at most DEVICE_LANES */
    const float *projected; /* (B,3HD) */
    const float *bias;      /* (3HD) */
    float *out;             /* (B,HD) */
    float *log_sum;         /* (B,H): log of the sum of a query's e^score, which backward needs */
    float *scratch;         /* device_attention_scratch() floats, 64-byte aligned */
};
void device_attention(const struct attention *a);
/* back (B,3HD), the gradient of `projected`, from d (B,HD), the gradient of `out`. */
void device_attention_back(float *back, const float *d, const struct attention *a);
/* Floats for texts of at most `most_length` rows. */
size_t device_attention_scratch(int most_length);

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
