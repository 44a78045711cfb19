/* test_verdict.c: test the verdicts on claims about time by hand calculations, and by simulating runs on a noisy machine: right
 * formulas must not become red, wrong ones must. */
#include "base/random.h"
#include "base/stats.h"
#include "claims/verdict.h"
#include "support/near.h"
#include "support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- evidence ---------------------------------------------------------------------------------------------------- */

TEST(a_ratio_is_compared_by_its_logarithm)
{
    struct evidence e = evidence_of(NEAR, 0.1, (double[]){ 11, 9 }, (double[]){ 10, 10 }, 2, 11);
    assert_true(e.is_log && !e.is_one_sided);
    assert_near(e.mean, (log(1.1) + log(0.9)) / 2, 1e-15);
    assert_near(e.variance, pow(log(1.1) - log(0.9), 2) / 2, 1e-15);
    assert_near(e.margin, 0.0953101798, 1e-10); /* ln 1.1, on both sides: down to 1 / 1.1 */
    assert_near(e.mean_quantity, 10, 1e-15);
    assert_near(evidence_of(NEAR, 0.1, (double[]){ 3 }, (double[]){ 4 }, 1, 4).mean, log(0.75), 1e-15);
}

TEST(an_effect_is_compared_in_milliseconds)
{
    struct evidence e = evidence_of(EXTRA, 0.2, (double[]){ 44, 36, 43 }, (double[]){ 40, 41, 39 }, 3, 100);
    assert_true(!e.is_log && !e.is_one_sided);
    assert_near(e.mean, 1, 1e-12); /* 4, -5, 4 */
    assert_near(e.variance, 27, 1e-12);
    assert_near(e.margin, 8, 1e-12);     /* 0.2 x 40 */
    assert_near(e.rounding, 1e-4, 1e-9); /* six digits of 100 ms */
    e = evidence_of(EXTRA, 0.2, (double[]){ -3, -3 }, (double[]){ -4, -6 }, 2, 100);
    assert_near(e.margin, 1, 1e-12); /* also of a gain */
}

TEST(one_side_has_no_margin)
{
    static const enum relation relations[] = { LESS, AT_MOST, MORE, AT_LEAST };
    for (int i = 0; i < 4; i++) {
        struct evidence e = evidence_of(relations[i], 0, (double[]){ 8, 8 }, (double[]){ 10, 10 }, 2, 10);
        assert_true(e.is_log && e.is_one_sided && e.is_strict == (i % 2 == 0));
        assert_near(e.margin, 0, 0);
        assert_near(e.mean, i < 2 ? log(0.8) : -log(0.8), 1e-15); /* negative: as claimed */
    }
}

TEST(values_without_logarithm_are_subtracted)
{
    struct evidence e = evidence_of(LESS, 0, (double[]){ -1, 2 }, (double[]){ 3, 3 }, 2, 20);
    assert_true(!e.is_log && e.is_one_sided);
    assert_near(e.mean, -2.5, 1e-12);
    e = evidence_of(NEAR, 0.1, (double[]){ -1, 2 }, (double[]){ 3, 5 }, 2, 20);
    assert_true(!e.is_log && !e.is_one_sided);
    assert_near(e.margin, 0.4, 1e-12);
    e = evidence_of(NEAR, 0.1, (double[]){ 0, 0 }, (double[]){ 0, 0 }, 2, 0); /* nothing to compare */
    assert_near(e.mean, 0, 0);
    assert_near(e.variance, 0, 0);
}

/* --- noise ------------------------------------------------------------------------------------------------------- */

static struct evidence evidence(int rounds, double mean, double deviation)
{
    return (struct evidence){ .rounds = rounds,
                              .mean = mean,
                              .variance = rounds > 1 ? deviation * deviation : (double)NAN,
                              .margin = log(1.1),
                              .rounding = 1e-6,
                              .sign = 1,
                              .is_log = true };
}

