/* Functions shared by devices that compute: no modelled costs, and no fake buffers. */
#include "device/device.h"

#include "base/hot.h"

bool device_computes(void)
{
    return true;
}

void device_seed(uint64_t seed)
{
    (void)seed;
}

HOT void *device_fake_buffer(const void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
    return NULL;
}

void device_trains(enum work_model model, const struct cost_scale *scale)
{
    (void)model, (void)scale;
}

void device_draw_jitter(enum work_model model)
{
    (void)model;
}

void device_charge(enum work_model model, enum work_pass pass, struct work work, double share)
{
    (void)model, (void)pass, (void)work, (void)share;
}

struct device_costs device_costs(enum work_model model)
{
    (void)model;
    return (struct device_costs){ .slowdown = 1 };
}
