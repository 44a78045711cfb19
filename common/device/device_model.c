/* Device that computes nothing: each pass is charged its cost in the platform file. */
#include "device/device.h"

#include "base/die.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "world/world.h"
#include "world/world_sim.h"

#include <math.h>
#include <smpi/smpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Jitter of this rank: all its passes take `factor` times their cost. device_draw_jitter() draws a new factor. An async
 * helper is a process of its own and runs no forward pass: its prefetches take exactly their cost. Static, because
 * the functions of device.h name no device; SMPI gives each rank its own copy. */
static struct random draws;
static double factor = 1;

void device_open(int place, enum precision precision)
{
    (void)place, (void)precision;
    device_seed(0);
}

void device_seed(uint64_t seed)
{
    random_seed(&draws, seed);
}

const char *device_name(void)
{
    return "model";
}

const char *device_kernel(void)
{
    return "none, costs from the platform file";
}

bool device_computes(void)
{
    return false;
}

/* Address ranges that device_new() has returned. Static for the same reason. */
struct range {
    char *begin, *end;
    struct range *next;
};
static struct range *ranges;

void *device_new(enum memory_owner owner, size_t count, size_t size)
{
    struct range *range = memory_new(1, sizeof *range);
    size_t bytes = count * size;
    bytes = bytes ? bytes : 1;
    range->begin = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range->begin == MAP_FAILED)
        die(STATUS_WRONG, "no address space for %zu bytes; choose smaller sizes or fewer ranks", bytes);
    range->end = range->begin + bytes;
    range->next = ranges;
    ranges = range;
    ledger_add(range->begin, count * size, owner, MEMORY_HOST);
    return range->begin;
}

void device_free(void *memory)
{
    for (struct range **at = &ranges; memory && *at; at = &(*at)->next)
        if ((*at)->begin == memory) {
            struct range *range = *at;
            *at = range->next;
            ledger_remove(memory);
            munmap(range->begin, (size_t)(range->end - range->begin));
            free(range);
            return;
        }
}

static bool is_fake(const char *memory)
{
    for (const struct range *range = ranges; range; range = range->next)
        if (range->begin <= memory && memory < range->end)
            return true;
    return false;
}

/* SMPI recognises memory that ranks share, one small block mapped over and over, and does not copy it in messages. The
 * old buffer is kept when a larger one replaces it: a sum in progress may still use it. Static, because all sums of a rank use one. */
void *device_fake_buffer(const void *memory, size_t bytes)
{
    static void *buffer;
    static size_t most;
    if (!is_fake(memory))
        return NULL;
    if (bytes > most) {
        most = bytes > 2 * most ? bytes : 2 * most;
        buffer = SMPI_SHARED_MALLOC(most);
    }
    return buffer;
}

void *device_map(enum memory_owner owner, size_t bytes)
{
    return device_new(owner, bytes, 1);
}

void device_unmap(void *memory, size_t bytes)
{
    (void)bytes;
    device_free(memory);
}

void *device_stage_new(enum memory_owner owner, size_t bytes)
{
    (void)owner, (void)bytes;
    return NULL;
}

void device_stage_free(void *stage)
{
    (void)stage;
}

void device_put(void *out, const void *host, size_t bytes)
{
    (void)out, (void)host, (void)bytes;
}

void device_fetch(void *host, const void *memory, size_t bytes)
{
    (void)host, (void)memory, (void)bytes;
}

void device_put_later(void *out, const void *host, size_t bytes)
{
    (void)out, (void)host, (void)bytes;
}

void device_sample(void *host, const void *memory, size_t size, size_t stride, size_t count)
{
    (void)host, (void)memory, (void)size, (void)stride, (void)count;
}

void device_sample_later(void *stage, const void *memory, size_t size, size_t stride, size_t count)
{
    (void)stage, (void)memory, (void)size, (void)stride, (void)count;
}

/* Map pages, which take no memory until they are written. */
struct device_staging_buffer device_staging_buffer_open(enum memory_owner owner, size_t count, size_t size)
{
    size_t bytes = count * size;
    void *memory =
        mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        die(STATUS_WRONG, "no address space for %zu bytes; choose smaller sizes or fewer ranks", bytes);
    ledger_add(memory, bytes, owner, MEMORY_HOST);
    return (struct device_staging_buffer){ .host = memory, .device = memory, .bytes = bytes };
}