static struct noise noise_among(const struct evidence *e, int count)
{
    const struct evidence *all[8];
    struct noise noise[8];
    for (int i = 0; i < count; i++)
        all[i] = &e[i];
    verdict_noise(noise, all, count);
    return noise[0];
}

/* Smyth's estimate (2004, section 6.2), computed by hand. Three other claims of four rounds each: ln(chi²_3 / 3) has the mean
 * digamma(1.5) - ln(1.5) = 0.0364899740 - 0.4054651081 and the variance trigamma(1.5) = 0.9348022005. */
TEST(noise_is_estimated_from_the_others_of_the_pool)
{
    const double bias = 0.0364899740 - 0.4054651081;
    struct evidence e[7] = { evidence(3, 0, 9),   evidence(4, 0, 0.1), evidence(4, 0, 0.1), evidence(4, 0, 0.4),
                             evidence(1, 0, 0.2), evidence(9, 0, 5),   evidence(9, 0, 5) };
    e[5].pool = 1;
    e[6].is_log = false;
    /* ln s² of three: -4.60517, -4.60517, -1.832581; mean -3.680974, variance 2.562427. Less 0.9348022 leaves 1.627625, nearest above
     * it trigamma(2 / 2) = 1.644934: two degrees of freedom, digamma(1) - ln(1) = -0.5772157. */
    struct noise noise = noise_among(e, 7);
    assert_int_equal(noise.freedom, 2);
    assert_near(log(noise.variance), -3.6809737 - bias - 0.5772157, 1e-6);
    /* ln s² varies by 18.1: more than trigamma(1 / 2) = 4.9348, so one degree; digamma(1 / 2) = -1.9635100. */
    e[3] = evidence(4, 0, 4);
    noise = noise_among(e, 7);
    assert_int_equal(noise.freedom, 1);
    assert_near(log(noise.variance), (2 * log(0.01) + log(16)) / 3 - bias - 1.9635100 + 0.6931472, 1e-6);
    e[3] = evidence(4, 0, 0.1); /* all alike: eight, and nothing to correct */
    noise = noise_among(e, 7);
    assert_int_equal(noise.freedom, 8);
    assert_near(log(noise.variance), log(0.01) - bias, 1e-6);
}

TEST(noise_is_unknown_without_others_and_none_on_modelled_machines)
{
    const struct evidence alone = evidence(3, 0, 9), pair[2] = { alone, evidence(4, 0, 0.1) };
    assert_int_equal(noise_among(&alone, 1).freedom, 0);
    assert_int_equal(noise_among(pair, 2).freedom, 3); /* no more than the others have */
    struct evidence modelled[3] = { evidence(1, 0, 0), evidence(6, 0, 0), evidence(6, 0, 0) };
    assert_near(noise_among(modelled, 3).variance, 0, 0); /* known to be none */
    assert_int_equal(noise_among(modelled, 3).freedom, 8);
    /* The constant claim says nothing about the others; digamma(2.5) - ln(2.5) = -0.2131341. */
    modelled[1] = evidence(6, 0, 0.1);
    assert_near(log(noise_among(modelled, 3).variance), log(0.01) + 0.2131341, 1e-6);
}

/* --- verdicts ---------------------------------------------------------------------------------------------------- */

static enum verdict judge(struct evidence e, struct noise noise, int tests)
{
    struct quantiles quantiles = { .tests = tests };
    struct distance distance;
    return verdict_of(&e, noise, &quantiles, &distance);
}

/* R = 6, s = 0.04, others 0.02 with 8 degrees of freedom: s^2 = (8 x 0.0004 + 5 x 0.0016) / 13, so SE = 0.0119829 with 13 degrees.
 * t(0.95) = 1.770933; with 100 tests, t(1 - 0.00002) = 6.086: from 0.0953102 - 0.0212211 and 0.0953102 + 0.072929. */
