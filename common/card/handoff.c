#include "card/handoff.h"

#include "base/memory.h"
#include "base/multiversion.h"
#include "card/frequency.h"
#include "world/async_helper.h"
#include "world/world.h"

#include <stdint.h>
#include <stdlib.h>

static void nothing(void *context)
{
    (void)context;
}

void handoff_once(struct async_helper *helper)
{
    async_helper_end(helper);
    async_helper_begin(helper, nothing, NULL);
}

/* Write to all numbers, and return their sum. */
WIDE static uint32_t touch(uint32_t *x, size_t count)
{
    uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += x[i] += (uint32_t)i;
    return sum;
}

static void rest_a_while(struct handoff_rest rest, const struct products *products, uint32_t *touched)
{
    if (products)
        products_run(products, rest.seconds);
    else
        world_spin(rest.seconds);
    const volatile uint32_t sum = touch(touched, rest.bytes / sizeof *touched);
    (void)sum;
}

double handoff_measure(struct async_helper *helper, struct handoff_rest rest, int calls)
{
    uint32_t *touched = memory_new(rest.bytes, 1);
    struct products *products = rest.has_products ? products_open() : NULL;
    double times[2];
    for (int with = 0; with < 2; with++) {
        const double began = world_now();
        for (int i = 0; i < calls; i++) {
            if (with)
                handoff_once(helper);
            rest_a_while(rest, products, touched);
        }
        async_helper_end(helper);
        times[with] = world_now() - began;
    }
    if (products) {
        products_close(products);
        frequency_recover();
    }
    free(touched);
    return (times[1] - times[0]) / calls;
}
