/* device: the arithmetic that the models are made of, the memory that it works on, and its time. One thread per rank, or
 * one GPU.
 *
 * A GPU works later than it is told: an operation is handed over and the program goes on. The operations of one rank are
 * done in their order. Pointers to what they read and write are device memory, which only device_put(), device_fetch()
 * and inboxes reach; on a CPU it is memory like any other.
 *
 * Legend: B rows (samples, or tokens of texts), N and K columns. All matrices are row-major and dense. */
#ifndef LOCKSTEP_DEVICE_H
#define LOCKSTEP_DEVICE_H

#include "device/sequence.h"
#include "options/precision.h"
#include "options/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- what it is -------------------------------------------------------------------------------------------------- */

/* Call once, before any other: `place` counts the ranks of this host, and says which of its GPUs this one takes. Ends the
 * program with STATUS_CANNOT where there is no such device. */
void device_open(int place, enum precision precision);
void device_close(void);

/* "cpu", "cuda"; "model" for a device that computes nothing and charges what a platform file says a pass costs. */
const char *device_name(void);
bool device_computes(void);

/* What computes matrix products, for the preamble of a result: "OpenBLAS SkylakeX, one thread per rank". */
const char *device_kernel(void);

/* The GPUs of this host that ranks may train on; 0 where ranks train on cores. And what a result says of this one: its
 * name, driver and libraries. */
int device_gpus(void);
const char *device_about(void);

/* From now on this rank's jitter is drawn from `seed`, on a device that models it. */
void device_seed(uint64_t seed);

/* --- time -------------------------------------------------------------------------------------------------------- */

/* The moment at which all work handed over so far is done, in the order of that work. On a CPU that is now, in seconds on
 * the world's clock. On a GPU it is a note of a moment to come, below zero; device_event_seconds() gives its seconds once
 * device_wait() has returned, and until the next device_clock_sync_begin(). */
double device_record_event(void);
double device_event_seconds(double moment);

/* So many notes will be taken before the next device_clock_sync_begin(): none of them is to cost an allocation. */
void device_reserve_events(size_t moments);

/* Returns when everything that was handed over is done. */
void device_wait(void);

/* Waits, forgets all notes and sets the device's clock by the world's; settling waits and does so a second time, so that
 * what lies between is told right although the two clocks part. */
void device_clock_sync_begin(void);
void device_clock_sync_end(void);

/* By how much the two may differ then, in seconds. */
double device_clock_error(void);

/* --- memory ------------------------------------------------------------------------------------------------------ */

/* Memory of the device, zeros: what the operations below work on, and what collectives send. On a device that computes
 * nothing it is an address and no more: who reads or writes it is ended. */
void *device_new(size_t count, size_t size);
void device_free(void *memory); /* when everything that was handed over is done; so all below that free */

/* The same of pages that nobody has had before: whoever fills them first has them made. */
void *device_map(size_t bytes);
void device_unmap(void *memory, size_t bytes);

/* What a collective takes in place of device memory that is no more than an address: as many bytes, of which neither
 * copies nor sums need to be made. NULL for any other memory. */
void *device_fake_buffer(const void *memory, size_t bytes);

/* Whether MPI can read and write device memory itself; and else what it takes instead: memory of the host through which
 * the device copies fast. NULL is none. */
bool device_is_host_accessible(void);
void *device_stage_new(size_t bytes);
void device_stage_free(void *stage);

/* Copies between device memory and the program's own. Fetching waits for all work handed over before; putting returns
 * when it is there, and does not wait for other work. */
void device_put(void *out, const void *host, size_t bytes);
void device_fetch(void *host, const void *memory, size_t bytes);

/* The same in the order of the work, without waiting: `host`, which device_stage_new() made, must stay as it is until
 * then. */
void device_put_later(void *out, const void *host, size_t bytes);

/* host[i] = memory[i * stride], count elements of `size` bytes. Waits as fetching does. */
void device_sample(void *host, const void *memory, size_t size, size_t stride, size_t count);

/* The same in the order of the work, without waiting: `stage`, which device_stage_new() made, has them after device_wait(). */
void device_sample_later(void *stage, const void *memory, size_t size, size_t stride, size_t count);

/* Device memory that the host fills: what it has written to `host` is in `device` when device_deliver() returns. On a CPU
 * both are one. Any thread may deliver. */
struct device_staging_buffer {
    void *host, *device;
    size_t bytes;
};
struct device_staging_buffer device_staging_buffer_open(size_t count, size_t size);
void device_staging_buffer_close(struct device_staging_buffer *inbox);
void device_deliver(const struct device_staging_buffer *inbox, size_t bytes);

/* --- costs of a device that computes nothing ---------------------------------------------------------------------- */

/* Announces that `share` (0 to 1) of a pass of this model is what the operations below are for. A device that computes has
 * no use for it; the other one charges that time, and nothing for the operations. */
void device_charge(enum work_model model, enum work_pass pass, struct work work, double share);

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

/* --- operations --------------------------------------------------------------------------------------------------- */

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
 * bias (N) is added first. loss (1) receives the sum over the B samples of -log p(label), not scaled. */
void device_cross_entropy(double *loss, float *logits, const float *bias, const int32_t *labels, int B, int N,
                          float scale);
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
void device_mean_pool(float *out, const float *x, const struct sequence *text, int texts, int N);
/* d (B,N): what each row has of back (texts,N); nothing for padding. */
void device_mean_pool_back(float *d, const float *back, const struct sequence *text, int texts, int N);

/* Softmax attention of every text to itself. Legend: H heads, D columns of each. A row of `projected` holds query, key
 * and value, H x D columns each, head after head, all without their bias. Scores, q k / sqrt D, are computed for
 * extent x extent rows of a text and then masked where the key is padding; they never lie in memory for more than
 * DEVICE_LANES queries at a time. */
enum { DEVICE_LANES = 16 };
struct attention {
    const struct sequence *text; /* (texts), that make up the B rows */
    int texts, longest;          /* most rows of a text */
    int heads, head_width;       /* H and D, D at most DEVICE_LANES */
    const float *projected;      /* (B,3HD) */
    const float *bias;           /* (3HD) */
    float *out;                  /* (B,HD) */
    float *log_sum;              /* (B,H): log of the sum of a query's e^score, which backward needs */
    float *scratch;              /* (device_attention_scratch()), 64-byte aligned */
};
void device_attention(const struct attention *a);
/* back (B,3HD), the gradient of `projected`, from d (B,HD), the gradient of `out`. */
void device_attention_back(float *back, const float *d, const struct attention *a);
/* Floats for texts of at most `most_length` rows. */
size_t device_attention_scratch(int most_length);

/* out = value, everywhere */
void device_fill(float *out, float value, size_t count);
/* out = x */
void device_copy(float *out, const float *x, size_t count);
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

#endif
