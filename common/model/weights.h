/* weights: initial parameters of a model, drawn again from a seed whenever they are needed, so that no copy is kept. A
 * model lists its parts in the order of its parameters. Drawing takes little longer than copying, except for normal
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
};

enum { WEIGHTS_PARTS = 16 };

/* Weights that are left to draw. A copy of the struct keeps the position. */
struct weights {
    struct weights_part part[WEIGHTS_PARTS];
    int parts, at; /* `at`: the part drawn next */
    struct random random;
};

/* Return an empty list that draws from this seed. */
struct weights weights_of(uint64_t seed);
void weights_add(struct weights *weights, struct weights_part part);

/* Draw the next `count` weights; so many must be left. Any division into calls gives the same weights. */
void weights_next(struct weights *weights, float *out, size_t count);

/* Draw all weights that are left into device memory. Do nothing on a device that computes nothing. */
void weights_put(const struct weights *weights, float *out);

#endif
