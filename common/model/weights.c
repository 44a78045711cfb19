#include "model/weights.h"

#include "base/memory.h"
#include "device/device.h"

#include <stdlib.h>

void weights_add(struct weights_list *list, struct weights_part part)
{
    list->part = memory_grow(list->part, (size_t)(list->parts + 1) * sizeof *list->part);
    list->part[list->parts++] = part;
}

size_t weights_count(const struct weights_list *list)
{
    size_t count = 0;
    for (int i = 0; i < list->parts; i++)
        count += list->part[i].count;
    return count;
}

void weights_list_close(struct weights_list *list)
{
    free(list->part);
    *list = (struct weights_list){ 0 };
}

struct weights weights_of(const struct weights_list *list, uint64_t seed)
{
    struct weights weights = { .list = list };
    random_seed(&weights.random, seed);
    return weights;
}

static void draw(struct random *random, const struct weights_part *part, float *out, size_t count)
{
    if (part->kind == WEIGHTS_UNIFORM) {
        random_fill(random, out, count, part->value);
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = part->kind == WEIGHTS_NORMAL ? (float)random_normal(random) : (float)part->value;
}

void weights_next(struct weights *w, float *out, size_t count)
{
    while (count > 0) {
        const struct weights_part *part = &w->list->part[w->at];
        size_t left = part->count - w->drawn, drawn = left < count ? left : count;
        draw(&w->random, part, out, drawn);
        w->drawn += drawn;
        if (w->drawn == part->count) {
            w->at++;
            w->drawn = 0;
        }
        out += drawn;
        count -= drawn;
    }
}

static size_t weights_left(const struct weights *w)
{
    size_t left = 0;
    for (int i = w->at; i < w->list->parts; i++)
        left += w->list->part[i].count;
    return left - w->drawn;
}

void weights_put(const struct weights *weights, float *out)
{
    enum { PIECE = 8192 };
    float piece[PIECE];
    struct weights rest = *weights;
    size_t left = device_computes() ? weights_left(&rest) : 0;
    while (left > 0) {
        size_t count = left < PIECE ? left : PIECE;
        weights_next(&rest, piece, count);
        device_put(out, piece, count * sizeof *piece);
        out += count;
        left -= count;
    }
}