TEST(verdicts_change_where_computed_by_hand)
{
    const struct noise noise = { .variance = 0.0004, .freedom = 8 };
    const double error = sqrt((8 * 0.0004 + 5 * 0.0016) / 13 / 6);
    const double green = log(1.1) - 1.770933 * error,
                 red = log(1.1) + stats_student_quantile(0.01 / 5 / 100, 13) * error;
    assert_near(error, 0.0119829, 1e-7);
    for (int sign = -1; sign <= 1; sign += 2) {
        assert_int_equal(judge(evidence(6, sign * (green - 1e-6), 0.04), noise, 100), AS_PREDICTED);
        assert_int_equal(judge(evidence(6, sign * (green + 1e-6), 0.04), noise, 100), TOO_NOISY);
        assert_int_equal(judge(evidence(6, sign * (red - 1e-6), 0.04), noise, 100), TOO_NOISY);
        assert_int_equal(judge(evidence(6, sign * (red + 3e-6), 0.04), noise, 100), WRONG);
        assert_int_equal(judge(evidence(6, sign * (red + 3e-6), 0.04), noise, 200),
                         TOO_NOISY); /* more tests, more chances */
    }
    struct evidence one_sided = evidence(6, -0.0213, 0.04); /* 1.770933 x 0.0119829 = 0.0212209 */
    one_sided.margin = 0;
    one_sided.is_one_sided = true;
    assert_int_equal(judge(one_sided, noise, 100), AS_PREDICTED);
    one_sided.mean = -0.0212;
    assert_int_equal(judge(one_sided, noise, 100), TOO_NOISY);
    one_sided.mean = red - log(1.1) + 3e-6;
    assert_int_equal(judge(one_sided, noise, 100), WRONG);
    one_sided.mean = -1; /* far on the claimed side */
    assert_int_equal(judge(one_sided, noise, 100), AS_PREDICTED);
}

TEST(a_single_round_has_the_noise_of_others_or_none)
{
    const struct noise noise = { .variance = 0.0001, .freedom = 8 }, unknown = { 0, 0 };
    assert_int_equal(judge(evidence(1, 0.01, 0), noise, 1), AS_PREDICTED); /* 0.01 + 1.86 x 0.01 */
    assert_int_equal(judge(evidence(1, 9, 0), noise, 1), TOO_NOISY);       /* it may be noisier than the others */
    assert_int_equal(judge(evidence(2, 9, 0.01), noise, 1), TOO_NOISY);
    assert_int_equal(judge(evidence(3, 9, 0.01), noise, 1), WRONG);
    assert_int_equal(judge(evidence(1, 0, 0), unknown, 1), TOO_NOISY);
    assert_int_equal(judge(evidence(1, 9, 0), unknown, 1), TOO_NOISY);
    assert_int_equal(judge(evidence(1, 0.09, 0), (struct noise){ .variance = 0, .freedom = 8 }, 1), AS_PREDICTED);
}

TEST(without_noise_the_margin_decides)
{
    const struct noise noise = { .variance = 0.01, .freedom = 8 };
    struct evidence e = evidence(6, log(1.1) + 1e-7, 0); /* rounded digits are no error */
    assert_int_equal(judge(e, noise, 1), AS_PREDICTED);
    e.mean = -log(1.1) - 1e-5;
    assert_int_equal(judge(e, noise, 1), WRONG);
    e.is_one_sided = true;
    e.margin = 0;
    static const struct {
        double mean;
        enum verdict at_most, less;
    } table[] = { { -1e-9, AS_PREDICTED, AS_PREDICTED },
                  { 0, AS_PREDICTED, WRONG },
                  { 1e-9, AS_PREDICTED, TOO_NOISY },
                  { 1e-5, WRONG, WRONG } };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        e.mean = table[i].mean;
        e.is_strict = false;
        assert_int_equal(judge(e, noise, 1), table[i].at_most);
        e.is_strict = true;
        assert_int_equal(judge(e, noise, 1), table[i].less);
    }
}

