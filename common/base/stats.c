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

double stats_student(int freedom)
{
    static const double table[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                    2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                    2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042 };
    int known = (int)(sizeof table / sizeof *table);
    if (freedom <= known)
        return table[freedom - 1];
    /* Use the Cornish-Fisher expansion in 1/freedom around the normal quantile (Abramowitz and Stegun 26.7.5). */
    double z = 1.959964, n = freedom;
    return z + (pow(z, 3) + z) / (4 * n) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * n * n);
}

struct ratio stats_ratio(const double *log_ratios, int count)
{
    if (count == 0)
        return (struct ratio){ NAN, NAN, NAN };
    double mean = stats_mean(log_ratios, count);
    if (count < 2)
        return (struct ratio){ exp(mean), NAN, NAN };
    double squares = 0;
    for (int i = 0; i < count; i++)
        squares += (log_ratios[i] - mean) * (log_ratios[i] - mean);
    double half = stats_student(count - 1) * sqrt(squares / (count - 1) / count);
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
