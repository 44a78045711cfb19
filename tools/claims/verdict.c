#include "verdict.h"

#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

enum {
    PRIOR_FREEDOM = 8,
    ALIKE = 32, /* with more degrees of freedom claims count as equally noisy */
};
static const double FALSE_GREEN = 0.05; /* per claim whose truth lies on its margin */
static const double FALSE_RED = 0.01;   /* of all claims and looks together */
enum { RED_ROUNDS = 3 };            /* fewer cannot tell a wrong formula from a claim that is noisier than the others */
static const double LOOKS = 5;      /* ten looks at growing data count as about five independent ones */
static const double PRINTED = 1e-6; /* relative rounding of numbers in tables */

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

/* Moments of ln(chi² / n), chi² with n degrees of freedom. */
struct log_moments {
    double mean;     /* digamma(n / 2) - ln(n / 2) */
    double variance; /* trigamma(n / 2) */
};

/* Return the moments for n = 1 … most >= 2 in new memory, by recurrences from n = 1 and 2 (DLMF 5.4.12, 5.4.13, 5.5.2, 5.15.5). */
static struct log_moments *tabulate_log_moments(int most)
{
    const double EULER = 0.57721566490153286;
    struct log_moments *m = memory_new((size_t)most + 1, sizeof *m);
    m[1] = (struct log_moments){ -EULER - 2 * log(2), M_PI * M_PI / 2 };
    m[2] = (struct log_moments){ -EULER, M_PI * M_PI / 6 };
    for (int n = 3; n <= most; n++) {
        const double x = n / 2.0 - 1; /* half of n - 2 */
        m[n] = (struct log_moments){ m[n - 2].mean + 1 / x, m[n - 2].variance - 1 / (x * x) };
    }
    for (int n = 1; n <= most; n++)
        m[n].mean -= log(n / 2.0);
    return m;
}

/* Evidence of a claim's variance about the noise of its pool. */
struct scatter {
    double z;     /* ln(variance) without the bias of an estimate from few rounds */
    double error; /* variance of z for a given noise */
    int freedom;  /* 0: says nothing */
};

static struct scatter scatter_of(const struct evidence *e, const struct log_moments *moments)
{
    if (!has_variance(e) || is_constant(e))
        return (struct scatter){ 0 };
    const int n = e->rounds - 1;
    return (struct scatter){ log(e->variance) - moments[n].mean, moments[n].variance, n };
}

static bool are_pooled(const struct evidence *a, const struct evidence *b)
{
    return a != b && a->pool == b->pool && a->is_log == b->is_log;
}

/* Return the noise of a pool of claims, of whose z these are the sums; `freedom` of all together. */
static struct noise noise_of_pool(double z, double z_squared, double errors, int claims, int freedom,
                                  const struct log_moments *moments)
{
    const double mean = z / claims, excess = claims > 1 ? (z_squared - z * mean) / (claims - 1) - errors / claims : 0;
    int p = 1;
    while (p < ALIKE && moments[p + 1].variance >= excess)
        p++;
    const int most = freedom < PRIOR_FREEDOM ? freedom : PRIOR_FREEDOM;
    return (struct noise){ .variance = exp(p < ALIKE ? mean + moments[p].mean : mean), .freedom = p < most ? p : most };
}

static struct noise noise_beside(int at, const struct evidence *const *all, const struct scatter *scatter, int count,
                                 const struct log_moments *moments)
{
    double z = 0, z_squared = 0, errors = 0;
    int freedom = 0, others = 0;
    bool has_constant = false;
    for (int i = 0; i < count; i++) {
        if (!are_pooled(all[i], all[at]))
            continue;
        has_constant |= is_constant(all[i]);
        if (scatter[i].freedom == 0)
            continue;
        z += scatter[i].z;
        z_squared += scatter[i].z * scatter[i].z;
        errors += scatter[i].error;
        freedom += scatter[i].freedom;
        others++;
    }
    if (others == 0) /* no others, or none that has noise */
        return (struct noise){ .freedom = has_constant ? PRIOR_FREEDOM : 0 };
    return noise_of_pool(z, z_squared, errors, others, freedom, moments);
}

