/* stats: the few statistics the lab reports. */
#ifndef LOCKSTEP_STATS_H
#define LOCKSTEP_STATS_H

double stats_mean(const double *values, int count);

/* The value below which a share `p` (0 … 1) of the values lies, interpolated between neighbours. NaN for none. */
double stats_quantile(const double *values, int count, double p);

/* The middle value; of an even number, the lower of the two: always one of the values. */
double stats_lower_median(const double *values, int count);

/* What the largest of `count` draws from the standard normal distribution is in the mean. */
double stats_normal_most(int count);

/* The two-sided 95 % quantile of Student's t with `freedom` >= 1 degrees of freedom. */
double stats_student(int freedom);

/* The coefficients c (terms) with which the sum over terms of c[term] x amounts[row][term] comes closest to values[row]:
 * least squares of the relative error, over the terms whose bit is set in `which`; the others are 0. None but the first,
 * what is fixed, comes out negative: more work does not take less time. */
void stats_fit(double *c, const double *amounts, const double *values, int rows, int terms, unsigned which);

/* exp(mean) of log ratios with Student's 95 % interval; low and high are NaN for fewer than two values. The ratios of
 * paired rounds are skewed upwards, their logarithms are not: simulated, this interval covers 94 to 96 % at every
 * number of rounds, where a bootstrap of the median covers 73 % at three. */
struct ratio {
    double value, low, high;
};
struct ratio stats_ratio(const double *log_ratios, int count);

/* A share of which `hits` of `count` draws were seen, with Wilson's interval for the normal quantile z (1.96: 95 %), which
 * keeps within 0 and 1 and does not vanish where no draw, or each, was a hit (Wilson 1927). */
struct ratio stats_share(double hits, double count, double z);

/* The mean of `values` over that of `others`, with a 95 % interval by the moving-block bootstrap: values that follow one
 * another are alike, so whole stretches of about the cube root of their number are drawn (Kuensch 1989; Hall, Horowitz and
 * Jing 1995). */
struct ratio stats_block_ratio(const double *values, int count, const double *others, int others_count);

#endif
