#include "verdict.h"

#include "base/stats.h"

#include <math.h>

enum { PRIOR_FREEDOM = 8 };
static const double FALSE_GREEN = 0.05; /* per claim whose truth lies on its margin */
static const double FALSE_RED = 0.01;   /* of all claims and looks together */
static const double LOOKS = 5;          /* ten looks at growing data count as about five independent ones */
static const double PRINTED = 1e-6;     /* relative rounding of numbers in tables */

const char *const verdict_words[VERDICTS] = {
    [HOLDS] = "holds",
    [FAILS] = "fails",
    [AS_PREDICTED] = "as predicted",
    [WRONG] = "wrong",
    [TOO_NOISY] = "too noisy to tell",
    [DISTURBED] = "disturbed",
    [UNTESTABLE] = "not testable",
};

/* --- evidence ---------------------------------------------------------------------------------------------------- */

/* True if ln(q / v) exists in every round. 0 / 0 counts as 1: there is nothing to compare, as in a sum over one rank. */
static bool has_logarithms(const double *q, const double *v, int rounds)
{
    for (int r = 0; r < rounds; r++)
        if (!(q[r] > 0 && v[r] > 0) && !(q[r] == 0 && v[r] == 0))
            return false;
    return true;
}

static double difference(bool is_log, double q, double v)
{
    if (!is_log)
        return q - v;
    return q > 0 ? log(q / v) : 0;
}

struct evidence evidence_of(enum relation relation, double tolerance, const double *q, const double *v, int rounds,
                            double largest)
{
    const bool is_two_sided = relation == NEAR || relation == EXTRA;
    const double sign = relation == MORE || relation == AT_LEAST ? -1 : 1;
    struct evidence e = {
        .rounds = rounds,
        .is_log = relation != EXTRA && has_logarithms(q, v, rounds),
        .is_one_sided = !is_two_sided,
        .is_strict = relation == LESS || relation == MORE,
        .sign = sign,
        .mean_quantity = stats_mean(q, rounds),
        .mean_value = stats_mean(v, rounds),
        .variance = NAN,
    };
    double sum = 0, squares = 0;
    for (int r = 0; r < rounds; r++)
        sum += sign * difference(e.is_log, q[r], v[r]);
    e.mean = sum / rounds;
    for (int r = 0; r < rounds; r++)
        squares += pow(sign * difference(e.is_log, q[r], v[r]) - e.mean, 2);
    if (rounds > 1)
        e.variance = squares / (rounds - 1);
    if (is_two_sided)
        e.margin = e.is_log ? log1p(tolerance) : tolerance * fabs(e.mean_value);
    e.rounding = e.is_log ? PRINTED : PRINTED * largest;
    return e;
}

/* --- noise ------------------------------------------------------------------------------------------------------- */

static bool has_variance(const struct evidence *e)
{
    return e->rounds > 1;
}

/* True if the rounds differ by no more than printed digits do: modelled machines repeat themselves. */
static bool is_constant(const struct evidence *e)
{
    return has_variance(e) && e->variance <= e->rounding * e->rounding;
}

struct noise verdict_noise(const struct evidence *e, const struct evidence *const *all, int count)
{
    double squares = 0;
    int freedom = 0;
    bool has_constant = false;
    for (int i = 0; i < count; i++) {
        const struct evidence *other = all[i];
        if (other == e || other->pool != e->pool || other->is_log != e->is_log || !has_variance(other))
            continue;
        has_constant |= is_constant(other);
        if (is_constant(other))
            continue;
        squares += (other->rounds - 1) * other->variance;
        freedom += other->rounds - 1;
    }
    if (freedom == 0) /* no others, or none that has noise */
        return (struct noise){ .freedom = has_constant ? PRIOR_FREEDOM : 0 };
    return (struct noise){ .variance = squares / freedom,
                           .freedom = freedom < PRIOR_FREEDOM ? freedom : PRIOR_FREEDOM };
}

/* --- verdicts ---------------------------------------------------------------------------------------------------- */

static int freedom_of(const struct evidence *e, struct noise noise)
{
    return noise.freedom + e->rounds - 1;
}

