/* weights: what a model's parameters are at first, drawn anew from a seed whenever they are needed, so that nobody keeps a
 * copy. A model lists its parts in the order of its parameters; drawing them takes little more than copying would, save
 * normal ones, of which a million takes some 30 ms. */
#ifndef LOCKSTEP_WEIGHTS_H
#define LOCKSTEP_WEIGHTS_H

#include "base/random.h"

#include <stddef.h>

enum weights_kind {
    WEIGHTS_UNIFORM, /* in +-value */
    WEIGHTS_NORMAL,  /* standard; `value` has no meaning */
    WEIGHTS_ALIKE,   /* all of that value */
};

struct weights_part {
    enum weights_kind kind;
    size_t count;
    double value;
};

enum { WEIGHTS_PARTS = 16 };

/* The rest of them: a copy is a place to come back to. */
struct weights {
    struct weights_part part[WEIGHTS_PARTS];
    int parts, at; /* the part that is drawn next */
    struct random random;
};

/* None yet; from this seed. */
struct weights weights_of(int seed);
void weights_add(struct weights *weights, struct weights_part part);

/* The next `count`, of which there must be so many. In whatever pieces they are taken, they are the same. */
void weights_next(struct weights *weights, float *out, size_t count);

/* All that are left, into device memory. Nothing on a device that computes nothing. */
void weights_put(const struct weights *weights, float *out);

#endif
