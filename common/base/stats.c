#include "base/stats.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double stats_mean(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

double stats_error(const double *values, int count)
{
    const double mean = stats_mean(values, count);
    double squares = 0;
    for (int i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return count < 2 ? (double)NAN : sqrt(squares / (count - 1) / count);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted_copy(const double *values, int count)
{
    double *sorted = memory_new((size_t)count, sizeof *sorted);
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return sorted;
}

double stats_quantile(const double *values, int count, double p)
{
    if (count == 0)
        return NAN;
    double *sorted = sorted_copy(values, count);
    double at = p * (count - 1);
    int below = (int)at;
    int above = below + 1 < count ? below + 1 : below;
    double value = sorted[below] + (at - below) * (sorted[above] - sorted[below]);
    free(sorted);
    return value;
}

double stats_lower_median(const double *values, int count)
{
    if (count == 0)
        return NAN;
    double *sorted = sorted_copy(values, count);
    double value = sorted[(count - 1) / 2];
    free(sorted);
    return value;
}

double stats_normal_most(int count)
{
    /* Trapezium rule for the integral of x times the density of the largest; with this step it is exact to 3e-13 for 16384 draws. */
    const double reach = 9, step = 1.0 / 16;
    double sum = 0;
    for (double x = -reach; x <= reach; x += step) {
        double density = exp(-x * x / 2) / sqrt(2 * M_PI), below = erfc(-x / sqrt(2)) / 2;
        sum += x * count * density * pow(below, count - 1) * step;
    }
    return sum;
}

/* Continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. Converges fast for
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    enum { TERMS_MOST = 10000 }; /* a few dozen are enough below 1000 degrees of freedom */
    static const double tiny = 1e-300;
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m < TERMS_MOST; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double before = value;
        for (int i = 0; i < 2; i++) {
            double term = i == 0 ? even : odd;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) > tiny ? d : tiny);
            c = fabs(c) > tiny ? c : tiny;
            value *= c * d;
        }
        if (fabs(value - before) <= 1e-15 * fabs(value))
            break;
    }
    return value;
}

/* Regularised incomplete beta function I_x(a, b). `y` is 1 - x, which loses digits if computed from x near 1. */
static double incomplete_beta(double x, double y, double a, double b)
{
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(y, b, a) / b;
}

/* Probability that Student's t exceeds `t` > 0. */
static double student_tail(double t, double freedom)
{
    double all = freedom + t * t;
    return incomplete_beta(freedom / all, t * t / all, freedom / 2, 0.5) / 2;
}

