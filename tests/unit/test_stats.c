/* test_stats.c: test statistics, the alpha-beta model and the formulas of a step against textbooks, hand calculations and
 * brute force. */
#include "base/random.h"
#include "base/stats.h"
#include "card/alpha_beta.h"
#include "card/predict.h"
#include "support/between.h"
#include "support/near.h"
#include "support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { EXACT = 0 };

/* --- stats ------------------------------------------------------------------------------------------------------ */

TEST(quantiles_lie_between_neighbours)
{
    static const double values[] = { 40, 10, 30, 20, 50 };
    assert_near(stats_quantile(values, 5, 0), 10, EXACT);
    assert_near(stats_quantile(values, 5, 0.5), 30, EXACT);
    assert_near(stats_quantile(values, 5, 1), 50, EXACT);
    assert_near(stats_quantile(values, 5, 0.95), 48, 1e-12); /* 0.95 x 4 = 3.8: 40 + 0.8 x 10 */
    assert_near(stats_quantile(values, 4, 0.5), 25, 1e-12);  /* median of 10, 20, 30, 40 */
    assert_near(stats_quantile(values, 1, 0.95), 40, EXACT);
    assert_true(isnan(stats_quantile(values, 0, 0.5)));
}

TEST(the_lower_median_is_one_of_the_values)
{
    static const double values[] = { 7, 1, 9, 3, 5 };
    assert_near(stats_lower_median(values, 1), 7, EXACT);
    assert_near(stats_lower_median(values, 2), 1, EXACT);
    assert_near(stats_lower_median(values, 3), 7, EXACT);
    assert_near(stats_lower_median(values, 4), 3, EXACT);
    assert_near(stats_lower_median(values, 5), 5, EXACT);
    assert_true(isnan(stats_lower_median(values, 0)));
}

TEST(values_are_not_reordered)
{
    double values[] = { 3, 1, 2 };
    static const double before[] = { 3, 1, 2 };
    stats_quantile(values, 3, 0.5);
    stats_lower_median(values, 3);
    assert_memory_equal(values, before, sizeof before);
}

/* Compare with two-sided 95 % points of textbook tables. */
TEST(students_t_is_the_textbooks)
{
    static const struct {
        int freedom;
        double t;
    } table[] = { { 1, 12.706 }, { 2, 4.303 },  { 5, 2.571 },  { 10, 2.228 },
                  { 30, 2.042 }, { 40, 2.021 }, { 60, 2.000 }, { 120, 1.980 } };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_near(stats_student(table[i].freedom), table[i].t, 1e-3);
    assert_near(stats_student(100000000), 1.959964, 1e-6); /* normal distribution */
    for (int freedom = 1; freedom < 200; freedom++)
        assert_true(stats_student(freedom + 1) < stats_student(freedom));
}

/* One-sided points of published tables, to the printed digits. */
TEST(quantiles_of_students_t_are_the_textbooks)
{
    static const struct {
        double tail, freedom, t;
    } table[] = { { 0.1, 3, 1.638 },    { 0.05, 5, 2.015 },    { 0.05, 13, 1.771 },   { 0.01, 10, 2.764 },
                  { 0.005, 1, 63.657 }, { 0.005, 30, 2.750 },  { 0.001, 4, 7.173 },   { 0.001, 15, 3.733 },
                  { 0.0005, 5, 6.869 }, { 0.0005, 10, 4.587 }, { 0.0005, 30, 3.646 }, { 0.0005, 120, 3.373 } };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_near(stats_student_quantile(table[i].tail, table[i].freedom), table[i].t, 5.1e-4);
}

/* With 1, 2 and 4 degrees of freedom the quantile has a closed form (Shaw 2006, "Sampling Student's T distribution"). */
TEST(far_tails_of_students_t_are_the_closed_forms)
{
    static const double tails[] = { 0.25, 0.01, 1e-4, 1e-5, 6.7e-5, 1e-7 };
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        double p = tails[i], a = 4 * p * (1 - p);
        double q = cos(acos(sqrt(a)) / 3) / sqrt(a);
        double closed[] = { 1 / tan(M_PI * p), (1 - 2 * p) * sqrt(2 / a), 2 * sqrt(q - 1) };
        for (int n = 0; n < 3; n++)
            assert_near(stats_student_quantile(p, 1 << n) / closed[n], 1, 1e-8);
        assert_near(stats_student_quantile(1 - p, 2), -closed[1], 1e-6 * closed[1]);
    }
    assert_near(stats_student_quantile(0.5, 7), 0, EXACT);
    assert_near(stats_student_quantile(1e-5, 1e8), 4.264890794, 1e-6); /* normal distribution */
}

/* The area beyond the quantile, by Simpson's rule on the density of t = sqrt(freedom) x sinh(u). */
TEST(quantiles_of_students_t_take_any_freedom)
{
    static const double freedoms[] = { 1.5, 5.25, 8.5, 13, 26.75 };
    for (size_t i = 0; i < sizeof freedoms / sizeof *freedoms; i++)
        for (double tail = 0.05; tail > 1e-6; tail /= 7) {
            enum { PARTS = 20000 };
            double n = freedoms[i], begin = asinh(stats_student_quantile(tail, n) / sqrt(n)), width = 40.0 / PARTS,
                   area = 0;
            for (int part = 0; part <= PARTS; part++)
                area += (part == 0 || part == PARTS ? 1 : part % 2 ? 4 : 2) * pow(cosh(begin + part * width), -n);
            area *= width / 3 * exp(lgamma((n + 1) / 2) - lgamma(n / 2)) / sqrt(M_PI);
            assert_near(area / tail, 1, 1e-6);
        }
}