TEST(distances_are_those_of_the_quantity)
{
    struct quantiles quantiles = { .tests = 1 };
    struct distance d;
    const struct noise noise = { .variance = 0.0004, .freedom = 8 };
    struct evidence e = evidence_of(MORE, 0, (double[]){ 8, 8.1 }, (double[]){ 10, 10 }, 2, 10);
    verdict_of(&e, noise, &quantiles, &d);
    assert_true(d.is_percent);
    assert_near(d.off, 100 * (sqrt(0.8 * 0.81) - 1), 1e-9); /* smaller: negative, whatever the claim */
    assert_true(d.plus_minus > 0.5 && d.plus_minus < 3);
    e = evidence_of(EXTRA, 0.2, (double[]){ 42, 46 }, (double[]){ 40, 40 }, 2, 100);
    verdict_of(&e, (struct noise){ .variance = 4, .freedom = 8 }, &quantiles, &d);
    assert_true(d.is_percent);
    assert_near(d.off, 10, 1e-9);
    assert_near(d.plus_minus, 100 * 1.833113 * sqrt((8 * 4 + 8) / 9.0 / 2) / 40, 1e-4);
    e = evidence_of(LESS, 0, (double[]){ -1, -3 }, (double[]){ 3, 3 }, 2, 100);
    verdict_of(&e, noise, &quantiles, &d);
    assert_true(!d.is_percent);
    assert_near(d.off, -5, 1e-9);
}

/* A claim is decided after verdict_more_rounds() further rounds of the same mean and deviation, and not one earlier. */
TEST(further_rounds_are_as_many_as_decide)
{
    struct quantiles quantiles = { .tests = 150 };
    for (double mean = 0; mean < 0.4; mean += 0.0137) {
        const struct noise noise = { .variance = 0.01, .freedom = 8 };
        struct evidence e = evidence(6, mean, 0.1);
        if (judge(e, noise, 150) != TOO_NOISY)
            continue;
        int more = verdict_more_rounds(&e, noise, &quantiles);
        e.rounds += more - 1;
        assert_int_equal(judge(e, noise, 150), TOO_NOISY);
        e.rounds++;
        assert_true(more > VERDICT_ROUNDS_MOST || judge(e, noise, 150) != TOO_NOISY);
    }
    struct evidence e = evidence(6, log(1.1), 0.1); /* exactly on the margin: never */
    assert_int_equal(verdict_more_rounds(&e, (struct noise){ 0.01, 8 }, &quantiles), VERDICT_ROUNDS_MOST + 1);
    e = evidence(1, 0, 0);
    assert_true(verdict_more_rounds(&e, (struct noise){ 0, 0 }, &quantiles) > 0);
}

/* Return the number of runs, of 2000 with `rounds` rounds each, in which a value that is off by `factor` makes the claim wrong. */
static int count_wrong(int rounds, double mean, double deviation, double factor)
{
    enum { RUNS_OF_ONE = 2000 };
    const struct noise noise = { .variance = deviation * deviation, .freedom = 8 };
    struct random random;
    int wrong = 0;
    random_seed(&random, 2026);
    for (int run = 0; run < RUNS_OF_ONE; run++) {
        double q[VERDICT_ROUNDS_MOST], v[VERDICT_ROUNDS_MOST];
        for (int r = 0; r < rounds; r++) {
            q[r] = 10 * exp(mean + deviation * random_normal(&random));
            v[r] = 10 * factor;
        }
        const struct evidence e = evidence_of(NEAR, 0.1, q, v, rounds, 10);
        wrong += judge(e, noise, 150) == WRONG;
    }
    return wrong;
}

/* After verdict_rounds_to_notice() further rounds 19 of 20 runs notice a value that is off by a fifth; with a third fewer rounds, fewer
 * do. The mean lies above the value, so a value that is too large is harder to notice. */
