/* test_bound_by.c: test the shares of a step and the term that bounds it: by hand, and on thousands of simulated runs with known
 * mixtures on a noisy machine. Intervals must cover, a wrong name must be rare, and a clear cause must get its name. */
#include "analysis/bound_by.h"
#include "base/random.h"
#include "support/near.h"
#include "support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void assert_sentence(const struct bound_by *b, const char *expected)
{
    char *text = bound_by_sentence(b);
    assert_string_equal(text, expected);
    free(text);
}

static const char *const names[] = { "data", "launch", "memory", "compute", "wait" };

TEST(shares_have_means_and_intervals)
{
    const double x[] = { 0.62, 0.20, 0.60, 0.24, 0.61, 0.22, 0.61, 0.22 };
    const struct bound_by b = bound_by_shares(names, x, 4, 2);
    assert_near(b.share[0].value, 0.61, 1e-12);
    /* deviation 0.00816497, over the root of 4, times t(0.975, 3) = 3.182446 */
    assert_near(b.share[0].high - 0.61, 0.0129922, 1e-6);
    assert_near(b.share[0].low, 0.61 - 0.0129922, 1e-6);
    assert_near(b.share[1].value, 0.22, 1e-12);
    assert_near(b.share[1].high - 0.22, 0.0259845, 1e-6);
    assert_near(b.rest.value, 0.17, 1e-12);
    assert_near(b.rest.high, 0.17 + 0.0129922, 1e-6); /* sums 0.82, 0.84, 0.83, 0.83 */
    assert_near(b.lead.value, 0.39, 1e-12);
    assert_int_equal(b.reason, BOUND_NAMED);
    assert_string_equal(bound_by_name(&b), "data");
    assert_sentence(&b, "data 61 % ± 1, launch 22 % ± 3, rest 17 %: bound by data");
}

TEST(a_lead_within_the_noise_has_no_name)
{
    const double x[] = { 0.40, 0.35, 0.30, 0.42, 0.44, 0.30, 0.38, 0.33 };
    const struct bound_by b = bound_by_shares(names, x, 4, 2);
    assert_int_equal(b.reason, BOUND_NEAR);
    assert_int_equal(b.first, 0);
    assert_int_equal(b.second, 1);
    assert_string_equal(bound_by_name(&b), "undetermined");
    assert_sentence(
        &b, "data 38 % ± 9, launch 35 % ± 8, rest 27 %: undetermined, as the lead of data over launch is 3 % ± 17");
}

/* t(0.99, 3) = 4.5407 for one rival; lead 0.10 with a deviation of 0.04 x root of 4 / t is 1.01 or 0.99 times that. */
TEST(the_limit_is_student_s)
{
    for (int i = 0; i < 2; i++) {
        const double deviation = 0.10 * 2 / 4.540703 * (i ? 1.01 : 0.99) * sqrt(3. / 4);
        const double x[] = { 0.5 + deviation, 0.4, 0.5 - deviation, 0.4, 0.5 + deviation, 0.4, 0.5 - deviation, 0.4 };
        const struct bound_by b = bound_by_shares(names, x, 4, 2);
        assert_int_equal(b.reason, i ? BOUND_NEAR : BOUND_NAMED);
    }
}

TEST(without_noise_the_largest_is_named)
{
    const double ahead[] = { 0.2, 0.5, 0.3, 0.2, 0.5, 0.3 }, even[] = { 0.2, 0.4, 0.4, 0.2, 0.4, 0.4 };
    const struct bound_by b = bound_by_shares(names, ahead, 2, 3), level = bound_by_shares(names, even, 2, 3);
    assert_sentence(&b, "launch 50 % ± 0, memory 30 % ± 0, data 20 % ± 0: bound by launch");
    assert_int_equal(level.reason, BOUND_NEAR);
    const struct bound_by alone = bound_by_shares(names, ahead, 1, 3);
    assert_int_equal(alone.reason, BOUND_TOO_SHORT);
    assert_sentence(&alone, "launch 50 %, memory 30 %, data 20 %: undetermined, as a single round shows no noise");
}

TEST(a_small_share_is_not_named)
{
    const double x[] = { 0.09, -0.01, 0.09, -0.01 };
    const struct bound_by b = bound_by_shares(names, x, 2, 2);
    assert_near(b.share[1].value, 0, 0);
    assert_near(b.rest.value, 0.91, 1e-12); /* the printed shares sum to 1 */
    assert_near(b.rest.low, 0.92, 1e-12);
    assert_sentence(&b,
                    "data 9 % ± 0, rest 91 %: undetermined, as no change alone shortens the step by 10 % for certain");
}