/* Use logarithms 0.1, 0.2, 0.3: mean 0.2, deviation 0.1, half width 4.302653 x 0.1 / sqrt(3) = 0.248414. */
TEST(a_ratio_has_students_interval)
{
    struct ratio ratio = stats_ratio((double[]){ 0.3, 0.1, 0.2 }, 3);
    assert_near(ratio.value, 1.221403, 1e-6); /* exp(0.2) */
    assert_near(ratio.low, 0.952739, 1e-6);   /* exp(-0.048414) */
    assert_near(ratio.high, 1.565827, 1e-6);  /* exp(0.448414) */
}

TEST(few_ratios_have_no_interval)
{
    struct ratio one = stats_ratio((double[]){ log(2) }, 1);
    assert_near(one.value, 2, 1e-12);
    assert_true(isnan(one.low) && isnan(one.high));
    struct ratio none = stats_ratio(NULL, 0);
    assert_true(isnan(none.value) && isnan(none.low) && isnan(none.high));
    struct ratio alike = stats_ratio((double[]){ log(3), log(3), log(3), log(3) }, 4);
    assert_near(alike.value, 3, 1e-12);
    assert_near(alike.low, 3, 1e-12);
    assert_near(alike.high, 3, 1e-12);
}

/* Check 5 of 10: the center is 0.5 and the half width 1.96 sqrt(0.025 + 0.009604) / 1.38416. With 0 of 10 the interval ends
 * at z^2 / (10 + z^2). */
TEST(a_share_has_wilsons_interval)
{
    struct ratio half = stats_share(5, 10, 1.96);
    assert_near(half.value, 0.5, 1e-15);
    assert_near(half.low, 0.5 - 0.263405, 1e-5);
    assert_near(half.high, 0.5 + 0.263405, 1e-5);
    struct ratio none = stats_share(0, 10, 1.96), all = stats_share(10, 10, 1.96);
    assert_near(none.low, 0, 1e-15);
    assert_near(none.high, 3.8416 / 13.8416, 1e-12);
    assert_near(all.low, 1 - none.high, 1e-12);
    assert_near(all.high, 1, 1e-15);
}

/* Fill a series around a mean, where each value is `memory` times the previous one plus new noise. */
static void fill_series(struct random *random, double *values, int count, double mean, double memory)
{
    double value = random_normal(random);
    for (int i = 0; i < count; i++) {
        value = memory * value + sqrt(1 - memory * memory) * random_normal(random);
        values[i] = mean + value;
    }
}

/* Return the number of intervals, of 400, that contain the true ratio of two series with means 20 and 16. */
static int count_covering(double memory)
{
    enum { STEPS = 96, OTHERS = 120, EXPERIMENTS = 400 };
    struct random random;
    double values[STEPS], others[OTHERS];
    int covering = 0;
    random_seed(&random, 96);
    for (int i = 0; i < EXPERIMENTS; i++) {
        fill_series(&random, values, STEPS, 20, memory);
        fill_series(&random, others, OTHERS, 16, memory);
        struct ratio ratio = stats_block_ratio(values, STEPS, others, OTHERS);
        assert_true(ratio.low <= ratio.value && ratio.value <= ratio.high);
        covering += ratio.low <= 1.25 && 1.25 <= ratio.high;
    }
    return covering;
}

/* Check the coverage: 95 % are 380 intervals. Blocks of five values miss part of a longer correlation. Drawing single
 * values instead would cover 300 or fewer. */
TEST(a_block_ratio_covers_the_truth)
{
    assert_between(count_covering(0), 360, 396);
    assert_between(count_covering(0.5), 340, 396);
}

TEST(equal_series_have_the_ratio_1)
{
    double values[50], constant[50];
    struct random random;
    random_seed(&random, 1);
    fill_series(&random, values, 50, 10, 0);
    for (int i = 0; i < 50; i++)
        constant[i] = 3;
    struct ratio ratio = stats_block_ratio(values, 50, values, 50);
    assert_near(ratio.value, 1, EXACT);
    assert_true(ratio.low < 1 && 1 < ratio.high);
    ratio = stats_block_ratio(constant, 50, constant, 20);
    assert_near(ratio.value, 1, EXACT);
    assert_near(ratio.low, 1, EXACT);
    assert_near(ratio.high, 1, EXACT);
    ratio = stats_block_ratio(constant, 1, constant, 1);
    assert_near(ratio.low, 1, EXACT);
}

enum { FIT_ROWS = 6, FIT_TERMS = 4, ALL_TERMS = (1 << FIT_TERMS) - 1 };

/* Rows of (1, samples, padded tokens, padded tokens x length). */
static const double shapes[FIT_ROWS * FIT_TERMS] = {
    1, 4, 256, 16384, 1, 16, 1024, 65536, 1, 8, 816, 83232, 1, 8, 1224, 187272, 1, 4, 868, 188356, 1, 8, 1736, 376712,
};

static void assert_fits(const double *truth, unsigned which, const double *expected, double tolerance)
{
    double values[FIT_ROWS] = { 0 }, c[FIT_TERMS];
    for (int row = 0; row < FIT_ROWS; row++)
        for (int term = 0; term < FIT_TERMS; term++)
            values[row] += truth[term] * shapes[row * FIT_TERMS + term];
    stats_fit(c, shapes, values, FIT_ROWS, FIT_TERMS, which);
    for (int term = 0; term < FIT_TERMS; term++)
        assert_near(c[term], expected[term], tolerance * fabs(expected[term]));
}

/* Check that the fit recovers coefficients that differ by many decades. */
TEST(a_fit_finds_what_made_the_values)
{
    static const double near[] = { 3e-4, 1e-5, 1.6e-6, 1.2e-8 }, far[] = { 5, 1e-4, 3e-7, 1e-10 },
                        tiny[] = { 1e-12, 1e-10, 1e-15, 1e-14 }, one[] = { 0, 0, 2e-6, 0 };
    assert_fits(near, ALL_TERMS, near, 1e-9);
    assert_fits(far, ALL_TERMS, far, 1e-4);
    assert_fits(tiny, ALL_TERMS, tiny, 1e-6);
    assert_fits(one, 1u << 2, one, 1e-12);

    /* Squares of the amounts exceed the range of a double. */
    static const double amounts[] = { 1, 1e170, 1, 2e170, 1, 5e170 }, values[] = { 4, 6, 12 };
    double c[2];
    stats_fit(c, amounts, values, 3, 2, 3);
    assert_near(c[0], 2, 1e-12);
    assert_near(c[1], 2e-170, 1e-182);
}