TEST(rounds_that_notice_a_fifth)
{
    struct quantiles quantiles = { .tests = 150 };
    for (double deviation = 0.02; deviation < 0.07; deviation += 0.02) {
        const struct noise noise = { .variance = deviation * deviation, .freedom = 8 };
        const struct evidence e = evidence(3, 0.01, deviation);
        const int rounds = 3 + verdict_rounds_to_notice(&e, noise, &quantiles);
        assert_in_range(count_wrong(rounds, 0.01, deviation, VERDICT_NOTICED), 1870,
                        2000); /* 1900 and three deviations */
        assert_in_range(count_wrong(rounds, 0.01, deviation, 1 / VERDICT_NOTICED), 1900, 2000);
        assert_true(rounds == 3 || count_wrong(2 * rounds / 3, 0.01, deviation, VERDICT_NOTICED) < 1800);
    }
    struct evidence e = evidence(6, 0.01, 0);
    assert_int_equal(verdict_rounds_to_notice(&e, (struct noise){ 0 }, &quantiles), 0);
    e = evidence(6, 0.09, 0.01); /* so near to the margin that a fifth less is hardly outside */
    assert_int_equal(verdict_rounds_to_notice(&e, (struct noise){ 0.0001, 8 }, &quantiles), VERDICT_ROUNDS_MOST + 1);
}

/* --- simulated runs ---------------------------------------------------------------------------------------------- */

enum {
    RUNS = 10000,
    CLAIMS = 150,
    LABS = 6,
    PER_LAB = CLAIMS / LABS,
    FIRST_ROUNDS = 6,
    PER_LOOK = 2, /* further rounds until the next look */
    LOOKS = 10,
    RED_MOST = 80, /* of RUNS */
};

/* A claim in a run: its truth, and sums over its rounds so far. */
struct simulated_claim {
    double truth, noise;
    double sum, squares;
    struct evidence evidence;
    enum verdict verdict;
};

/* Machine of a lab. Its speed drifts by 8 %. Probes follow four fifths of that, so a fifth is left in predictions. */
struct machine {
    struct random *random;
    struct quantiles *quantiles;
    bool is_quiet; /* no drift, no other programs */
    double drift;
};

static double unexplained_drift(struct machine *machine)
{
    static const double SPREAD = 0.08, KEPT = 0.8, FOLLOWED = 0.8, PROBE_NOISE = 0.01;
    machine->drift = KEPT * machine->drift + SPREAD * sqrt(1 - KEPT * KEPT) * random_normal(machine->random);
    return (1 - FOLLOWED) * machine->drift + PROBE_NOISE * random_normal(machine->random);
}

/* Draw what other programs add to a block's logarithm. In a tenth of the blocks they take 5 to 40 % of the core; such blocks are
 * noticed and repeated, at most twice. Less is not noticed. Return false if the block stays disturbed. */
static bool draw_burst(struct random *random, double *added)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        double draw = random_unit(random);
        *added = draw < 0.15 ? 0.05 * random_unit(random) : 0;
        if (draw > 0.1)
            return true;
    }
    return false;
}

/* Add a round to each claim of a lab. A one-sided claim compares two measured cases, which drift together. */
static void add_round(struct machine *machine, struct simulated_claim *claims)
{
    double common = machine->is_quiet ? 0 : unexplained_drift(machine);
    for (int i = 0; i < PER_LAB; i++) {
        struct simulated_claim *claim = &claims[i];
        double added = 0;
        if (!machine->is_quiet && !draw_burst(machine->random, &added))
            continue;
        double d = claim->truth + added + claim->noise * random_normal(machine->random);
        d += claim->evidence.is_one_sided ? 0 : common;
        claim->evidence.rounds++;
        claim->sum += d;
        claim->squares += d * d;
    }
}

