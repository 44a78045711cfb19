/* stats: the statistics that labs report. */
#ifndef LOCKSTEP_STATS_H
#define LOCKSTEP_STATS_H

double stats_mean(const double *values, int count);

/* Standard error of that mean; NaN for fewer than two values. */
double stats_error(const double *values, int count);

/* Value below which a share `p` (0 … 1) of the values lies, interpolated between neighbours; NaN for no values. */
double stats_quantile(const double *values, int count, double p);

/* Median; of an even number of values the lower middle one, so always one of the values. NaN for no values. */
double stats_lower_median(const double *values, int count);

/* Mean of the largest of `count` draws from the standard normal distribution. */
double stats_normal_most(int count);

/* Value that Student's t with `freedom` > 0 degrees of freedom (any real number) exceeds with probability `tail`, 0 < tail < 1.
 * At least eight digits, also for tails of 1e-12. */
double stats_student_quantile(double tail, double freedom);

/* Two-sided 95 % quantile of Student's t with `freedom` >= 1 degrees of freedom. */
double stats_student(int freedom);

/* Fit coefficients c (terms): the sum over terms of c[term] x amounts[row][term] approximates values[row], with least squares of
 * the relative error. Only terms whose bit is set in `which` are fitted; the others are 0. Only the first (fixed) term may be
 * negative, since more work does not take less time. */
void stats_fit(double *c, const double *amounts, const double *values, int rows, int terms, unsigned which);

/* exp(mean) of log ratios with Student's 95 % interval; low and high are NaN for fewer than two values. Ratios of paired rounds
 * are skewed upwards, their logarithms are not. In simulations this interval covers 94 to 96 % for every number of rounds; a
 * bootstrap of the median covers 73 % for three rounds. */
struct ratio {
    double value, low, high;
};
struct ratio stats_ratio(const double *log_ratios, int count);

/* Share hits / count with Wilson's interval for the normal quantile z (1.96: 95 %). The interval stays within 0 and 1 and does
 * not vanish if no draw, or every draw, was a hit (Wilson 1927). */
struct ratio stats_share(double hits, double count, double z);

/* Ratio of the mean of `values` to the mean of `others`, with a 95 % interval by the moving-block bootstrap. Successive values are
 * correlated, so the bootstrap draws blocks; a block's length is about the cube root of the number of values (Kuensch 1989;
 * Hall, Horowitz and Jing 1995). */
struct ratio stats_block_ratio(const double *values, int count, const double *others, int others_count);

#endif