/* Check that terms left out of the fit are 0, and that a term whose amounts are all 0 is 0. */
TEST(a_fit_keeps_to_its_terms)
{
    static const double truth[] = { 3e-4, 0, 1.6e-6, 0 };
    assert_fits(truth, 1u << 0 | 1u << 2, truth, 1e-9);
    static const double amounts[] = { 1, 0, 10, 1, 0, 20 }, values[] = { 12, 22 };
    double c[3];
    stats_fit(c, amounts, values, 2, 3, 7);
    assert_near(c[0], 2, 1e-9);
    assert_near(c[1], 0, EXACT);
    assert_near(c[2], 1, 1e-9);
}

/* Check that only the constant coefficient may be negative. In the second fit the samples' true coefficient is -1e-4; the
 * result must equal that of a fit without samples. */
TEST(more_work_takes_no_less_time)
{
    static const double amounts[] = { 1, 1, 1, 2, 1, 3, 1, 4 }, falling[] = { 9, 8, 7, 6 }, late[] = { 1, 3, 5, 7 };
    double c[2];
    stats_fit(c, amounts, falling, 4, 2, 3);
    assert_near(c[1], 0, EXACT);
    assert_true(c[0] > 6 && c[0] < 9);
    stats_fit(c, amounts, late, 4, 2, 3);
    assert_near(c[0], -1, 1e-9);
    assert_near(c[1], 2, 1e-9);

    static const double truth[FIT_TERMS] = { 1e-2, -1e-4, 2e-6, 1e-8 };
    double values[FIT_ROWS] = { 0 }, fitted[FIT_TERMS], apart[FIT_TERMS];
    for (int row = 0; row < FIT_ROWS; row++)
        for (int term = 0; term < FIT_TERMS; term++)
            values[row] += truth[term] * shapes[row * FIT_TERMS + term];
    stats_fit(fitted, shapes, values, FIT_ROWS, FIT_TERMS, ALL_TERMS);
    stats_fit(apart, shapes, values, FIT_ROWS, FIT_TERMS, ALL_TERMS & ~2u);
    assert_memory_equal(fitted, apart, sizeof fitted);
    assert_near(fitted[1], 0, EXACT);
    for (int term = 1; term < FIT_TERMS; term++)
        assert_true(fitted[term] >= 0);
}

/* Check that the fit minimises relative errors: an error of 10 at 1000 weighs as much as an error of 0.01 at 1. */
TEST(a_fit_weighs_relative_errors)
{
    static const double amounts[] = { 1, 1 }, values[] = { 1, 3 };
    double c[1];
    stats_fit(c, amounts, values, 2, 1, 1); /* minimises (c - 1)^2 + (c/3 - 1)^2 */
    assert_near(c[0], (1 + 1 / 3.0) / (1 + 1 / 9.0), 1e-12);
}

/* --- alpha-beta model ------------------------------------------------------------------------------------------- */

/* Measured sizes: 256 B, 1 KiB, ... 4 GiB. */
enum { SIZES = 13 };
static double size_of(int i)
{
    return 256 * pow(4, i);
}

/* One line of the true cost, from the size with this index on. */
struct segment {
    int first;
    double alpha, beta;
};

/* Fit points that lie exactly on `segments`. The fit must reproduce every point, and held-out sizes between two points of
 * the same segment. */
static void assert_recovered(const struct segment *segments, int count)
{
    struct alpha_beta link = { .ranks = 4, .points = SIZES };
    int segment_of[SIZES];
    for (int i = 0, s = 0; i < SIZES; i++) {
        s += s + 1 < count && segments[s + 1].first == i;
        segment_of[i] = s;
        link.bytes[i] = size_of(i);
        link.seconds[i] = segments[s].alpha + segments[s].beta * link.bytes[i];
    }
    alpha_beta_fit(&link);
    assert_int_equal(link.pieces, count);
    for (int i = 0; i < SIZES; i++) {
        assert_near(alpha_beta_seconds(&link, link.bytes[i]) / link.seconds[i], 1, 1e-9);
        const struct segment *s = &segments[segment_of[i]];
        /* Between two points of different segments the location of the change is unknown: only test sizes near a point. */
        bool changes = i + 1 < SIZES && segment_of[i + 1] != segment_of[i];
        for (double times = 0.99; times < (changes ? 1.1 : 4); times *= 1.06) {
            double held_out = times * link.bytes[i];
            assert_near(alpha_beta_seconds(&link, held_out) / (s->alpha + s->beta * held_out), 1, 1e-9);
        }
    }
}

TEST(one_line_is_recovered)
{
    assert_recovered((struct segment[]){ { 0, 5e-6, 0.8e-9 } }, 1);
    assert_recovered((struct segment[]){ { 0, 5e-6, 0 } }, 1);   /* latency only */
    assert_recovered((struct segment[]){ { 0, 0, 0.8e-9 } }, 1); /* bandwidth only */
}

TEST(two_lines_are_recovered)
{
    assert_recovered((struct segment[]){ { 0, 5e-6, 0.2e-9 }, { 5, 60e-6, 0.9e-9 } }, 2);
    assert_recovered((struct segment[]){ { 0, 5e-6, 1.5e-9 }, { 3, 90e-6, 0.4e-9 } }, 2); /* a faster algorithm */
}

TEST(three_lines_are_recovered)
{
    /* Eager, rendezvous, and beyond the cache. */
    assert_recovered((struct segment[]){ { 0, 4e-6, 0.3e-9 }, { 4, 30e-6, 0.15e-9 }, { 8, 20e-6, 1.1e-9 } }, 3);
}