double stats_student_quantile(double tail, double freedom)
{
    if (tail > 0.5)
        return -stats_student_quantile(1 - tail, freedom);
    if (tail == 0.5)
        return 0;
    double low = 0, high = 1;
    while (student_tail(high, freedom) > tail) {
        low = high;
        high *= 2;
    }
    while (high - low > 1e-12 * high) {
        double middle = (low + high) / 2;
        *(student_tail(middle, freedom) > tail ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

double stats_student(int freedom)
{
    return stats_student_quantile(0.025, freedom);
}

struct ratio stats_ratio(const double *log_ratios, int count)
{
    if (count == 0)
        return (struct ratio){ NAN, NAN, NAN };
    double mean = stats_mean(log_ratios, count);
    if (count < 2)
        return (struct ratio){ exp(mean), NAN, NAN };
    double half = stats_student(count - 1) * stats_error(log_ratios, count);
    return (struct ratio){ exp(mean), exp(mean - half), exp(mean + half) };
}

struct ratio stats_share(double hits, double count, double z)
{
    double share = hits / count, more = z * z / count;
    double middle = (share + more / 2) / (1 + more);
    double half = z * sqrt(share * (1 - share) / count + more / (4 * count)) / (1 + more);
    return (struct ratio){ .value = share, .low = middle - half, .high = middle + half };
}

/* Mean of `count` values, resampled in blocks. */
static double resampled_mean(const double *values, int count, struct random *random)
{
    int block = (int)lround(cbrt(count));
    double sum = 0;
    for (int drawn = 0; drawn < count; drawn += block) {
        int begin = (int)random_below(random, (uint32_t)(count - block + 1));
        for (int i = 0; i < block && drawn + i < count; i++)
            sum += values[begin + i];
    }
    return sum / count;
}

struct ratio stats_block_ratio(const double *values, int count, const double *others, int others_count)
{
    enum { RESAMPLES = 2000 };
    double *ratios = memory_new(RESAMPLES, sizeof *ratios);
    struct random random;
    random_seed(&random, 1989);
    for (int i = 0; i < RESAMPLES; i++)
        ratios[i] = resampled_mean(values, count, &random) / resampled_mean(others, others_count, &random);
    struct ratio ratio = { .value = stats_mean(values, count) / stats_mean(others, others_count),
                           .low = stats_quantile(ratios, RESAMPLES, 0.025),
                           .high = stats_quantile(ratios, RESAMPLES, 0.975) };
    free(ratios);
    return ratio;
}

enum { FIT_TERMS_MOST = 8 };

/* Solve a (n, n) x = b by elimination with pivots; a column without a pivot gets x = 0. Overwrites a and b. */
static void solve(double a[FIT_TERMS_MOST][FIT_TERMS_MOST], double *b, double *x, int n)
{
    for (int column = 0; column < n; column++) {
        int pivot = column;
        for (int row = column + 1; row < n; row++)
            if (fabs(a[row][column]) > fabs(a[pivot][column]))
                pivot = row;
        for (int i = 0; i < n; i++) {
            double held = a[column][i];
            a[column][i] = a[pivot][i];
            a[pivot][i] = held;
        }
        double held = b[column];
        b[column] = b[pivot];
        b[pivot] = held;
        for (int row = column + 1; row < n && fabs(a[column][column]) > 0; row++) {
            double times = a[row][column] / a[column][column];
            for (int i = column; i < n; i++)
                a[row][i] -= times * a[column][i];
            b[row] -= times * b[column];
        }
    }
    for (int row = n; row-- > 0;) {
        for (int i = row + 1; i < n; i++)
            b[row] -= a[row][i] * x[i];
        x[row] = fabs(a[row][row]) > 0 ? b[row] / a[row][row] : 0;
    }
}

void stats_fit(double *c, const double *amounts, const double *values, int rows, int terms, unsigned which)
{
    int term_of[FIT_TERMS_MOST], count = 0;
    double largest[FIT_TERMS_MOST] = { 0 }; /* terms differ by orders of magnitude: scale each by its largest amount */
    for (int term = 0; term < terms; term++) {
        c[term] = 0;
        for (int row = 0; row < rows; row++)
            largest[term] = fmax(largest[term], fabs(amounts[row * terms + term]));
        if (which & 1u << term && largest[term] > 0)
            term_of[count++] = term;
    }
    double a[FIT_TERMS_MOST][FIT_TERMS_MOST] = { { 0 } }, b[FIT_TERMS_MOST] = { 0 }, x[FIT_TERMS_MOST] = { 0 };
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < count; i++) {
            double scaled = amounts[row * terms + term_of[i]] / largest[term_of[i]] / values[row];
            b[i] += scaled;
            for (int j = 0; j < count; j++)
                a[i][j] += scaled * amounts[row * terms + term_of[j]] / largest[term_of[j]] / values[row];
        }
    solve(a, b, x, count);
    int worst = -1;
    for (int i = 0; i < count; i++) {
        c[term_of[i]] = x[i] / largest[term_of[i]];
        if (term_of[i] > 0 && x[i] < 0 && (worst < 0 || x[i] < x[worst]))
            worst = i;
    }
    if (worst >= 0)
        stats_fit(c, amounts, values, rows, terms, which & ~(1u << term_of[worst]));
}
