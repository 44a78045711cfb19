#include "stats.h"

#include "memory.h"

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

double stats_student(int freedom)
{
    static const double table[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                    2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                    2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042 };
    int known = (int)(sizeof table / sizeof *table);
    if (freedom <= known)
        return table[freedom - 1];
    /* Cornish and Fisher's expansion in 1/freedom around the normal quantile (Abramowitz and Stegun 26.7.5). */
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