TEST(four_lines_are_recovered)
{
    assert_recovered(
        (struct segment[]){ { 0, 4e-6, 0.3e-9 }, { 3, 30e-6, 0.15e-9 }, { 6, 90e-6, 1.1e-9 }, { 9, 20e-3, 0.4e-9 } },
        4);
}

/* Count the pieces in 1000 fits to two lines, 5 us + 1 ns per byte up to a cut and a second one after it, with 2 % noise. The first
 * points are the sizes of a machine card. */
static void count_pieces(int points, struct segment second, int found[ALPHA_BETA_PIECES_MOST + 1])
{
    static const double bytes[] = { 256,     1024,    2048,    4096,    8192,     32768,   262144,
                                    1 << 20, 3 << 20, 6 << 20, 9 << 20, 16 << 20, 24 << 20 };
    struct random random;
    random_seed(&random, 2026);
    memset(found, 0, (ALPHA_BETA_PIECES_MOST + 1) * sizeof *found);
    for (int draw = 0; draw < 1000; draw++) {
        struct alpha_beta link = { .ranks = 2 };
        for (int i = 0; i < points; i++) {
            double exact = i < second.first ? 5e-6 + 1e-9 * bytes[i] : second.alpha + second.beta * bytes[i];
            alpha_beta_add(&link, bytes[i], exact * random_lognormal(&random, 0.02));
        }
        alpha_beta_fit(&link);
        found[link.pieces]++;
    }
}

TEST(noise_makes_no_pieces)
{
    int found[ALPHA_BETA_PIECES_MOST + 1];
    for (int points = 4; points <= 13; points++) {
        count_pieces(points, (struct segment){ 0, 5e-6, 1e-9 }, found);
        assert_between(found[1], 975, 1000);
    }
}

TEST(a_kink_in_noise_makes_two)
{
    int found[ALPHA_BETA_PIECES_MOST + 1];
    count_pieces(13, (struct segment){ 7, 5e-6, 1.3e-9 }, found); /* beyond a cache */
    assert_between(found[2], 975, 1000);
    count_pieces(9, (struct segment){ 4, 12e-6, 1e-9 }, found); /* messages for which the receiver must be ready */
    assert_between(found[2], 975, 1000);
}

/* Fit the all-reduces of 256 simulated ranks of gpu_cluster_400g: the smallest has fewer elements than there are ranks, so the library
 * does not send it round the ring, and it takes a hundredth of the next one. It must not bend the line of the others. */
TEST(a_first_point_of_another_order_is_a_piece)
{
    static const double bytes[] = {
        256, 4096, 1 << 15, 1 << 18, 1 << 20, 3 << 20, 6 << 20, 9 << 20, 16 << 20, 24 << 20
    };
    struct alpha_beta link = { .ranks = 256 };
    for (int i = 0; i < 10; i++)
        alpha_beta_add(&link, bytes[i], i == 0 ? 17e-6 : 2.033e-3 + 0.0399e-9 * bytes[i]);
    alpha_beta_fit(&link);
    assert_int_equal(link.pieces, 2);
    assert_near(alpha_beta_seconds(&link, 4), 17e-6, 1e-12);
    assert_near(alpha_beta_seconds(&link, 12.5e6) / (2.033e-3 + 0.0399e-9 * 12.5e6), 1, 1e-9);
}

/* Fit random measurements: every size belongs to a line, no cost is negative, every measured size has a positive one, and beyond the
 * measured sizes larger messages are not cheaper. */
TEST(no_cost_is_negative)
{
    struct random random;
    random_seed(&random, 2025);
    for (int points = 1; points <= ALPHA_BETA_POINTS_MOST; points++)
        for (int draw = 0; draw < 200; draw++) {
            struct alpha_beta link = { .ranks = 4, .points = points };
            for (int i = 0; i < points; i++) {
                link.bytes[i] = size_of(i) * (1 + random_below(&random, 300) / 100.0);
                link.seconds[i] = 1e-6 * exp2(random_below(&random, 20000) / 1000.0);
            }
            alpha_beta_fit(&link);
            assert_between(link.pieces, 1,
                           points < 7                                  ? 1
                           : (points + 2) / 3 < ALPHA_BETA_PIECES_MOST ? (points + 2) / 3
                                                                       : ALPHA_BETA_PIECES_MOST);
            double upto = -1;
            for (int i = 0; i < link.lines; i++) {
                const double size = isfinite(link.line[i].upto) ? link.line[i].upto : 4 * upto + 1;
                assert_true(link.line[i].upto > upto && alpha_beta_seconds(&link, size) >= 0);
                upto = link.line[i].upto;
            }
            assert_true(isinf(upto));
            for (int i = 0; i < points; i++)
                assert_true(alpha_beta_seconds(&link, link.bytes[i]) > 0);
            assert_true(link.line[0].beta >= 0 && link.line[link.lines - 1].beta >= 0);
        }
}

/* Fit random measurements, which no few lines follow: the seconds of a measured size are those measured, and those of a size midway are
 * their mean where the fit is one line. Drift of factors `times` and `beyond` (alpha_beta_slow) keeps both. */
TEST(measured_sizes_keep_their_seconds)
{
    struct random random;
    random_seed(&random, 2027);
    for (int draw = 0; draw < 200; draw++) {
        struct alpha_beta link = { .ranks = 4 };
        for (int i = 0; i < 10; i++)
            alpha_beta_add(&link, size_of(i), 1e-6 * exp2(random_below(&random, 20000) / 1000.0));
        alpha_beta_fit(&link);
        struct alpha_beta slow = link;
        const double limit = 3 * size_of(4), there = alpha_beta_seconds(&link, limit);
        alpha_beta_slow(&slow, 1.5, limit, 0.5);
        for (int i = 0; i < 10; i++) {
            const double bytes = size_of(i), seconds = link.seconds[i];
            assert_near(alpha_beta_seconds(&link, bytes) / seconds, 1, 1e-9);
            assert_near(alpha_beta_seconds(&slow, bytes) / (i <= 4 ? 1.5 * seconds : there + 0.5 * seconds), 1, 1e-6);
        }
        for (int i = 0; i + 1 < 10 && link.pieces == 1; i++) {
            const double between = alpha_beta_seconds(&link, (size_of(i) + size_of(i + 1)) / 2);
            assert_near(between / ((link.seconds[i] + link.seconds[i + 1]) / 2), 1, 1e-9);
        }
    }
}

