/* slope.h: derivatives of a model's loss by finite differences, of a loss computed in double precision. */
#ifndef LOCKSTEP_SLOPE_H
#define LOCKSTEP_SLOPE_H

#include "model/model.h"

typedef double exact_loss_function(const double *p, const struct model *model, const struct batch *batch);

/* Return the derivative of the loss by p[i]. */
static inline double slope_of(exact_loss_function *loss, double *p, size_t i, const struct model *model,
                              const struct batch *batch)
{
    const double h = 1e-5, held = p[i];
    p[i] = held + h;
    const double above = loss(p, model, batch);
    p[i] = held - h;
    const double below = loss(p, model, batch);
    p[i] = held;
    return (above - below) / (2 * h);
}

#endif
