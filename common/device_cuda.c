/* device.h on a GPU: its memory, its streams and its clock; what is computed is in device_cuda_*.cu, and matrix products are
 * cuBLAS's. */
#include "device_cuda.h"
#include "device.h"
#include "die.h"
#include "memory.h"
#include "world.h"

#include <cublas_v2.h>
#include <float.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKSPACE_BYTES = 32u << 20 }; /* what cuBLAS's manual advises for compute capability 9.0 */

/* One GPU per process: a rank's. */
static struct {
    int index;
    struct cudaDeviceProp is;
    char about[512], kernel[384];
    cudaStream_t work, copies; /* the rank's operations; what comes from the host beside them */

    cublasHandle_t blas;
    void *workspace; /* one stream and memory of its own: products are the same bits in every run */
    cublasComputeType_t compute;

    struct cuda_parts parts; /* of sums, as many as any operation has needed yet */
    size_t part_bytes, arrivals;

    cudaEvent_t *note; /* (note_room), of which `notes` are taken since the last device_align() */
    size_t notes, note_room;
    struct anchor { /* an event that happened at `time` on the world's clock, give or take `error` */
        cudaEvent_t event;
        double time, error;
    } begin, end;
    cudaEvent_t candidate;
    double rate; /* seconds of the world's clock in one of the GPU's */

    void *sample; /* of the host, where samples arrive */
    size_t sample_bytes;

    void (*watch)(void *argument);
    void *watch_argument;
} gpu;

/* --- what it is -------------------------------------------------------------------------------------------------- */

void cuda_must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        die(STATUS_WRONG, "GPU %d (%s): %s: %s", gpu.index, gpu.is.name, what, cudaGetErrorString(error));
}

static void blas_must(cublasStatus_t status, const char *what)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        die(STATUS_WRONG, "GPU %d (%s): %s: %s", gpu.index, gpu.is.name, what, cublasGetStatusString(status));
}

int device_gpus(void)
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

static void choose_gpu(int place)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count < 1)
        die(STATUS_CANNOT, "built with CUDA, no usable device (%s)",
            cudaGetErrorString(error != cudaSuccess ? error : cudaErrorNoDevice));
    gpu.index = place % count;
    cuda_must(cudaSetDevice(gpu.index), "cudaSetDevice");
    cuda_must(cudaGetDeviceProperties(&gpu.is, gpu.index), "cudaGetDeviceProperties");
}

/* NVIDIA's libraries let this variable of the environment overrule the program, whose results would then say what is not so:
 * 0 keeps products from rounding their factors to tf32, and anything else lets them. */
static void refuse_override(enum precision precision)
{
    const char *set = getenv("NVIDIA_TF32_OVERRIDE");
    if (set && strcmp(set, precision == PRECISION_TF32 ? "1" : "0") != 0)
        die(STATUS_CANNOT, "NVIDIA_TF32_OVERRIDE=%s overrules --precision %s; unset it", set,
            precision_name(precision));
}