/* 0.8 + 0.7 claim half of the step twice: either term may be as small as 0.3 or 0.2. */
TEST(time_claimed_twice_decides_nothing)
{
    const double x[] = { 0.8, 0.7, 0.8, 0.7 };
    const struct bound_by b = bound_by_shares(names, x, 2, 2);
    assert_near(b.excess, 0.5, 1e-12);
    assert_near(b.share[0].value, 0.8 / 1.5, 1e-12);
    assert_near(b.share[1].value, 0.7 / 1.5, 1e-12);
    assert_near(b.rest.value, 0, 1e-12);
    assert_near(b.share[0].low, 0.3, 1e-12);
    assert_near(b.share[0].high, 0.8, 1e-12);
    assert_int_equal(b.reason, BOUND_OVERLAP);
    assert_sentence(&b, "data 53 % ± 27, launch 47 % ± 27: undetermined, as two terms claim the same 50 % of the step");
    const double little[] = { 0.8, 0.3, 0.8, 0.3 }; /* the doubtful tenth cannot turn a lead of a half */
    const struct bound_by clear = bound_by_shares(names, little, 2, 2);
    assert_int_equal(clear.reason, BOUND_NAMED);
    assert_near(clear.lead.value, 0.4, 1e-12);
}

/* A loader beside the step: 12 ms for a batch, 8 ms for the step (6 of memory traffic, 2 of launches). */
TEST(a_change_is_compared_with_its_own_step)
{
    const double step[] = { 12, 12 }, in_memory[] = { 8, 8 }, no_launch[] = { 6, 6 }, half_bytes[] = { 5, 5 };
    const struct change changes[] = { { "data", 1, step, in_memory },
                                      { "launch", 1, in_memory, no_launch },
                                      { "memory", 2, in_memory, half_bytes } };
    const char *name[3];
    const struct bound_by b = bound_by_changes(changes, 3, step, 2, name);
    assert_near(b.share[0].value, 4. / 12, 1e-12);
    assert_near(b.share[1].value, 2. / 12, 1e-12);
    assert_near(b.share[2].value, 6. / 12, 1e-12);
    assert_near(b.rest.value, 0, 1e-12);
    /* Beside the loader the other changes gain nothing: 8 ms hide behind it. */
    const struct change beside[] = { { "data", 1, step, in_memory },
                                     { "launch", 1, step, step },
                                     { "memory", 2, step, step } };
    const struct bound_by hidden = bound_by_changes(beside, 3, step, 2, name);
    assert_near(hidden.rest.value, 8. / 12, 1e-12);
    assert_string_equal(bound_by_name(&hidden), "data");
}

/* --- a noisy machine --------------------------------------------------------------------------------------------- */

enum { TERMS = 5, ROUNDS_MOST = 16 };

/* Whole rounds drift by 8 %. A block's step varies by `noise`, and one in thirty is hit by a burst of up to 15 %. */
struct machine {
    struct random random;
    double noise;
};

static double measure(struct machine *m, double seconds, double drift)
{
    double burst = random_unit(&m->random) < 1. / 30 ? 0.15 * random_unit(&m->random) : 0;
    return seconds * drift * (1 + burst) * exp(m->noise * random_normal(&m->random));
}

/* A job by its terms, in shares of its step; what it does beside them is the rest. term[0] is the time that a step waits for its data,
 * which a loader fetches beside the step. So the other changes are compared with the step whose batch is in memory. */
struct job {
    double term[TERMS];
};

static const double factors[TERMS] = { 1, 1, 2, 2, 1 };

static struct bound_by run_job(struct machine *m, const struct job *job, int rounds)
{
    static const char *name[TERMS];
    static double step[ROUNDS_MOST], in_memory[ROUNDS_MOST], after[TERMS][ROUNDS_MOST];
    for (int r = 0; r < rounds; r++) {
        const double drift = exp(0.08 * random_normal(&m->random));
        step[r] = measure(m, 1, drift);
        in_memory[r] = after[0][r] = measure(m, 1 - job->term[0], drift);
        for (int k = 1; k < TERMS; k++)
            after[k][r] = measure(m, 1 - job->term[0] - job->term[k] / factors[k], drift);
    }
    struct change changes[TERMS];
    for (int k = 0; k < TERMS; k++)
        changes[k] = (struct change){ names[k], factors[k], k == 0 ? step : in_memory, after[k] };
    return bound_by_changes(changes, TERMS, step, rounds, name);
}