void device_staging_buffer_close(struct device_staging_buffer *buffer)
{
    ledger_remove(buffer->host);
    munmap(buffer->host, buffer->bytes ? buffer->bytes : 1);
}

void device_deliver(const struct device_staging_buffer *buffer, size_t bytes)
{
    (void)buffer, (void)bytes;
}

/* Costs of this rank's host in the platform file. Static, because looking up the names takes longer than the rest of a simulated
 * pass; SMPI gives each rank its own copy. */
struct modelled {
    bool is_known;
    struct device_costs costs;
    const char *bus; /* NULL: none */
};
static struct modelled modelled[WORK_MODELS];

static struct cost_scale scales[WORK_MODELS]; /* all zero: of a model that is not trained; static as `modelled` is */

void device_trains(enum work_model model, const struct cost_scale *scale)
{
    scales[model] = *scale;
    modelled[model].is_known = false;
}

/* Scale costs of the published model to those of the model that is trained. */
static void scale_costs(struct cost pass[WORK_PASSES], enum work_model model)
{
    const char *of = work_property(model, "costs_of", world_property);
    const struct cost_scale *scale = &scales[model];
    if (!of || strcmp(of, "published") != 0 || !(scale->update > 0))
        return;
    for (int term = 0; term < COST_TERMS; term++) {
        pass[WORK_FORWARD].term[term] *= scale->term[term];
        pass[WORK_BACKWARD].term[term] *= scale->term[term];
        pass[WORK_UPDATE].term[term] *= scale->update;
    }
}

static double jitter_of(enum work_model model)
{
    const char *text = work_property(model, "jitter", world_property);
    double jitter = 0;
    return text && number_parse(text, &jitter) ? jitter : 0;
}

static const struct modelled *modelled_of(enum work_model model)
{
    struct modelled *m = &modelled[model];
    if (m->is_known)
        return m;
    m->is_known = true;
    m->bus = work_property(model, "memory_bus", world_property);
    m->costs = (struct device_costs){ .slowdown = world_slowdown(),
                                      .jitter = jitter_of(model),
                                      .parallel_capacity = world_parallel_capacity(m->bus),
                                      .cores = world_host_cores(),
                                      .host = HASH_BEGIN };
    for (int pass = 0; pass < WORK_PASSES; pass++)
        m->costs.pass[pass] = work_cost(model, (enum work_pass)pass, world_property);
    scale_costs(m->costs.pass, model);
    for (const char *c = world_host(); *c; c++)
        m->costs.host = hash_add(m->costs.host, (uint64_t)*c);
    return m;
}

struct device_costs device_costs(enum work_model model)
{
    return modelled_of(model)->costs;
}

void device_draw_jitter(enum work_model model)
{
    factor = random_lognormal(&draws, modelled_of(model)->costs.jitter);
}

void device_charge(enum work_model model, enum work_pass pass, struct work work, double share)
{
    const struct modelled *m = modelled_of(model);
    double seconds = factor * share * cost_at(&m->costs.pass[pass], work);
    if (seconds > 0 && m->bus)
        world_burn_cpu_on_bus(m->bus, seconds);
    else if (seconds > 0)
        world_burn_cpu(seconds);
}

void device_multiply(float *out, const float *x, const float *w, int B, int N, int K)
{
    (void)out, (void)x, (void)w, (void)B, (void)N, (void)K;
}

void device_multiply_back(float *out, const float *y, const float *w, int B, int N, int K)
{
    (void)out, (void)y, (void)w, (void)B, (void)N, (void)K;
}

void device_multiply_outer(float *out, const float *x, const float *y, int B, int N, int K)
{
    (void)out, (void)x, (void)y, (void)B, (void)N, (void)K;
}

void device_gelu(float *z, float *slope, const float *bias, int B, int N)
{
    (void)z, (void)slope, (void)bias, (void)B, (void)N;
}

void device_gelu_back(float *d, const float *slope, float *bias_gradient, int B, int N)
{
    (void)d, (void)slope, (void)bias_gradient, (void)B, (void)N;
}