/* A point of another kind, 1.4 times as long as its neighbours tell, bends no line but its own. */
TEST(a_size_singled_out_stands_for_itself)
{
    enum { POINTS = ALPHA_BETA_POINTS_MOST };
    static const double alpha = 1e-5, beta = 1e-10, times = 1.4;
    for (int special = 0; special < POINTS; special++) {
        struct alpha_beta link = { .ranks = 2 };
        for (int i = 0; i < POINTS; i++) {
            const double bytes = exp2(8 + i);
            alpha_beta_add(&link, bytes, (alpha + beta * bytes) * (i == special ? times : 1));
        }
        const double bytes = exp2(8 + special);
        alpha_beta_fit(&link);
        alpha_beta_single_out(&link, bytes + 1); /* was not measured */
        assert_near(alpha_beta_seconds(&link, bytes) / (alpha + beta * bytes), times, 1e-9);
        alpha_beta_single_out(&link, bytes);
        assert_int_equal(link.points, POINTS);
        for (double at = 1; at < exp2(POINTS + 9); at *= 1.003) {
            const double expected = (alpha + beta * at) * (at > 0.999 * bytes && at <= 1.001 * bytes ? times : 1);
            assert_near(alpha_beta_seconds(&link, at) / expected, 1, 0.0011);
        }
        assert_near(alpha_beta_seconds(&link, bytes) / (alpha + beta * bytes), times, 1e-9);
    }
}

TEST(nothing_measured_takes_no_time)
{
    struct alpha_beta link = { .ranks = 1 };
    alpha_beta_slow(&link, 1.5, 4096, 0.5);
    assert_near(alpha_beta_seconds(&link, 1e6), 0, 0);
}

TEST(one_point_is_a_latency)
{
    struct alpha_beta link = { .ranks = 2, .points = 1, .bytes = { 4096 }, .seconds = { 7e-6 } };
    alpha_beta_fit(&link);
    assert_int_equal(link.pieces, 1);
    assert_near(alpha_beta_seconds(&link, 4), 7e-6, 1e-18);
    assert_near(alpha_beta_seconds(&link, 1e9), 7e-6, 1e-18);
}

TEST(beyond_the_points_the_outer_lines_go_on)
{
    struct alpha_beta link = { .ranks = 2, .points = 7 };
    for (int i = 0; i < link.points; i++) {
        link.bytes[i] = size_of(i);
        link.seconds[i] = i < 3 ? 1e-5 + 1e-9 * size_of(i) : 1e-4 + 2e-9 * size_of(i);
    }
    alpha_beta_fit(&link);
    assert_int_equal(link.pieces, 2);
    assert_near(alpha_beta_seconds(&link, 0), 1e-5, 1e-14);
    assert_near(alpha_beta_seconds(&link, 1e9), 1e-4 + 2, 1e-8);
}

/* Fit five points, too few for two lines. An error of 10 % at 256 MiB must not change the cost at 4 KiB much, since the fit
 * minimises relative errors. */
TEST(an_error_at_one_end_stays_there)
{
    struct alpha_beta link = { .ranks = 2, .points = 5 };
    for (int i = 0; i < link.points; i++) {
        link.bytes[i] = size_of(2 * i + 2);
        link.seconds[i] = (5e-6 + 1e-9 * link.bytes[i]) * (i == 4 ? 1.1 : 1);
    }
    alpha_beta_fit(&link);
    assert_int_equal(link.pieces, 1);
    assert_near(alpha_beta_seconds(&link, link.bytes[0]) / link.seconds[0], 1, 0.03);
    assert_near(alpha_beta_seconds(&link, link.bytes[4]) / link.seconds[4], 1, 0.1);
}

/* --- balls in boxes --------------------------------------------------------------------------------------------- */

TEST(the_fullest_box_by_hand)
{
    assert_near(predict_fullest(2, 2), 1.5, 1e-12);
    assert_near(predict_fullest(4, 2), 2.75, 1e-12);  /* (2 x 4 + 8 x 3 + 6 x 2) / 16 */
    assert_near(predict_fullest(4, 4), 2.125, 1e-12); /* (4 x 4 + 48 x 3 + 180 x 2 + 24 x 1) / 256 */
}

TEST(one_ball_or_one_box_leaves_no_chance)
{
    for (int n = 1; n <= 64; n++) {
        assert_near(predict_fullest(1, n), 1, 1e-12);
        assert_near(predict_fullest(n, 1), n, 1e-12);
    }
    assert_near(predict_fullest(0, 4), 0, EXACT);
}

/* Return the mean number of balls in the fullest box over all boxes^draws ways to throw. */
static double fullest_of_all_throws(int draws, int boxes)
{
    long ways = 1, sum = 0;
    for (int d = 0; d < draws; d++)
        ways *= boxes;
    for (long way = 0; way < ways; way++) {
        int held[16] = { 0 }, fullest = 0;
        long rest = way;
        for (int d = 0; d < draws; d++) {
            int box = (int)(rest % boxes);
            rest /= boxes;
            held[box]++;
            fullest = held[box] > fullest ? held[box] : fullest;
        }
        sum += fullest;
    }
    return (double)sum / (double)ways;
}

TEST(the_fullest_box_of_all_throws)
{
    for (int boxes = 1; boxes <= 8; boxes++)
        for (int draws = 1; draws <= 5; draws++)
            assert_near(predict_fullest(draws, boxes), fullest_of_all_throws(draws, boxes), 1e-11);
    assert_near(predict_fullest(10, 3), fullest_of_all_throws(10, 3), 1e-11);
    assert_near(predict_fullest(16, 2), fullest_of_all_throws(16, 2), 1e-11);
}

