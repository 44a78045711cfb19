/* What the tests of the labs' formulas share; to be included after the lab itself, whose options, variants and predict()
 * it uses. */
#ifndef LOCKSTEP_FORMULA_H
#define LOCKSTEP_FORMULA_H

#include "round_card.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

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

static inline double predicted_ms(const struct options *settings, const struct card *card)
{
    struct prediction p = predict(settings, card);
    assert_true(p.data >= 0 && p.local >= 0 && p.host >= 0 && p.wait >= 0 && p.transfer >= 0);
    return 1e3 * prediction_step(&p);
}

static inline void assert_predicted(const char *name, struct options base, const struct card *card, double expected,
                                    double tolerance)
{
    struct options settings = settings_of(name, base);
    double got = predicted_ms(&settings, card);
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s is predicted as %.6f ms, by hand it is %.6f", name, got, expected);
}

#endif
