#include "model/weights.h"

#include "device/device.h"

struct weights weights_of(uint64_t seed)
{
    struct weights weights = { 0 };
    random_seed(&weights.random, seed);
    return weights;
}

void weights_add(struct weights *w, struct weights_part part)
{
    w->part[w->parts++] = part;
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
        struct weights_part *part = &w->part[w->at];
        size_t drawn = part->count < count ? part->count : count;
        draw(&w->random, part, out, drawn);
        part->count -= drawn;
        w->at += part->count == 0;
        out += drawn;
        count -= drawn;
    }
}

void weights_put(const struct weights *weights, float *out)
{
    enum { PIECE = 8192 };
    float piece[PIECE];
    struct weights rest = *weights;
    size_t left = 0;
    for (int i = rest.at; i < rest.parts && device_computes(); i++)
        left += rest.part[i].count;
    while (left > 0) {
        size_t count = left < PIECE ? left : PIECE;
        weights_next(&rest, piece, count);
        device_put(out, piece, count * sizeof *piece);
        out += count;
        left -= count;
    }
}
