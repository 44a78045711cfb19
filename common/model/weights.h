/* weights: initial parameters of a model, drawn again from a seed whenever they are needed, so that no copy is kept. A
 * model lists its parts, layer by layer, in the order of its parameters. Drawing takes little longer than copying, except for normal
 * ones: a million of them take some 30 ms. */
#ifndef LOCKSTEP_WEIGHTS_H
#define LOCKSTEP_WEIGHTS_H

#include "base/random.h"

#include <stddef.h>

enum weights_kind {
    WEIGHTS_UNIFORM, /* uniform in +-value */
    WEIGHTS_NORMAL,  /* standard normal; `value` is not used */
    WEIGHTS_ALIKE,   /* all equal to `value` */
};

struct weights_part {
    enum weights_kind kind;
    size_t count;
    double value;
    size_t rows; /* of a matrix; 0: a vector */
};

/* Parts of a layer, each a tensor; all zero is an empty list. */
enum { WEIGHTS_PARTS = 16 };
struct weights_list {
    int parts;
    struct weights_part part[WEIGHTS_PARTS];
};
void weights_add(struct weights_list *list, struct weights_part part);
size_t weights_count(const struct weights_list *list); /* of all parts together */

/* Weights that are left to draw. A copy of the struct keeps the position. */
struct weights {
    const struct weights_list *layer; /* (layers) */
    int layers, at, part;             /* layer and part that are drawn next */
    size_t drawn;                     /* weights of that part that are drawn already */
    struct random random;
};

/* Return the weights of layers (layers), to be drawn from this seed. The lists must stay. */
struct weights weights_of(const struct weights_list *layer, int layers, uint64_t seed);

/* Draw the next `count` weights; that many must be left. Any division into calls gives the same weights. */
void weights_next(struct weights *weights, float *out, size_t count);

/* Draw all weights that are left into device memory. Do nothing on a device that computes nothing. */
void weights_put(const struct weights *weights, float *out);

#endif