/* Draw shares: of all, `clear` goes to one cause in addition to what the others draw. */
static struct job draw_job(struct machine *m, double clear)
{
    struct job job = { 0 };
    double sum = 0, part[TERMS + 1];
    for (int k = 0; k <= TERMS; k++)
        sum += part[k] = -log(1 - random_unit(&m->random)) * (random_unit(&m->random) < 0.5);
    const int cause = (int)random_below(&m->random, TERMS);
    for (int k = 0; k < TERMS; k++)
        job.term[k] = (sum > 0 ? (1 - clear) * part[k] / sum : 0) + (k == cause ? clear : 0);
    return job;
}

static int largest_of(const struct job *job, double *lead)
{
    int first = 0;
    for (int k = 1; k < TERMS; k++)
        first = job->term[k] > job->term[first] ? k : first;
    double second = 0;
    for (int k = 0; k < TERMS; k++)
        second = k == first ? second : fmax(second, job->term[k]);
    *lead = job->term[first] - second;
    return first;
}

struct count {
    int named, wrong;
    int clear, clear_named; /* the first term leads by more than 40 % of the step */
    int near;               /* shares within a tenth of the step */
    int shares, covered;    /* of terms that exist */
};

static void count_run(struct count *c, struct machine *m, const struct job *job, int rounds)
{
    double lead;
    const int truth = largest_of(job, &lead);
    const struct bound_by b = run_job(m, job, rounds);
    const bool is_named = b.reason == BOUND_NAMED, is_right = b.first == truth && lead > 0;
    c->named += is_named;
    c->wrong += is_named && !is_right;
    c->clear += lead > 0.4;
    c->clear_named += lead > 0.4 && is_named && is_right;
    double sum = b.rest.value;
    for (int k = 0; k < TERMS; k++) {
        sum += b.share[k].value;
        if (job->term[k] <= 0)
            continue;
        c->shares++;
        c->near += fabs(b.share[k].value - job->term[k]) <= 0.1;
        c->covered += b.share[k].low <= job->term[k] && job->term[k] <= b.share[k].high;
    }
    assert_near(sum, 1, 1e-12);
}

static double percent(int part, int whole)
{
    return 100.0 * part / whole;
}

TEST(names_are_right_and_intervals_cover)
{
    enum { RUNS = 1000 };
    static const double noises[] = { 0.01, 0.03, 0.06 };
    static const int rounds[] = { 4, 6, 8, 16 };
    for (int i = 0; i < 12; i++) {
        struct machine m = { .noise = noises[i % 3] };
        struct count c = { 0 };
        random_seed(&m.random, (uint64_t)(2026 + i));
        for (int run = 0; run < RUNS; run++) {
            const struct job job = draw_job(&m, random_unit(&m.random) < 0.5 ? 0 : random_unit(&m.random) * 0.6);
            count_run(&c, &m, &job, rounds[i / 3]);
        }
        print_message(
            "noise %.0f %%, %2d rounds: %.1f %% named, %d of %d wrong; %.1f %% of leads above 40 %% named; intervals "
            "cover %.1f %%, %.1f %% of shares are within 10 points\n",
            100 * m.noise, rounds[i / 3], percent(c.named, RUNS), c.wrong, RUNS, percent(c.clear_named, c.clear),
            percent(c.covered, c.shares), percent(c.near, c.shares));
        assert_true(c.wrong <= 0.01 * RUNS);
        assert_true(c.covered >= 0.935 * c.shares);
        assert_true(rounds[i / 3] < 6 || m.noise > 0.03 || c.clear_named >= 0.95 * c.clear);
        assert_true(rounds[i / 3] < 8 || m.noise > 0.03 || c.near >= 0.95 * c.shares);
    }
}

/* The worst case for wrong names: two equal terms, of which one name or the other counts as wrong: twice 1 %. More equal terms must
 * beat each other. */
TEST(equal_terms_are_seldom_named)
{
    enum { RUNS = 4000 };
    for (int terms = 2; terms <= TERMS; terms += 3) {
        struct machine m = { .noise = 0.03 };
        struct count c = { 0 };
        random_seed(&m.random, (uint64_t)terms);
        struct job job = { 0 };
        for (int k = 0; k < terms; k++)
            job.term[k] = 0.9 / terms;
        for (int run = 0; run < RUNS; run++)
            count_run(&c, &m, &job, 8);
        print_message("%d equal terms: %d of %d named\n", terms, c.wrong, RUNS);
        assert_true(c.wrong <= (terms == 2 ? 0.025 : 0.01) * RUNS);
    }
}
