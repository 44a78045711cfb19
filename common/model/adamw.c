#include "model/adamw.h"

#include "base/memory.h"
#include "device/device.h"
#include "model/moments_file.h"

#include <math.h>
#include <stdlib.h>

static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0.01;

struct adamw {
    enum work_model model;
    size_t count;
    double share; /* of the model's parameters */
    double learning_rate;
    int steps;
    float *first, *second;     /* moments, (count) each; */
    struct moments_file *file; /* or the file that has them; NULL: none */
};

struct adamw *adamw_open(enum work_model model, size_t count, double learning_rate)
{
    return adamw_open_shard(model, count, count, learning_rate);
}

static struct adamw *open_without_moments(enum work_model model, size_t count, size_t all, double learning_rate)
{
    struct adamw *o = memory_new(1, sizeof *o);
    *o = (struct adamw){
        .model = model, .count = count, .share = (double)count / (double)all, .learning_rate = learning_rate
    };
    return o;
}

struct adamw *adamw_open_shard(enum work_model model, size_t count, size_t all, double learning_rate)
{
    struct adamw *o = open_without_moments(model, count, all, learning_rate);
    o->first = device_new(MEMORY_MOMENTS, count, sizeof(float));
    o->second = device_new(MEMORY_MOMENTS, count, sizeof(float));
    return o;
}

struct adamw *adamw_open_offloaded(enum work_model model, size_t count, size_t all, double learning_rate,
                                   const char *folder, size_t most)
{
    struct adamw *o = open_without_moments(model, count, all, learning_rate);
    o->file = moments_file_open(folder, most);
    return o;
}

void adamw_close(struct adamw *o)
{
    adamw_end(o);
    free(o);
}

void adamw_end(struct adamw *o)
{
    device_free(o->first);
    device_free(o->second);
    moments_file_close(o->file);
    o->first = o->second = NULL;
    o->file = NULL;
}

void adamw_restart(struct adamw *o)
{
    o->steps = 0;
    if (o->file) {
        moments_file_clear(o->file);
        return;
    }
    device_fill(o->first, 0, o->count);
    device_fill(o->second, 0, o->count);
}

double adamw_rate(const struct adamw *o)
{
    return o->learning_rate;
}

double adamw_first_step(const struct adamw *o, double p, double g)
{
    return p - o->learning_rate * (g / (fabs(g) + epsilon) + decay * p);
}

void adamw_begin(struct adamw *o)
{
    o->steps++;
}

void adamw_update_part(struct adamw *o, size_t first, size_t count, float *parameters, const float *gradients)
{
    struct adamw_rates rates = {
        .rate = (float)o->learning_rate,
        .beta1 = (float)beta1,
        .beta2 = (float)beta2,
        .epsilon = (float)epsilon,
        .weight_decay = (float)decay,
        .correction1 = (float)(1 - pow(beta1, o->steps)),
        .correction2 = (float)sqrt(1 - pow(beta2, o->steps)),
    };
    device_charge(o->model, WORK_UPDATE, (struct work){ 0 }, o->share * (double)count / (double)o->count);
    if (!o->file) {
        device_adamw(parameters, o->first + first, o->second + first, gradients, count, &rates);
        return;
    }
    float *moments = moments_file_read(o->file, first, count);
    device_adamw(parameters, moments, moments + count, gradients, count, &rates);
    moments_file_write(o->file, first, count);
}

void adamw_update(struct adamw *o, float *parameters, const float *gradients)
{
    adamw_begin(o);
    adamw_update_part(o, 0, o->count, parameters, gradients);
}