/* fp32 must stay fp32: with the default mode, only a compute type that says so rounds the factors. */
static void open_blas(enum precision precision)
{
    static const cublasComputeType_t compute[] = { [PRECISION_FP32] = CUBLAS_COMPUTE_32F,
                                                   [PRECISION_TF32] = CUBLAS_COMPUTE_32F_FAST_TF32,
                                                   [PRECISION_BF16] = CUBLAS_COMPUTE_32F_FAST_16BF };
    if (precision != PRECISION_FP32 && gpu.is.major < 8)
        die(STATUS_CANNOT, "%s has compute capability %d.%d, and %s needs 8.0; choose fp32", gpu.is.name, gpu.is.major,
            gpu.is.minor, precision_name(precision));
    refuse_override(precision);
    gpu.compute = compute[precision];
    gpu.workspace = device_new(WORKSPACE_BYTES, 1);
    blas_must(cublasCreate(&gpu.blas), "cublasCreate");
    blas_must(cublasSetStream(gpu.blas, gpu.work), "cublasSetStream"); /* which forgets a workspace: first */
    blas_must(cublasSetWorkspace(gpu.blas, gpu.workspace, WORKSPACE_BYTES), "cublasSetWorkspace");
    blas_must(cublasSetMathMode(gpu.blas, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
}

/* The driver's own version, "580.95.05", which CUDA does not tell: the word after two blanks in the first line of what the
 * kernel shows. Blank where it shows nothing. */
static void find_driver(char *version, size_t size)
{
    char line[256] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    const char *word = strstr(line, "  ");
    snprintf(version, size, "%.*s", word ? (int)strcspn(word + 2, " \n") : 0, word ? word + 2 : "");
}

/* CUDA writes version 13.1 as 13010, cuBLAS as 130100 and its patch. */
static void describe(enum precision precision)
{
    int driver = 0, runtime = 0, blas = 0;
    cuda_must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    cuda_must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    blas_must(cublasGetVersion(gpu.blas, &blas), "cublasGetVersion");
    snprintf(gpu.kernel, sizeof gpu.kernel, "cuBLAS %d.%d on %s, %s", blas / 10000, blas / 100 % 100, gpu.is.name,
             precision_name(precision));
    char own[64];
    find_driver(own, sizeof own);
    snprintf(gpu.about, sizeof gpu.about,
             "%s, compute capability %d.%d, driver %s%sfor CUDA %d.%d, CUDA %d.%d, cuBLAS %d.%d", gpu.is.name,
             gpu.is.major, gpu.is.minor, own, *own ? " " : "", driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10, blas / 10000, blas / 100 % 100);
}

void device_open(int place, enum precision precision)
{
    choose_gpu(place);
    cuda_must(cudaStreamCreateWithFlags(&gpu.work, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cuda_must(cudaStreamCreateWithFlags(&gpu.copies, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cuda_must(cudaEventCreate(&gpu.begin.event), "cudaEventCreate");
    cuda_must(cudaEventCreate(&gpu.end.event), "cudaEventCreate");
    cuda_must(cudaEventCreate(&gpu.candidate), "cudaEventCreate");
    open_blas(precision);
    describe(precision);
    device_align();
}

void device_close(void)
{
    device_wait();
    blas_must(cublasDestroy(gpu.blas), "cublasDestroy");
    for (size_t i = 0; i < gpu.note_room; i++)
        cuda_must(cudaEventDestroy(gpu.note[i]), "cudaEventDestroy");
    free(gpu.note);
    cuda_must(cudaEventDestroy(gpu.begin.event), "cudaEventDestroy");
    cuda_must(cudaEventDestroy(gpu.end.event), "cudaEventDestroy");
    cuda_must(cudaEventDestroy(gpu.candidate), "cudaEventDestroy");
    device_free(gpu.workspace);
    device_free(gpu.parts.part);
    device_free(gpu.parts.arrived);
    device_stage_free(gpu.sample);
    cuda_must(cudaStreamDestroy(gpu.work), "cudaStreamDestroy");
    cuda_must(cudaStreamDestroy(gpu.copies), "cudaStreamDestroy");
    memset(&gpu, 0, sizeof gpu);
}

const char *device_name(void)
{
    return "cuda";
}

const char *device_kernel(void)
{
    return gpu.kernel;
}

const char *device_about(void)
{
    return gpu.about;
}

cudaStream_t cuda_stream(void)
{
    return gpu.work;
}

/* --- time -------------------------------------------------------------------------------------------------------- */

void cuda_watch(void (*watch)(void *argument), void *argument)
{
    gpu.watch = watch;
    gpu.watch_argument = argument;
}

/* Asks again and again, for the end of the work is to be seen when it comes; what is not done soon it leaves the core to others
 * for between questions: several ranks may share it. */
void cuda_wait(cudaStream_t stream)
{
    const double patience = 50e-6, watch_every = 1e-3;
    double began = world_now(), watched = began;
    cudaError_t error;
    while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady) {
        double now = world_now();
        if (now - began > patience)
            sched_yield();
        if (gpu.watch && now - watched > watch_every) {
            gpu.watch(gpu.watch_argument);
            watched = now;
        }
    }
    cuda_must(error, "what was handed over before");
}

void device_wait(void)
{
    cuda_wait(gpu.work);
}

void device_expect(size_t moments)
{
    if (moments <= gpu.note_room)
        return;
    gpu.note = realloc(gpu.note, moments * sizeof *gpu.note);
    if (!gpu.note)
        die(STATUS_WRONG, "no memory for %zu moments", moments);
    for (; gpu.note_room < moments; gpu.note_room++)
        cuda_must(cudaEventCreate(&gpu.note[gpu.note_room]), "cudaEventCreate");
}

/* A note is 1 below zero for the first event, and so on. */
double device_moment(void)
{
    device_expect(gpu.notes + 1);
    cuda_must(cudaEventRecord(gpu.note[gpu.notes], gpu.work), "cudaEventRecord");
    return -(double)++gpu.notes;
}

/* CUDA tells times between events as a float, in milliseconds. Its steps are 0.06 us a second after the first, 4 us a minute
 * after it, 0.25 ms an hour. */
static double elapsed(cudaEvent_t from, cudaEvent_t to)
{
    float milliseconds = 0;
    cuda_must(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
}

double device_seconds(double moment)
{
    if (moment >= 0)
        return moment;
    size_t note = (size_t)-moment - 1;
    if (note >= gpu.notes)
        die(STATUS_WRONG, "moment %zu of the GPU's was forgotten; it has %zu", note, gpu.notes);
    return gpu.begin.time + gpu.rate * elapsed(gpu.begin.event, gpu.note[note]);
}

/* An event on an idle GPU happens between the host's clock before and after it; of some tries the narrowest is kept. */
static void set_anchor(struct anchor *anchor)
{
    enum { TRIES = 16 };
    anchor->error = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        double before = world_now();
        cuda_must(cudaEventRecord(gpu.candidate, gpu.work), "cudaEventRecord");
        device_wait();
        double after = world_now();
        if ((after - before) / 2 >= anchor->error)
            continue;
        cudaEvent_t best = gpu.candidate;
        gpu.candidate = anchor->event;
        *anchor = (struct anchor){ .event = best, .time = (before + after) / 2, .error = (after - before) / 2 };
    }
}

void device_align(void)
{
    device_wait();
    gpu.notes = 0;
    gpu.rate = 1;
    set_anchor(&gpu.begin);
    gpu.end.error = 0;
}

/* Clocks of two crystals part by millionths; between two anchors the error is no larger than theirs. */
void device_settle(void)
{
    device_wait();
    set_anchor(&gpu.end);
    double between = elapsed(gpu.begin.event, gpu.end.event);
    gpu.rate = (gpu.end.time - gpu.begin.time) / between;
    gpu.end.error += between * (double)FLT_EPSILON; /* of a float that tells so much */
}

double device_clock_error(void)
{
    return fmax(gpu.begin.error, gpu.end.error);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static void memory_must(cudaError_t error, size_t bytes, const char *of)
{
    if (error == cudaErrorMemoryAllocation)
        die(STATUS_WRONG, "GPU %d (%s): no %s for %zu bytes; choose smaller sizes or fewer ranks", gpu.index,
            gpu.is.name, of, bytes);
    cuda_must(error, of);
}

void *device_map(size_t bytes)
{
    void *memory = NULL;
    if (bytes > 0)
        memory_must(cudaMalloc(&memory, bytes), bytes, "memory");
    return memory;
}

void device_unmap(void *memory, size_t bytes)
{
    (void)bytes;
    device_free(memory);
}

/* The zeros are there when it returns: what the host puts there next does not wait for work. */
void *device_new(size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes))
        die(STATUS_WRONG, "%zu x %zu bytes is more than memory can address; choose smaller sizes", count, size);
    void *memory = device_map(bytes);
    if (bytes > 0)
        cuda_must(cudaMemsetAsync(memory, 0, bytes, gpu.work), "cudaMemsetAsync");
    device_wait();
    return memory;
}

/* Work that was handed over may still use what is freed, and of cudaFree() NVIDIA says only that it may wait for that. */
void device_free(void *memory)
{
    if (!memory)
        return;
    device_wait();
    cuda_must(cudaFree(memory), "cudaFree");
}

bool device_is_at_hand(void)
{
    return false;
}

/* Pages that stay where they are: the GPU reads and writes them itself. */
void *device_stage_new(size_t bytes)
{
    void *stage = NULL;
    if (bytes > 0)
        memory_must(cudaMallocHost(&stage, bytes), bytes, "memory of the host that stays in place");
    return stage;
}

void device_stage_free(void *stage)
{
    if (!stage)
        return;
    device_wait();
    cuda_must(cudaFreeHost(stage), "cudaFreeHost");
}

/* Any thread may call; each has its own idea of which GPU is meant. The copy overtakes work that was handed over before:
 * whoever calls knows that none of it still uses `out`. */
void device_put(void *out, const void *host, size_t bytes)
{
    cuda_must(cudaSetDevice(gpu.index), "cudaSetDevice");
    cuda_must(cudaMemcpyAsync(out, host, bytes, cudaMemcpyHostToDevice, gpu.copies), "copy to the GPU");
    cuda_must(cudaStreamSynchronize(gpu.copies), "copy to the GPU");
}

void device_put_later(void *out, const void *host, size_t bytes)
{
    cuda_must(cudaMemcpyAsync(out, host, bytes, cudaMemcpyHostToDevice, gpu.work), "copy to the GPU");
}

/* Waits twice, as copies to memory that device_stage_new() did not make wait on their own, with nobody watching. */
void device_fetch(void *host, const void *memory, size_t bytes)
{
    device_wait();
    cuda_must(cudaMemcpyAsync(host, memory, bytes, cudaMemcpyDeviceToHost, gpu.work), "copy from the GPU");
    device_wait();
}

void device_sample(void *host, const void *memory, size_t size, size_t stride, size_t count)
{
    size_t bytes = size * count;
    if (bytes > gpu.sample_bytes) {
        device_stage_free(gpu.sample);
        gpu.sample = device_stage_new(bytes);
        gpu.sample_bytes = bytes;
    }
    device_sample_later(gpu.sample, memory, size, stride, count);
    device_wait();
    if (bytes > 0)
        memcpy(host, gpu.sample, bytes);
}

void device_sample_later(void *stage, const void *memory, size_t size, size_t stride, size_t count)
{
    if (count > 0)
        cuda_must(cudaMemcpy2DAsync(stage, size, memory, size * stride, size, count, cudaMemcpyDeviceToHost, gpu.work),
                  "cudaMemcpy2DAsync");
}

struct device_inbox device_inbox_open(size_t count, size_t size)
{
    struct device_inbox inbox = { device_stage_new(count * size), device_new(count, size), count * size };
    if (inbox.host)
        memset(inbox.host, 0, count * size);
    return inbox;
}

void device_inbox_close(struct device_inbox *inbox)
{
    device_free(inbox->device);
    device_stage_free(inbox->host);
    *inbox = (struct device_inbox){ 0 };
}

void device_deliver(const struct device_inbox *inbox, size_t bytes)
{
    device_put(inbox->device, inbox->host, bytes);
}

/* --- matrix products: cuBLAS counts columns first, so it is given everything transposed, and in turn -------------- */

/* out (rows,columns) = left right; each factor is as it lies in memory, or transposed. `inner` is what they share. */
struct factor {
    const float *x;
    int pitch;
    cublasOperation_t as;
};

static void multiply(float *out, struct factor left, struct factor right, int rows, int columns, int inner)
{
    const float one = 1, zero = 0;
    blas_must(cublasGemmEx(gpu.blas, right.as, left.as, columns, rows, inner, &one, right.x, CUDA_R_32F, right.pitch,
                           left.x, CUDA_R_32F, left.pitch, &zero, out, CUDA_R_32F, columns, gpu.compute,
                           CUBLAS_GEMM_DEFAULT),
              "cublasGemmEx");
}

void device_multiply(float *out, const float *x, const float *w, int B, int N, int K)
{
    multiply(out, (struct factor){ x, K, CUBLAS_OP_N }, (struct factor){ w, N, CUBLAS_OP_N }, B, N, K);
}

void device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K)
{
    multiply(out, (struct factor){ y, N, CUBLAS_OP_N }, (struct factor){ w, N, CUBLAS_OP_T }, B, K, N);
}

void device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K)
{
    multiply(out, (struct factor){ x, K, CUBLAS_OP_T }, (struct factor){ y, N, CUBLAS_OP_N }, K, N, B);
}

/* --- everything else --------------------------------------------------------------------------------------------- */

/* At least so much room; it grows in a program's first step, and no more. */
static struct cuda_parts reserve_parts(size_t bytes, size_t arrivals)
{
    if (bytes > gpu.part_bytes) {
        device_free(gpu.parts.part);
        gpu.parts.part = device_new(bytes, 1);
        gpu.part_bytes = bytes;
    }
    if (arrivals > gpu.arrivals) {
        device_free(gpu.parts.arrived);
        gpu.parts.arrived = device_new(arrivals, sizeof(unsigned int));
        gpu.arrivals = arrivals;
    }
    return gpu.parts;
}

static struct cuda_parts column_parts(int N)
{
    return reserve_parts(cuda_column_parts(N) * sizeof(float), cuda_column_arrivals(N));
}

void device_gelu(float *z, float *slope, const float *bias, int B, int N)
{
    cuda_gelu(gpu.work, z, slope, bias, B, N);
}

void device_gelu_back(float *d, const float *slope, float *bias_gradient, int B, int N)
{
    cuda_gelu_back(gpu.work, column_parts(N), d, slope, bias_gradient, B, N);
}

void device_cross_entropy(double *loss, float *logits, const float *bias, const int32_t *labels, int B, int N,
                          float scale)
{
    struct cuda_parts parts = reserve_parts((size_t)B * sizeof(double), 1);
    cuda_cross_entropy(gpu.work, parts, loss, logits, bias, labels, B, N, scale);
}

void device_column_sums(float *out, const float *x, int B, int N)
{
    cuda_column_sums(gpu.work, column_parts(N), out, x, B, N);
}

void device_gather(float *out, const float *table, const int32_t *index, int B, int N)
{
    cuda_gather(gpu.work, out, table, index, B, N);
}

void device_scatter(float *out, int rows, const float *x, const int32_t *index, int B, int N)
{
    cuda_scatter(gpu.work, out, rows, x, index, B, N);
}

void device_residual(float *x, const float *beside, const float *bias, int B, int N)
{
    cuda_residual(gpu.work, x, beside, bias, B, N);
}

void device_layer_norm(float *y, float *moments, const float *x, const float *weight, const float *bias, int B, int N)
{
    cuda_layer_norm(gpu.work, y, moments, x, weight, bias, B, N);
}

void device_layer_norm_back(float *d, float *weight_gradient, float *bias_gradient, const float *back, const float *x,
                            const float *moments, const float *weight, int B, int N)
{
    struct cuda_norm norm = { .d = d,
                              .weight_gradient = weight_gradient,
                              .bias_gradient = bias_gradient,
                              .back = back,
                              .x = x,
                              .moments = moments,
                              .weight = weight };
    cuda_layer_norm_back(gpu.work, column_parts(N), norm, B, N);
}

void device_mean_pool(float *out, const float *x, const struct text *text, int texts, int N)
{
    cuda_mean_pool(gpu.work, out, x, text, texts, N);
}

void device_mean_pool_back(float *d, const float *back, const struct text *text, int texts, int N)
{
    cuda_mean_pool_back(gpu.work, d, back, text, texts, N);
}

static struct cuda_heads heads_of(const struct attention *a)
{
    return (struct cuda_heads){ .text = a->text,
                                .texts = a->texts,
                                .longest = a->longest,
                                .heads = a->heads,
                                .head_width = a->head_width,
                                .projected = a->projected,
                                .bias = a->bias,
                                .out = a->out,
                                .log_sum = a->log_sum };
}

void device_attention(const struct attention *a)
{
    cuda_attention(gpu.work, heads_of(a));
}

void device_attention_back(float *back, const float *d, const struct attention *a)
{
    cuda_attention_back(gpu.work, back, d, heads_of(a));
}

/* Scores live in registers. */
size_t device_attention_scratch(int most_length)
{
    (void)most_length;
    return 0;
}

void device_fill(float *out, float value, size_t count)
{
    cuda_fill(gpu.work, out, value, count);
}

void device_copy(float *out, const float *x, size_t count)
{
    cuda_must(cudaMemcpyAsync(out, x, count * sizeof *out, cudaMemcpyDeviceToDevice, gpu.work), "cudaMemcpyAsync");
}

void device_scale(float *out, const float *x, float scale, size_t count)
{
    cuda_scale(gpu.work, out, x, scale, count);
}

void device_narrow(uint16_t *out, const float *x, size_t count)
{
    cuda_narrow(gpu.work, out, x, count);
}

void device_widen(float *out, const uint16_t *x, size_t count)
{
    cuda_widen(gpu.work, out, x, count);
}

void device_add(float *sum, const float *x, size_t count)
{
    cuda_add(gpu.work, sum, x, count);
}

void device_adamw(float *p, float *m, float *v, const float *g, size_t count, const struct adamw_rates *rates)
{
    struct cuda_adamw_step step = { .p = p,
                                    .m = m,
                                    .v = v,
                                    .g = g,
                                    .beta1 = rates->beta1,
                                    .beta2 = rates->beta2,
                                    .keep = 1.0f - rates->rate * rates->weight_decay,
                                    .step = rates->rate / rates->correction1,
                                    .shrink = 1.0f / rates->correction2,
                                    .epsilon = rates->epsilon };
    cuda_adamw(gpu.work, step, count);
}