/* Judge the claims of a lab by their rounds so far. Return true if any is undecided. */
static bool look(struct quantiles *quantiles, struct simulated_claim *claims)
{
    const struct evidence *all[PER_LAB];
    struct noise noise[PER_LAB];
    bool is_open = false;
    for (int i = 0; i < PER_LAB; i++) {
        struct evidence *e = &claims[i].evidence;
        e->mean = claims[i].sum / e->rounds;
        e->variance = (claims[i].squares - e->rounds * e->mean * e->mean) / (e->rounds - 1);
        all[i] = e;
    }
    verdict_noise(noise, all, PER_LAB);
    for (int i = 0; i < PER_LAB; i++) {
        struct distance distance;
        claims[i].verdict = verdict_of(all[i], noise[i], quantiles, &distance);
        is_open |= claims[i].verdict == TOO_NOISY;
    }
    return is_open;
}

/* Run a lab until all its claims are decided, or to the last look. Return true if a claim was red at any look. */
static bool run_lab(struct machine machine, struct simulated_claim *claims, int looks, long *rounds)
{
    machine.drift = 0.08 * random_normal(machine.random);
    bool was_red = false, is_open = true;
    for (int n = 0; n < looks && is_open; n++) {
        for (int round = 0; round < (n == 0 ? FIRST_ROUNDS : PER_LOOK); round++, ++*rounds)
            add_round(&machine, claims);
        is_open = look(machine.quantiles, claims);
        for (int i = 0; i < PER_LAB; i++)
            was_red |= claims[i].verdict == WRONG;
    }
    return was_red;
}

static struct simulated_claim simulated_claim(double truth, double noise, bool is_one_sided)
{
    struct simulated_claim claim = { .truth = truth, .noise = noise, .evidence = evidence(0, 0, 0) };
    claim.evidence.is_one_sided = is_one_sided;
    claim.evidence.margin = is_one_sided ? 0 : log(1.1);
    return claim;
}

static double between(struct random *random, double low, double high)
{
    return low + (high - low) * random_unit(random);
}

/* A claim that is right: formulas within 3 %, one-sided claims by up to 30 %. The noise of a round is 2 to 4 %. */
static struct simulated_claim right_claim(struct random *random)
{
    bool is_one_sided = random_unit(random) < 0.2;
    double truth = is_one_sided ? between(random, -0.3, 0) : between(random, -0.03, 0.03);
    return simulated_claim(truth, between(random, 0.02, 0.04), is_one_sided);
}

/* 8 % drift, bursts, looks: right formulas stay free of red, and are found right. */
TEST(right_formulas_are_not_red)
{
    struct random random;
    struct quantiles quantiles = { .tests = CLAIMS };
    const struct machine machine = { .random = &random, .quantiles = &quantiles, .is_quiet = false };
    random_seed(&random, 2026);
    int red = 0;
    long rounds = 0, green = 0;
    for (int run = 0; run < RUNS; run++) {
        bool was_red = false;
        for (int lab = 0; lab < LABS; lab++) {
            struct simulated_claim claims[PER_LAB];
            for (int i = 0; i < PER_LAB; i++)
                claims[i] = right_claim(&random);
            was_red |= run_lab(machine, claims, LOOKS, &rounds);
            for (int i = 0; i < PER_LAB; i++)
                green += claims[i].verdict == AS_PREDICTED;
        }
        red += was_red;
    }
    print_message("right formulas: %d of %d runs with a red, %.1f %% of claims as predicted, %.1f rounds a lab\n", red,
                  RUNS, 100.0 * (double)green / RUNS / CLAIMS, (double)rounds / RUNS / LABS);
    assert_true(red <= RED_MOST);
    assert_true((double)green >= 0.95 * RUNS * CLAIMS);
}

/* The worst case: the truth of each claim lies exactly on its margin, so it is never decided, and every look is a chance. */
TEST(claims_on_their_margin_are_seldom_red)
{
    struct random random;
    struct quantiles quantiles = { .tests = CLAIMS };
    const struct machine machine = { .random = &random, .quantiles = &quantiles, .is_quiet = true };
    random_seed(&random, 2027);
    int red = 0;
    long rounds = 0;
    for (int run = 0; run < RUNS; run++) {
        bool was_red = false;
        for (int lab = 0; lab < LABS; lab++) {
            struct simulated_claim claims[PER_LAB];
            for (int i = 0; i < PER_LAB; i++)
                claims[i] = simulated_claim(i % 2 ? 0 : log(1.1), between(&random, 0.02, 0.04), i % 2);
            was_red |= run_lab(machine, claims, LOOKS, &rounds);
        }
        red += was_red;
    }
    print_message("claims on their margin: %d of %d runs with a red, %.1f rounds a lab\n", red, RUNS,
                  (double)rounds / RUNS / LABS);
    assert_true(red <= RED_MOST);
}