/* Check large arguments: no overflow or underflow. The result lies between the mean and all balls, grows with the number
 * of balls and falls with the number of boxes. */
TEST(the_fullest_box_stays_finite)
{
    static const int draws[] = { 4, 16, 64 }, boxes[] = { 4, 64, 256 };
    for (int d = 0; d < 3; d++)
        for (int b = 0; b < 3; b++) {
            double fullest = predict_fullest(draws[d], boxes[b]);
            assert_true(fullest >= 1 && fullest >= (double)draws[d] / boxes[b] && fullest <= draws[d]);
            if (d > 0)
                assert_true(fullest > predict_fullest(draws[d - 1], boxes[b]));
            if (b > 0)
                assert_true(fullest < predict_fullest(draws[d], boxes[b - 1]));
        }
}

/* --- shares ----------------------------------------------------------------------------------------------------- */

enum { RANKS = 4 };

static int sum_of(const int *shares, int ranks)
{
    int sum = 0;
    for (int r = 0; r < ranks; r++)
        sum += shares[r];
    return sum;
}

TEST(equal_ranks_get_equal_shares)
{
    static const double fixed[] = { 0.005, 0.005, 0.005, 0.005 }, slowdown[] = { 14e-5, 14e-5, 14e-5, 14e-5 };
    int shares[RANKS];
    predict_shares(fixed, slowdown, RANKS, 512, 1, shares);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(shares[r], 128);
    predict_shares(fixed, slowdown, RANKS, 514, 1, shares);
    assert_int_equal(sum_of(shares, RANKS), 514);
    for (int r = 0; r < RANKS; r++)
        assert_between(shares[r], 128, 129);
}

/* Give rank 0 a core of half the speed, which doubles all its times. All ranks finish together at T where
 * (T/2 - f) / p + 3 (T - f) / p = 512. With f = 7 p, T = 154.29 p: 70.1 samples for rank 0, 147.3 for the others. */
TEST(a_core_of_half_the_speed_gets_half)
{
    static const double p = 14e-5, f = 7 * 14e-5;
    const double fixed[] = { 2 * f, f, f, f }, slowdown[] = { 2 * p, p, p, p };
    int shares[RANKS];
    predict_shares(fixed, slowdown, RANKS, 512, 1, shares);
    assert_int_equal(sum_of(shares, RANKS), 512);
    assert_between(shares[0], 70, 71);
    for (int r = 1; r < RANKS; r++)
        assert_between(shares[r], 147, 148);
}

/* Stall rank 0 by 40 ms, the time of 286 samples at 0.14 ms. It finishes last even without work, so it gets one sample. */
TEST(a_constant_stall_is_clamped_at_one_sample)
{
    static const double fixed[] = { 0.045, 0.005, 0.005, 0.005 }, slowdown[] = { 14e-5, 14e-5, 14e-5, 14e-5 };
    int shares[RANKS];
    predict_shares(fixed, slowdown, RANKS, 512, 1, shares);
    assert_int_equal(shares[0], 1);
    for (int r = 1; r < RANKS; r++)
        assert_between(shares[r], 170, 171);
    assert_int_equal(sum_of(shares, RANKS), 512);
}

TEST(fewer_samples_than_ranks_is_one_each)
{
    static const double fixed[] = { 0.04, 0, 0.001, 0 }, slowdown[] = { 14e-5, 14e-5, 28e-5, 14e-5 };
    for (int total = 1; total <= RANKS; total++) {
        int shares[RANKS];
        predict_shares(fixed, slowdown, RANKS, total, 1, shares);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(shares[r], 1);
    }
}

static double last_end(const double *fixed, const double *slowdown, const int *shares)
{
    double last = 0;
    for (int r = 0; r < 3; r++)
        last = fmax(last, fixed[r] + slowdown[r] * shares[r]);
    return last;
}

/* Return the smaller value. With fmin(), GCC 12 for 64-bit Arm fails to vectorize the loop (internal compiler error). */
static double earlier(double a, double b)
{
    return b < a ? b : a;
}

/* Compare with every distribution of `total` samples among three ranks. */
static void assert_earliest(const double *fixed, const double *slowdown, int total)
{
    double earliest = INFINITY;
    for (int a = 1; a <= total - 2; a++)
        for (int b = 1; b <= total - a - 1; b++)
            earliest = earlier(earliest, last_end(fixed, slowdown, (int[]){ a, b, total - a - b }));
    int shares[3];
    predict_shares(fixed, slowdown, 3, total, 1, shares);
    assert_int_equal(sum_of(shares, 3), total);
    for (int r = 0; r < 3; r++)
        assert_true(shares[r] >= 1);
    assert_near(last_end(fixed, slowdown, shares), earliest, 1e-12);
}

TEST(no_other_deal_ends_earlier)
{
    static const double loads[][2][3] = {
        { { 0, 0, 0 }, { 1, 1, 1 } },       { { 5, 0, 0 }, { 1, 1, 1 } },      { { 0, 0, 0 }, { 3, 1, 2 } },
        { { 90, 1, 1 }, { 1, 1, 1 } },      { { 10, 1, 4 }, { 0.5, 3, 1.5 } }, { { 2, 1, 1 }, { 2, 1, 1 } },
        { { 0.3, 7, 2 }, { 0.7, 0.1, 9 } },
    };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        for (int total = 3; total <= 40; total++)
            assert_earliest(loads[i][0], loads[i][1], total);
}

/* --- the step --------------------------------------------------------------------------------------------------- */

/* Fill in four equal ranks: 1 to fetch, 20 to compute, 2 on the host. Seconds, but any unit would do. */
static void fill_loads(struct load *loads)
{
    for (int r = 0; r < RANKS; r++)
        loads[r] = (struct load){ .data = 1, .local = 20, .host = 2, .cpu = 23 };
}