void device_cross_entropy(double *loss, float *logits, const float *bias, const int32_t *labels, int B, int N,
                          float scale)
{
    (void)loss, (void)logits, (void)bias, (void)labels, (void)B, (void)N, (void)scale;
}

void device_column_sums(float *out, const float *x, int B, int N)
{
    (void)out, (void)x, (void)B, (void)N;
}

void device_gather(float *out, const float *table, const int32_t *index, int B, int N)
{
    (void)out, (void)table, (void)index, (void)B, (void)N;
}

void device_scatter(float *out, int rows, const float *x, const int32_t *index, int B, int N)
{
    (void)out, (void)rows, (void)x, (void)index, (void)B, (void)N;
}

void device_residual(float *x, const float *beside, const float *bias, int B, int N)
{
    (void)x, (void)beside, (void)bias, (void)B, (void)N;
}

void device_layer_norm(float *y, float *moments, const float *x, const float *weight, const float *bias, int B, int N)
{
    (void)y, (void)moments, (void)x, (void)weight, (void)bias, (void)B, (void)N;
}

void device_layer_norm_back(float *d, float *weight_gradient, float *bias_gradient, const float *back, const float *x,
                            const float *moments, const float *weight, int B, int N)
{
    (void)d, (void)weight_gradient, (void)bias_gradient, (void)back, (void)x, (void)moments, (void)weight;
    (void)B, (void)N;
}

void device_mean_pool(float *out, const float *x, const struct sequence *text, int texts, int N)
{
    (void)out, (void)x, (void)text, (void)texts, (void)N;
}

void device_mean_pool_back(float *d, const float *back, const struct sequence *text, int texts, int N)
{
    (void)d, (void)back, (void)text, (void)texts, (void)N;
}

void device_attention(const struct attention *a)
{
    (void)a;
}

void device_attention_back(float *back, const float *d, const struct attention *a)
{
    (void)back, (void)d, (void)a;
}

int device_attention_queries(int extent)
{
    return extent;
}

size_t device_attention_scratch(int most_length)
{
    (void)most_length;
    return 0;
}

void device_copy(float *out, const float *x, size_t count)
{
    (void)out, (void)x, (void)count;
}

void device_scale(float *out, const float *x, float scale, size_t count)
{
    (void)out, (void)x, (void)scale, (void)count;
}

void device_fill(float *out, float value, size_t count)
{
    (void)out, (void)value, (void)count;
}

void device_narrow(uint16_t *out, const float *x, size_t count)
{
    (void)out, (void)x, (void)count;
}

void device_widen(float *out, const uint16_t *x, size_t count)
{
    (void)out, (void)x, (void)count;
}

void device_add(float *sum, const float *x, size_t count)
{
    (void)sum, (void)x, (void)count;
}

void device_pointwise(const struct pointwise *call)
{
    (void)call;
}

void device_pointwise_back(const struct pointwise_back *call)
{
    (void)call;
}

size_t device_pointwise_scratch(size_t cols, enum half half)
{
    (void)cols, (void)half;
    return 0;
}

void device_pointwise_scale(void *out, const void *x, float scale, size_t count, bool is_bf16)
{
    (void)out, (void)x, (void)scale, (void)count, (void)is_bf16;
}

void device_pointwise_fill(void *out, size_t cells, bool is_bf16, const float *x, size_t count)
{
    (void)out, (void)cells, (void)is_bf16, (void)x, (void)count;
}

struct device_chain *device_chain_open(struct chain of)
{
    (void)of;
    return NULL;
}

void device_chain_close(struct device_chain *chain)
{
    (void)chain;
}

void device_chain_forward(struct device_chain *chain, const struct chain_arrays *arrays)
{
    (void)chain, (void)arrays;
}

void device_chain_back(struct device_chain *chain, const struct chain_arrays *arrays, float scale)
{
    (void)chain, (void)arrays, (void)scale;
}

void device_adamw(float *p, float *m, float *v, const float *g, size_t count, const struct adamw_rates *rates)
{
    (void)p, (void)m, (void)v, (void)g, (void)count, (void)rates;
}
