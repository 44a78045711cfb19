#include "card/frequency.h"

#include "base/memory.h"
#include "base/multiversion.h"
#include "base/stats.h"
#include "card/brief.h"
#include "card/card.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>

/* Seconds of products before a loop, as in a step of a small model. The core's frequency is back well before RECOVERED_S. */
static const double PRODUCTS_S = 0.3e-3, RECOVERED_S = 12e-3;

enum {
    REPEATS = 3,
    PIECES = 100,  /* of the loop, about 0.13 ms each */
    FIRST = 8,     /* pieces right after the products */
    LAST = 25,     /* pieces at full frequency */
    NUMBERS = 64,  /* in the cache nearest the core */
    TURNS = 40000, /* of a piece */
    ROWS = 32,
    WIDTH = 256
};

/* (ROWS, WIDTH) x (WIDTH, WIDTH) */
struct products {
    float *x, *w, *out;
};

struct products *products_open(void)
{
    struct products *p = memory_new(1, sizeof *p);
    *p = (struct products){ device_new(MEMORY_MEASURING, (size_t)ROWS * WIDTH, sizeof(float)),
                            device_new(MEMORY_MEASURING, (size_t)WIDTH * WIDTH, sizeof(float)),
                            device_new(MEMORY_MEASURING, (size_t)ROWS * WIDTH, sizeof(float)) };
    return p;
}

void products_run(const struct products *p, double seconds)
{
    const double began = world_now();
    while (world_now() - began < seconds)
        device_multiply(p->out, p->x, p->w, ROWS, WIDTH, WIDTH);
}

void products_close(struct products *p)
{
    device_free(p->x);
    device_free(p->w);
    device_free(p->out);
    free(p);
}

/* Multiply and add by vectors, without a pause, as loops over elements do. What computes less densely loses less: a chain of additions
 * 1.08 times where this loop took 1.15 times as long. */
WIDE static void compute(float *x, size_t turns)
{
    for (size_t turn = 0; turn < turns; turn++)
        for (int i = 0; i < NUMBERS; i++)
            x[i] = 0.5f * x[i] + 0.25f;
}

/* Return the seconds of a piece. All its numbers are in a cache, so only the core counts. */
static double time_piece(float *x)
{
    const double began = world_now();
    compute(x, card_size(TURNS));
    const volatile float kept = x[0];
    (void)kept;
    return world_now() - began;
}

/* Write the seconds of each piece after products: a median. */
static void time_pieces(const struct products *p, double *seconds)
{
    double all[PIECES][REPEATS];
    float x[NUMBERS] = { 0 };
    const int repeats = card_times(REPEATS);
    for (int repeat = 0; repeat < repeats; repeat++) {
        products_run(p, PRODUCTS_S);
        for (int i = 0; i < PIECES; i++)
            all[i][repeat] = time_piece(x);
    }
    for (int i = 0; i < PIECES; i++)
        seconds[i] = stats_lower_median(all[i], repeats);
}

double frequency_measure(const struct own_where *where, int which)
{
    (void)where;
    if (device_is_asynchronous())
        return which == FREQUENCY_RATIO ? 1 : 0;
    double seconds[PIECES], first[FIRST], last[LAST], lost = 0;
    struct products *products = products_open();
    time_pieces(products, seconds);
    products_close(products);
    for (int i = 0; i < FIRST; i++)
        first[i] = seconds[i];
    for (int i = 0; i < LAST; i++)
        last[i] = seconds[PIECES - LAST + i];
    const double full = stats_lower_median(last, LAST);
    for (int i = 0; i < PIECES - LAST; i++)
        lost += seconds[i] - full;
    return which == FREQUENCY_RATIO ? fmax(1, stats_lower_median(first, FIRST) / full) : fmax(0, lost);
}

double frequency_lost(const struct card *card, double seconds)
{
    const double ratio = card_cost(card, "slowed_ratio"), lost = card_cost(card, "slowed_lost_s");
    return isnan(ratio) || isnan(lost) ? 0 : fmin((ratio - 1) * seconds, lost);
}

void frequency_recover(void)
{
    if (!device_is_asynchronous() && !card_is_brief())
        world_spin(RECOVERED_S);
}
