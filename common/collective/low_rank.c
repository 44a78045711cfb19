#include "collective/low_rank.h"

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"

#include <math.h>
#include <stdlib.h>

struct low_rank {
    const struct model *model;
    int ranks, tensors;
    struct model_tensor *tensor; /* (tensors) */
    size_t *p_at, *q_at;         /* (tensors + 1): where the floats of a tensor begin in p and q */
    float *p, *q, *error;
    float *part; /* the largest matrix */
    float *host; /* all of p, or of q */
};

static size_t columns(const struct model_tensor *t)
{
    return t->rows > 0 ? t->count / t->rows : 0;
}

static struct low_rank_floats floats_of(const struct model_tensor *t)
{
    return (struct low_rank_floats){ t->rows > 0 ? t->rows : t->count, columns(t) };
}

/* Return the elements of the largest matrix; 0 if there is none. */
static size_t largest_matrix(const struct model_tensor *tensor, int tensors)
{
    size_t largest = 0;
    for (int i = 0; i < tensors; i++)
        largest = tensor[i].rows > 0 && tensor[i].count > largest ? tensor[i].count : largest;
    return largest;
}

struct low_rank_floats low_rank_floats(const struct model_tensor *tensors, const struct bucket *b)
{
    struct low_rank_floats sum = { 0 };
    for (int i = b->first_tensor; i <= b->last_tensor; i++) {
        sum.first += floats_of(&tensors[i]).first;
        sum.second += floats_of(&tensors[i]).second;
    }
    return sum;
}

struct low_rank *low_rank_open(const struct model *model, int ranks)
{
    struct low_rank *l = memory_new(1, sizeof *l);
    l->model = model;
    l->ranks = ranks;
    l->tensors = workload_tensors(&model->workload, NULL);
    l->tensor = memory_new((size_t)l->tensors, sizeof *l->tensor);
    l->p_at = memory_new((size_t)l->tensors + 1, sizeof *l->p_at);
    l->q_at = memory_new((size_t)l->tensors + 1, sizeof *l->q_at);
    workload_tensors(&model->workload, l->tensor);
    for (int i = 0; i < l->tensors; i++) {
        const struct low_rank_floats floats = floats_of(&l->tensor[i]);
        l->p_at[i + 1] = l->p_at[i] + floats.first;
        l->q_at[i + 1] = l->q_at[i] + floats.second;
    }
    const size_t p = l->p_at[l->tensors], q = l->q_at[l->tensors];
    l->p = device_new(MEMORY_COMMUNICATION, p, sizeof(float));
    l->q = device_new(MEMORY_COMMUNICATION, q, sizeof(float));
    l->error = device_new(MEMORY_COMMUNICATION, model->count, sizeof(float));
    l->part = device_new(MEMORY_COMMUNICATION, largest_matrix(l->tensor, l->tensors), sizeof(float));
    l->host = memory_new(p > q ? p : q, sizeof(float));
    low_rank_restart(l);
    return l;
}

void low_rank_close(struct low_rank *l)
{
    device_free(l->p);
    device_free(l->q);
    device_free(l->error);
    device_free(l->part);
    free(l->host);
    free(l->tensor);
    free(l->p_at);
    free(l->q_at);
    free(l);
}

double low_rank_memory(const struct workload *workload)
{
    const int tensors = workload_tensors(workload, NULL);
    struct model_tensor *tensor = memory_new((size_t)tensors, sizeof *tensor);
    workload_tensors(workload, tensor);
    size_t floats = largest_matrix(tensor, tensors);
    for (int i = 0; i < tensors; i++)
        floats += floats_of(&tensor[i]).first + floats_of(&tensor[i]).second;
    free(tensor);
    return (double)(floats * sizeof(float)) + workload_gradient_bytes(workload); /* the latter: errors */
}

void low_rank_restart(struct low_rank *l)
{
    struct random random;
    random_seed(&random, l->model->seed);
    const size_t count = l->q_at[l->tensors];
    random_fill(&random, l->host, count, 1);
    device_put(l->q, l->host, count * sizeof *l->host);
    device_fill(l->error, 0, l->model->count);
}

/* A matrix, its two vectors, its error. */
struct parts {
    float *g, *p, *q, *error;
    int K, N;
};

static struct parts parts_of(const struct low_rank *l, int tensor)
{
    const struct model_tensor *t = &l->tensor[tensor];
    return (struct parts){ l->model->gradients + t->begin,
                           l->p + l->p_at[tensor],
                           l->q + l->q_at[tensor],
                           l->error + t->begin,
                           (int)t->rows,
                           (int)columns(t) };
}

struct collective_op low_rank_first(struct low_rank *l, const struct bucket *b)
{
    for (int i = b->first_tensor; i <= b->last_tensor; i++) {
        const struct parts m = parts_of(l, i);
        if (m.K == 0) {
            device_copy(m.p, m.g, l->tensor[i].count);
            continue;
        }
        device_add(m.g, m.error, l->tensor[i].count);
        device_multiply(m.p, m.g, m.q, m.K, 1, m.N);
    }
    float *p = l->p + l->p_at[b->first_tensor];
    return all_reduce(TYPE_F32, p, p, l->p_at[b->last_tensor + 1] - l->p_at[b->first_tensor]);
}

/* Divide the p of each matrix of a bucket by its length. One that is zero stays zero. */
static void normalise(struct low_rank *l, const struct bucket *b)
{
    const size_t begin = l->p_at[b->first_tensor], end = l->p_at[b->last_tensor + 1];
    device_fetch(l->host, l->p + begin, (end - begin) * sizeof *l->host);
    for (int i = b->first_tensor; i <= b->last_tensor; i++) {
        double square = 0;
        for (size_t k = l->p_at[i]; k < l->p_at[i + 1] && l->tensor[i].rows > 0; k++)
            square += (double)l->host[k - begin] * l->host[k - begin];
        for (size_t k = l->p_at[i]; k < l->p_at[i + 1] && square > 0; k++)
            l->host[k - begin] = (float)(l->host[k - begin] / sqrt(square));
    }
    device_put(l->p + begin, l->host, (end - begin) * sizeof *l->host);
}

struct collective_op low_rank_second(struct low_rank *l, const struct bucket *b)
{
    if (device_computes())
        normalise(l, b);
    for (int i = b->first_tensor; i <= b->last_tensor; i++) {
        const struct parts m = parts_of(l, i);
        if (m.K > 0)
            device_multiply_outer(m.q, m.g, m.p, m.K, 1, m.N);
    }
    float *q = l->q + l->q_at[b->first_tensor];
    return all_reduce(TYPE_F32, q, q, l->q_at[b->last_tensor + 1] - l->q_at[b->first_tensor]);
}

void low_rank_end(struct low_rank *l, const struct bucket *b)
{
    for (int i = b->first_tensor; i <= b->last_tensor; i++) {
        const struct parts m = parts_of(l, i);
        const size_t count = l->tensor[i].count;
        if (m.K == 0) {
            device_copy(m.g, m.p, count);
            continue;
        }
        device_copy(m.error, m.g, count);
        device_multiply_back(m.g, m.p, m.q, m.K, 1, m.N);
        device_scale(l->part, m.g, -1 / (float)l->ranks, count);
        device_add(m.error, l->part, count);
    }
}

const float *low_rank_error(const struct low_rank *l)
{
    return l->error;
}
