/* formula.h: helpers for tests of the labs' formulas. Include after the lab's header: the helpers use its options and predict(). */
#ifndef LOCKSTEP_FORMULA_H
#define LOCKSTEP_FORMULA_H

#include "support/round_card.h"
#include "support/unit.h"

#include <math.h>
#include <string.h>

/* Assert that a predicted step takes the milliseconds computed by hand, up to rounding. */
#define assert_ms(prediction, expected)            assert_step_ms(prediction, expected, __FILE__, __LINE__)
#define assert_predicted(settings, card, expected) assert_ms(predict(settings, card), expected)

static inline void assert_step_ms(struct prediction p, double expected, const char *file, int line)
{
    double got = 1e3 * prediction_step(&p);
    if (p.data >= 0 && p.local >= 0 && p.host >= 0 && p.wait >= 0 && p.transfer >= 0 && fabs(got - expected) <= 1e-6)
        return;
    print_error("%.6f ms are predicted, by hand it is %.6f; or a term is negative\n", got, expected);
    _fail(file, line);
}

#endif