/* Return the moderated standard deviation of d; 0 without noise, NaN if unknown. */
static double deviation_of(const struct evidence *e, struct noise noise)
{
    if (is_constant(e))
        return 0;
    double own = e->rounds > 1 ? (e->rounds - 1) * e->variance : 0;
    return sqrt((noise.freedom * noise.variance + own) / freedom_of(e, noise)); /* 0 / 0 is NaN */
}

/* t that |mean| / SE must stay below the margin by, and beyond it by. */
struct limits {
    double green, red;
};

static struct limits limits_of(struct quantiles *quantiles, int freedom)
{
    bool is_kept = freedom <= VERDICT_FREEDOM_MOST;
    if (is_kept && quantiles->green[freedom] > 0)
        return (struct limits){ quantiles->green[freedom], quantiles->red[freedom] };
    struct limits limits = { .green = stats_student_quantile(FALSE_GREEN, freedom),
                             .red = stats_student_quantile(FALSE_RED / LOOKS / quantiles->tests, freedom) };
    if (is_kept) {
        quantiles->green[freedom] = limits.green;
        quantiles->red[freedom] = limits.red;
    }
    return limits;
}

static enum verdict without_noise(const struct evidence *e)
{
    double off = e->is_one_sided ? e->mean : fabs(e->mean);
    if (e->is_one_sided && e->is_strict)
        return off < 0 ? AS_PREDICTED : off > 0 && off <= e->rounding ? TOO_NOISY : WRONG;
    return off <= e->margin + e->rounding ? AS_PREDICTED : WRONG;
}

/* `half`: of the interval of the mean. */
static struct distance distance_of(const struct evidence *e, double half)
{
    double mean = e->sign * e->mean, unit = e->is_one_sided ? 0 : fabs(e->mean_value);
    if (e->is_log)
        return (struct distance){ 100 * expm1(mean), 100 * exp(mean) * sinh(half), true };
    if (unit > 0)
        return (struct distance){ 100 * mean / unit, 100 * half / unit, true };
    return (struct distance){ mean, half, false };
}

enum verdict verdict_of(const struct evidence *e, struct noise noise, struct quantiles *quantiles,
                        struct distance *distance)
{
    double deviation = deviation_of(e, noise), error = deviation / sqrt(e->rounds);
    double off = e->is_one_sided ? e->mean : fabs(e->mean), half = 0;
    enum verdict verdict = TOO_NOISY;
    if (deviation == 0) {
        verdict = without_noise(e);
    } else if (!isnan(deviation)) {
        struct limits limits = limits_of(quantiles, freedom_of(e, noise));
        half = limits.green * error;
        if (off + half < e->margin)
            verdict = AS_PREDICTED;
        else if (off - limits.red * error > e->margin + e->rounding)
            verdict = WRONG;
    } else {
        half = NAN;
    }
    *distance = distance_of(e, half);
    return verdict;
}

/* True if the claim would be decided by `more` further rounds like those so far. */
static bool is_decided_after(const struct evidence *e, struct noise noise, struct quantiles *quantiles, int more)
{
    double off = e->is_one_sided ? e->mean : fabs(e->mean);
    double error = deviation_of(e, noise) / sqrt(e->rounds + more);
    struct limits limits = limits_of(quantiles, freedom_of(e, noise) + more);
    return off + limits.green * error < e->margin || off - limits.red * error > e->margin + e->rounding;
}

int verdict_more_rounds(const struct evidence *e, struct noise noise, struct quantiles *quantiles)
{
    enum { FIRST = 5 }; /* the least number of rounds of a lab is 6 */
    if (freedom_of(e, noise) <= 0)
        return FIRST;
    int most = VERDICT_ROUNDS_MOST + 1, least = 0; /* decided after `most`, not after `least` */
    if (!is_decided_after(e, noise, quantiles, most - 1))
        return most;
    while (most - least > 1) {
        int middle = (most + least) / 2;
        *(is_decided_after(e, noise, quantiles, middle) ? &most : &least) = middle;
    }
    return most;
}
