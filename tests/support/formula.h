/* formula.h: helpers for tests of the labs' formulas. Include after the lab's own source: the helpers use its options,
 * variants and predict(). */
#ifndef LOCKSTEP_FORMULA_H
#define LOCKSTEP_FORMULA_H

#include "support/round_card.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* Milliseconds by which a prediction may differ from a sum by hand: rounding only. */
static const double exact = 1e-6;

/* Return the settings `base` as the case `name` changes them. */
static inline struct options settings_of(const char *name, struct options base)
{
    const struct variant *v = variants;
    while (v->name && strcmp(v->name, name) != 0)
        v++;
    if (!v->name)
        fail_msg("no case %s", name);
    if (v->pathology)
        v->pathology(&base);
    if (v->fix)
        v->fix(&base);
    return base;
}

/* Assert that a predicted step takes the milliseconds computed by hand. */
static inline void assert_ms(const char *what, struct prediction p, double expected, double tolerance)
{
    double got = 1e3 * prediction_step(&p);
    assert_true(p.data >= 0 && p.local >= 0 && p.host >= 0 && p.wait >= 0 && p.transfer >= 0);
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s is predicted as %.6f ms, by hand it is %.6f", what, got, expected);
}

static inline void assert_predicted(const char *name, struct options base, const struct card *card, double expected,
                                    double tolerance)
{
    struct options settings = settings_of(name, base);
    assert_ms(name, predict(&settings, card), expected, tolerance);
}

#endif