static void assert_terms(const struct prediction *p, double data, double local, double host, double wait,
                         double transfer)
{
    assert_near(p->data, data, 1e-12);
    assert_near(p->local, local, 1e-12);
    assert_near(p->host, host, 1e-12);
    assert_near(p->wait, wait, 1e-12);
    assert_near(p->transfer, transfer, 1e-12);
    assert_near(prediction_step(p), data + local + host + wait + transfer, 1e-12);
}

static const struct card *of_cores(int cores)
{
    static struct card card;
    card = (struct card){ .ranks = RANKS, .cores = cores };
    return &card;
}

TEST(ranks_alike_do_not_wait)
{
    struct load loads[RANKS];
    fill_loads(loads);
    struct prediction p = predict_step(of_cores(RANKS), loads, RANKS, 0, 5);
    assert_false(p.is_timeshared);
    assert_terms(&p, 1, 20, 2, 0, 5);
    assert_near(prediction_step(&p), 28, 1e-12);
}

/* Stall rank 1 for 40: the mean of `data` grows by a quarter of 40, the mean wait by three quarters. */
TEST(a_stall_is_waited_for)
{
    struct load loads[RANKS];
    fill_loads(loads);
    loads[1].data += 40;
    struct prediction p = predict_step(of_cores(RANKS), loads, RANKS, 0, 5);
    assert_terms(&p, 11, 20, 2, 30, 5);
    assert_near(prediction_step(&p), 68, 1e-12);
}

TEST(the_slowest_counts_by_the_sum_of_its_terms)
{
    struct load loads[RANKS];
    fill_loads(loads);
    loads[0].data += 8;
    loads[2].local += 12;
    loads[3].host += 4;
    struct prediction p = predict_step(of_cores(RANKS), loads, RANKS, 0, 0);
    assert_terms(&p, 3, 23, 3, 6, 0); /* 35 - 29 */
    assert_near(prediction_step(&p), 35, 1e-12);
}

TEST(spread_is_waited_for_where_no_rank_is_slower)
{
    struct load loads[RANKS];
    fill_loads(loads);
    struct prediction p = predict_step(of_cores(RANKS), loads, RANKS, 3, 5);
    assert_terms(&p, 1, 20, 2, 3, 5);
    loads[1].data += 40; /* 30 above the mean: the spread of 3 is within it */
    p = predict_step(of_cores(RANKS), loads, RANKS, 3, 5);
    assert_terms(&p, 11, 20, 2, 30, 5);
    loads[1].data = 1 + 2; /* 1.5 above the mean: the spread exceeds it */
    p = predict_step(of_cores(RANKS), loads, RANKS, 3, 5);
    assert_terms(&p, 1.5, 20, 2, 3, 5);
}

TEST(one_rank_is_its_own_slowest)
{
    struct prediction p = predict_step(of_cores(1), &(struct load){ .data = 1, .local = 20, .cpu = 21 }, 1, 0, 0);
    assert_false(p.is_timeshared);
    assert_terms(&p, 1, 20, 0, 0, 0);
}

/* Run four ranks on two cores: the step takes 4 x 23 / 2 = 46, and every term is twice as long. */
TEST(on_fewer_cores_the_work_of_all_sets_the_pace)
{
    struct load loads[RANKS];
    fill_loads(loads);
    struct prediction p = predict_step(of_cores(2), loads, RANKS, 0, 5);
    assert_true(p.is_timeshared);
    assert_terms(&p, 2, 40, 4, 0, 5);
}

/* Let rank 0 sleep, which leaves its core to the others. If it sleeps 40, three ranks share two cores and finish at 34.5;
 * then rank 0 has its own core and finishes at 63. If it sleeps 20, each of the others has done 40/3 by then. The remaining
 * 29/3 take until 20 + 58/3 at half speed; by then rank 0 has done 29/3, and it does the remaining 40/3 alone. */
TEST(on_fewer_cores_a_sleep_hides_behind_the_others)
{
    struct load loads[RANKS];
    fill_loads(loads);
    loads[0].data += 40;
    struct prediction p = predict_step(of_cores(2), loads, RANKS, 0, 5);
    assert_near(prediction_step(&p), 63 + 5, 1e-9);
    assert_near(p.data, (41 + 3 * 1.5) / 4, 1e-9);
    assert_near(p.local, (20 + 3 * 30) / 4.0, 1e-9);
    assert_near(p.wait, 3 * (63 - 34.5) / 4, 1e-9);
    loads[0].data -= 20;
    p = predict_step(of_cores(2), loads, RANKS, 0, 5);
    assert_near(prediction_step(&p), 20 + 58 / 3.0 + 40 / 3.0 + 5, 1e-9);
}

/* Give rank 0 20 more of busy work. At half speed the others finish at 46; rank 0 has then done 23 of its 43 and does the
 * rest alone. Perfect sharing would take (4 x 23 + 20) / 2 = 56, but a rank with more work does not get more of a core. */
TEST(on_fewer_cores_busy_work_is_shared_fairly_not_well)
{
    struct load loads[RANKS];
    fill_loads(loads);
    loads[0].data += 20;
    loads[0].cpu += 20;
    struct prediction p = predict_step(of_cores(2), loads, RANKS, 0, 5);
    assert_near(prediction_step(&p), 66 + 5, 1e-9);
}

/* Put 4 of the 23 after the all-reduce, where all ranks are awake: this update takes 8 on two cores. The sleeping rank has
 * the other 19 to do alone. The others finish their 3 x 19 at 28.5, the sleeping rank at 40 + 19. */
