#include "model/weights.h"

#include "device/device.h"

void weights_add(struct weights_list *list, struct weights_part part)
{
    list->part[list->parts++] = part;
}

size_t weights_count(const struct weights_list *list)
{
    size_t count = 0;
    for (int i = 0; i < list->parts; i++)
        count += list->part[i].count;
    return count;
}

struct weights weights_of(const struct weights_list *layer, int layers, uint64_t seed)
{
    struct weights weights = { .layer = layer, .layers = layers };
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

/* Go on to the next part, maybe of the next layer. */
static void end_part(struct weights *w)
{
    w->drawn = 0;
    w->part++;
    while (w->at < w->layers && w->part == w->layer[w->at].parts) {
        w->at++;
        w->part = 0;
    }
}

void weights_next(struct weights *w, float *out, size_t count)
{
    while (count > 0) {
        const struct weights_part *part = &w->layer[w->at].part[w->part];
        size_t left = part->count - w->drawn, drawn = left < count ? left : count;
        draw(&w->random, part, out, drawn);
        w->drawn += drawn;
        if (w->drawn == part->count)
            end_part(w);
        out += drawn;
        count -= drawn;
    }
}

/* Return the number of weights that are not drawn yet. */
static size_t weights_left(const struct weights *w)
{
    size_t left = 0;
    for (int i = w->at; i < w->layers; i++)
        left += weights_count(&w->layer[i]);
    for (int i = 0; i < w->part && w->at < w->layers; i++)
        left -= w->layer[w->at].part[i].count;
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