void verdict_noise(struct noise *noise, const struct evidence *const *all, int count)
{
    int most = ALIKE;
    for (int i = 0; i < count; i++)
        most = all[i]->rounds > most ? all[i]->rounds : most;
    struct log_moments *moments = tabulate_log_moments(most);
    struct scatter *scatter = memory_new((size_t)count + 1, sizeof *scatter);
    for (int i = 0; i < count; i++)
        scatter[i] = scatter_of(all[i], moments);
    for (int i = 0; i < count; i++)
        noise[i] = noise_beside(i, all, scatter, count, moments);
    free(scatter);
    free(moments);
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

/* Return the verdict for a mean over `rounds` rounds with this standard error. */
static enum verdict by_limits(const struct evidence *e, double error, int rounds, struct limits limits)
{
    const double off = e->is_one_sided ? e->mean : fabs(e->mean);
    if (off + limits.green * error < e->margin)
        return AS_PREDICTED;
    return rounds >= RED_ROUNDS && off - limits.red * error > e->margin + e->rounding ? WRONG : TOO_NOISY;
}

enum verdict verdict_of(const struct evidence *e, struct noise noise, struct quantiles *quantiles,
                        struct distance *distance)
{
    double deviation = deviation_of(e, noise), error = deviation / sqrt(e->rounds), half = 0;
    enum verdict verdict = TOO_NOISY;
    if (deviation == 0) {
        verdict = without_noise(e);
    } else if (!isnan(deviation)) {
        struct limits limits = limits_of(quantiles, freedom_of(e, noise));
        half = limits.green * error;
        verdict = by_limits(e, error, e->rounds, limits);
    } else {
        half = NAN;
    }
    *distance = distance_of(e, half);
    return verdict;
}

/* True if the claim would be decided by `more` further rounds like those so far. */
static bool is_decided_after(const struct evidence *e, struct noise noise, struct quantiles *quantiles, int more)
{
    double error = deviation_of(e, noise) / sqrt(e->rounds + more);
    return by_limits(e, error, e->rounds + more, limits_of(quantiles, freedom_of(e, noise) + more)) != TOO_NOISY;
}

/* True if a value that is off by VERDICT_NOTICED, either way, would make the claim wrong after `more` further rounds. */
static bool is_noticed_after(const struct evidence *e, struct noise noise, struct quantiles *quantiles, int more)
{
    const double change = e->is_log ? log(VERDICT_NOTICED) : (1 - 1 / VERDICT_NOTICED) * fabs(e->mean_value);
    const double error = deviation_of(e, noise) / sqrt(e->rounds + more);
    const struct limits limits = limits_of(quantiles, freedom_of(e, noise) + more);
    const double beyond = change - fabs(e->mean) - limits.green * error; /* in 19 of 20 runs */
    return e->rounds + more >= RED_ROUNDS && beyond - limits.red * error > e->margin + e->rounding;
}

typedef bool after_rounds(const struct evidence *e, struct noise noise, struct quantiles *quantiles, int more);

/* Return after how many further rounds it is so; VERDICT_ROUNDS_MOST + 1 if not within VERDICT_ROUNDS_MOST. */
static int first_after(after_rounds *is_so, const struct evidence *e, struct noise noise, struct quantiles *quantiles)
{
    enum { FIRST = 5 }; /* the least number of rounds of a lab is 6 */
    if (freedom_of(e, noise) <= 0)
        return FIRST;
    int most = VERDICT_ROUNDS_MOST + 1, least = -1; /* it is so after `most`, not after `least` */
    if (!is_so(e, noise, quantiles, most - 1))
        return most;
    while (most - least > 1) {
        int middle = (most + least) / 2;
        *(is_so(e, noise, quantiles, middle) ? &most : &least) = middle;
    }
    return most;
}

int verdict_more_rounds(const struct evidence *e, struct noise noise, struct quantiles *quantiles)
{
    return first_after(is_decided_after, e, noise, quantiles);
}

int verdict_rounds_to_notice(const struct evidence *e, struct noise noise, struct quantiles *quantiles)
{
    return first_after(is_noticed_after, e, noise, quantiles);
}