TEST(on_fewer_cores_all_update_at_once)
{
    struct load loads[RANKS];
    fill_loads(loads);
    for (int rank = 0; rank < RANKS; rank++)
        loads[rank].update = 4;
    struct prediction p = predict_step(of_cores(2), loads, RANKS, 0, 5);
    assert_terms(&p, 2, 40, 4, 0, 5);
    assert_near(p.update, 8, 1e-9);
    loads[0].data += 40;
    p = predict_step(of_cores(2), loads, RANKS, 0, 5);
    assert_near(prediction_step(&p), 59 + 8 + 5, 1e-9);
    assert_near(p.update, 8, 1e-9);
}

/* Synchronize two ranks every second step on one core. Rank 0 sleeps 10 and works 6, twice; rank 1 works 8, twice. Rank 1
 * runs alone until 10 and has 6 left. They share the core until 22. Then rank 0 sleeps until 32 and works alone until 38.
 * With one sleep of 20, rank 0 would finish at 32. */
TEST(sleeps_come_between_the_steps)
{
    const struct load loads[] = { { .data = 10, .local = 6, .cpu = 6, .laps = 2 },
                                  { .local = 8, .cpu = 8, .laps = 2 } };
    struct prediction p = predict_step(of_cores(1), loads, 2, 0, 5);
    assert_near(prediction_step(&p), 38 / 2.0 + 5, 1e-9);
    assert_near(p.wait, (38 / 2.0 - 22 / 2.0) / 2, 1e-9);
}

/* Let two ranks update in each of two steps before they synchronize: they share the core for the update as for all else, so it takes
 * twice as long. On cores of their own it takes as long as alone. */
TEST(updates_between_sums_are_work_like_other_work)
{
    const struct load load = { .local = 8, .cpu = 8, .update = 2, .laps = 2 };
    struct prediction p = predict_alike(of_cores(1), load, 2, 0, 5);
    assert_near(prediction_step(&p), 16 + 5, 1e-9);
    assert_near(p.local, 16, 1e-9);
    assert_near(p.update, 4, 1e-9);
    p = predict_alike(of_cores(2), load, 2, 0, 5);
    assert_near(p.local, 8, 1e-9);
    assert_near(p.update, 2, 1e-9);
}

/* Set a parallel capacity of 2.5 ranks: four ranks take 1.6 times as long, two ranks are not slowed down. */
TEST(memory_feeds_a_fraction)
{
    struct load loads[RANKS];
    fill_loads(loads);
    struct card card = { .ranks = RANKS, .cores = 12 };
    for (int rank = 0; rank < RANKS; rank++)
        card.place[rank].parallel_capacity = 2.5f;
    struct prediction p = predict_step(&card, loads, RANKS, 0, 5);
    assert_terms(&p, 1.6, 32, 3.2, 0, 5);
    p = predict_step(&card, loads, 2, 0, 5);
    assert_terms(&p, 1, 20, 2, 0, 5);
}

/* Slow down one host by a quarter: 23 become 28.75, and the other three ranks wait. Sleep times stay the same. */
TEST(a_slow_host_is_waited_for)
{
    struct load loads[RANKS];
    fill_loads(loads);
    struct card card = { .ranks = RANKS, .cores = RANKS, .place = { [2] = { .slowdown = 1.25f } } };
    struct prediction p = predict_step(&card, loads, RANKS, 0, 5);
    assert_near(prediction_step(&p), 28.75 + 5, 1e-9);
    assert_near(p.local, (3 * 20 + 25) / 4.0, 1e-9);
    loads[2].data += 40;
    p = predict_step(&card, loads, RANKS, 0, 5);
    assert_near(prediction_step(&p), 68.75 + 5, 1e-9);
}

/* Use two hosts with a parallel capacity of 1.5 each: three ranks on the first take 2 x 23, one rank on the second 23. */
TEST(each_host_feeds_its_own)
{
    struct load loads[RANKS];
    fill_loads(loads);
    struct card card = { .ranks = RANKS, .cores = RANKS, .place = { [3] = { .host = 1 } } };
    for (int rank = 0; rank < RANKS; rank++)
        card.place[rank].parallel_capacity = 1.5f;
    struct prediction p = predict_step(&card, loads, RANKS, 0, 5);
    assert_near(prediction_step(&p), 46 + 5, 1e-9);
    assert_near(p.local, (3 * 40 + 20) / 4.0, 1e-9);
    assert_near(p.wait, 23 / 4.0, 1e-9);
}

/* Compare with tables of order statistics: 0.5642 for two, 1.0294 for four, 2.0697 for 32, about 2.82 for 256. */
TEST(the_largest_of_normals)
{
    assert_near(stats_normal_most(1), 0, 1e-9);
    assert_near(stats_normal_most(2), 1 / sqrt(M_PI), 1e-6);
    assert_near(stats_normal_most(4), 1.02937537300396, 1e-6);
    assert_near(stats_normal_most(32), 2.06966, 1e-4);
    assert_near(stats_normal_most(256), 2.8269, 1e-3);
}

/* Check shares in multiples of four: the slow rank's 73 of 512 samples become 72, and leftovers go out in fours too. A
 * share clamped at one sample stays one. */
TEST(shares_come_in_grains)
{
    int shares[RANKS], total = 0;
    predict_shares((double[]){ 2, 1, 1, 1 }, (double[]){ 0.2, 0.1, 0.1, 0.1 }, RANKS, 512, 4, shares);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(shares[rank] % 4, 0);
        total += shares[rank];
    }
    assert_int_equal(total, 512);
    assert_true(shares[0] >= 68 && shares[0] <= 72);
    predict_shares((double[]){ 41, 1, 1, 1 }, (double[]){ 0.1, 0.1, 0.1, 0.1 }, RANKS, 512, 4, shares);
    assert_int_equal(shares[0] + shares[1] + shares[2] + shares[3], 512);
    assert_true(shares[0] >= 1 && shares[0] <= 40);
    predict_shares((double[]){ 100, 1, 1, 1 }, (double[]){ 0.1, 0.1, 0.1, 0.1 }, RANKS, 512, 4, shares);
    assert_int_equal(shares[0], 1);
    assert_int_equal(shares[0] + shares[1] + shares[2] + shares[3], 512);
}