/* Every fifth claim is 13 times as noisy as the others. They make each other neither red nor undecided, after four rounds already. */
TEST(noisy_claims_do_not_hide_the_others)
{
    enum { FEWER_RUNS = 2000, FEW_ROUNDS = 4 };
    struct random random;
    struct quantiles quantiles = { .tests = CLAIMS };
    struct machine machine = { .random = &random, .quantiles = &quantiles, .is_quiet = true };
    random_seed(&random, 2030);
    int red_runs = 0;
    long green[2] = { 0 }, judged[2] = { 0 }; /* of claims on their margin; of right ones */
    for (int run = 0; run < FEWER_RUNS; run++) {
        bool was_red = false;
        for (int lab = 0; lab < LABS; lab++) {
            struct simulated_claim claims[PER_LAB];
            for (int i = 0; i < PER_LAB; i++)
                claims[i] = simulated_claim(i % 2 ? 0.03 : log(1.1), i % 5 == 0 ? 0.2 : 0.015, false);
            for (int round = 0; round < FEW_ROUNDS; round++)
                add_round(&machine, claims);
            look(&quantiles, claims);
            for (int i = 0; i < PER_LAB; i++) {
                was_red |= claims[i].verdict == WRONG;
                green[i % 2] += claims[i].verdict == AS_PREDICTED;
                judged[i % 2]++;
            }
        }
        red_runs += was_red;
    }
    const double false_green = (double)green[0] / (double)judged[0], true_green = (double)green[1] / (double)judged[1];
    print_message("unequal noise: %d of %d runs with a red, %.1f %% on their margin green, %.1f %% of right ones\n",
                  red_runs, FEWER_RUNS, 100 * false_green, 100 * true_green);
    assert_true(red_runs <= 0.01 * FEWER_RUNS);
    assert_true(false_green <= 0.05);
    assert_true(true_green >= 0.75);
}

/* One formula of a lab is wrong by a quarter, on the noisy machine, with up to 20 rounds. */
TEST(formulas_wrong_by_a_quarter_are_red)
{
    enum { FEWER_RUNS = 2000, LOOKS_TO_20 = 8 };
    static const double factors[] = { 1.25, 0.75 };
    struct random random;
    struct quantiles quantiles = { .tests = CLAIMS };
    const struct machine machine = { .random = &random, .quantiles = &quantiles, .is_quiet = false };
    random_seed(&random, 2028);
    for (int f = 0; f < 2; f++) {
        int red = 0, green = 0;
        long rounds = 0;
        for (int n = 0; n < FEWER_RUNS; n++) {
            struct simulated_claim claims[PER_LAB];
            for (int i = 0; i < PER_LAB; i++)
                claims[i] = right_claim(&random);
            claims[0] =
                simulated_claim(log(factors[f]) + between(&random, -0.03, 0.03), between(&random, 0.02, 0.04), false);
            run_lab(machine, claims, LOOKS_TO_20, &rounds);
            red += claims[0].verdict == WRONG;
            green += claims[0].verdict == AS_PREDICTED;
        }
        print_message("times %.2f: %.1f %% red, %.1f %% green, %.1f rounds\n", factors[f], 100.0 * red / FEWER_RUNS,
                      100.0 * green / FEWER_RUNS, (double)rounds / FEWER_RUNS);
        assert_true(red >= 0.95 * FEWER_RUNS);
        assert_true(green <= 0.05 * FEWER_RUNS);
    }
}
