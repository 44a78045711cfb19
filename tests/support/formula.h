/* What the tests of the labs' formulas share; to be included after the lab itself, whose options, variants and predict()
 * it uses. */
#ifndef LOCKSTEP_FORMULA_H
#define LOCKSTEP_FORMULA_H

#include "support/round_card.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* Milliseconds by which a sum by hand may differ: none but those of rounding. */
static const double exact = 1e-6;

/* What the case `name` makes of the settings `base`. */
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

/* Whether a predicted step is what it is by hand. */
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
