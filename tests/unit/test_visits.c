/* test_visits.c: test which laps of the machine card count, and the errors of the fit to them. */
#include "card/local_fit.h"
#include "card/visits.h"
#include "support/near.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>

enum { RANKS = 2, SHAPES = 2, PLANNED = 5 };

static struct visit *visit_of(struct visits *v, int turn, int rank, int shape)
{
    return &v->at[(turn * RANKS + rank) * SHAPES + shape];
}

/* Add a turn in which laps take `ms` on rank 0 and 2 ms more on rank 1; the last one is 10 % below and above `ms`. */
static void add_turn(struct visits *v, double ms)
{
    for (int rank = 0; rank < RANKS; rank++)
        for (int shape = 0; shape < SHAPES; shape++)
            *visit_of(v, v->turns, rank, shape) = (struct visit){ .mean = { 0.1e-3, 1e-3 * (ms + 2 * rank), 0.5e-3 },
                                                                  .last = 1e-3 * ms * (rank ? 1.1 : 0.9),
                                                                  .took = 0.06,
                                                                  .turn_took = 0.2 };
    v->turns++;
}

static struct local_times times_of_shape(const struct visits *v, int shape)
{
    struct lap_times times = { 0 };
    visits_average(v, &times);
    return times.mean[shape];
}

static double passes_of(const struct visits *v, int shape)
{
    struct lap_times times = { 0 };
    visits_average(v, &times);
    assert_relatively_near(times.mean[shape].fetch, 0.1e-3, 1e-9);
    assert_relatively_near(times.mean[shape].update, 0.5e-3, 1e-9);
    assert_relatively_near(times.jitter, 0.1, 1e-9); /* the slower rank is 10 % above the mean in every visit */
    return 1e3 * times.mean[shape].passes;
}

TEST(quiet_turns_are_enough)
{
    struct visits v = visits_open(RANKS, SHAPES, PLANNED);
    for (int turn = 0; turn < PLANNED; turn++) {
        assert_true(visits_lack(&v, 0) && visits_lack(&v, 1));
        add_turn(&v, 10 + turn);
        visit_of(&v, turn, 1, 0)->queued = 0.049 * 0.06;
    }
    assert_false(visits_lack(&v, 0) || visits_lack(&v, 1));
    assert_relatively_near(passes_of(&v, 0), 13, 1e-9); /* mean of 10 … 14 and 12 … 16 */
    visits_close(&v);
}

/* A rank that lost its core makes the shape's visit of all ranks repeat, and that of no other shape. */
TEST(a_disturbed_visit_is_repeated)
{
    struct visits v = visits_open(RANKS, SHAPES, PLANNED);
    for (int turn = 0; turn < PLANNED; turn++)
        add_turn(&v, turn == 2 ? 100 : 10);
    visit_of(&v, 2, 1, 0)->queued = 0.051 * 0.06;
    assert_true(visits_lack(&v, 0));
    assert_false(visits_lack(&v, 1));
    add_turn(&v, 10);
    for (int rank = 0; rank < RANKS; rank++)
        visit_of(&v, PLANNED, rank, 1)->took = 0; /* left out */
    assert_false(visits_lack(&v, 0));
    /* Without the disturbed visit laps of the first shape take 11.6 ms. Those of the second take 29.6 in the mean, because its slow
     * visit was not disturbed and counts. It gives its level to both, which are alike. */
    for (int shape = 0; shape < SHAPES; shape++)
        assert_relatively_near(lap_seconds(times_of_shape(&v, shape)), (11.6e-3 + 29.6e-3) / 2, 1e-9);
    visits_close(&v);
}

/* Moments that are slow, for one visit or for a turn, change the level of all shapes and not the ratio of two. */
TEST(a_slow_moment_tells_nothing_about_a_shape)
{
    struct visits v = visits_open(RANKS, SHAPES, PLANNED);
    double first = 0, second = 0;
    for (int turn = 0; turn < PLANNED; turn++) {
        add_turn(&v, 10);
        for (int rank = 0; rank < RANKS; rank++)
            for (int shape = 0; shape < SHAPES; shape++) {
                const double slow = turn == 3 ? 1.5 : turn == 1 && shape == 1 ? 6 : 1, times = slow * (1 + 2 * shape);
                struct local_times *mean = &visit_of(&v, turn, rank, shape)->mean;
                *mean = (struct local_times){ .fetch = times * mean->fetch,
                                              .passes = times * mean->passes,
                                              .update = times * mean->update };
                *(shape ? &second : &first) += lap_seconds(*mean) / (RANKS * PLANNED);
            }
    }
    const struct local_times one = times_of_shape(&v, 0), three = times_of_shape(&v, 1);
    assert_relatively_near(three.fetch, 3 * one.fetch, 1e-9);
    assert_relatively_near(three.passes, 3 * one.passes, 1e-9);
    assert_relatively_near(three.update, 3 * one.update, 1e-9);
    assert_relatively_near(lap_seconds(one), (first + second / 3) / 2, 1e-9);
    visits_close(&v);
}

/* On a machine that is never quiet, the least disturbed visits count, fast or slow, after twice as many turns. */
TEST(the_least_disturbed_visits_count)
{
    struct visits v = visits_open(RANKS, SHAPES, PLANNED);
    for (int turn = 0; turn < VISITS_TIMES * PLANNED; turn++) {
        assert_true(visits_lack(&v, 0));
        add_turn(&v, turn % 2 ? 30 : 10);
        for (int shape = 0; shape < SHAPES; shape++)
            visit_of(&v, turn, 0, shape)->queued = (turn % 2 ? 0.1 : 0.2) * 0.06;
    }
    assert_false(visits_lack(&v, 0));
    assert_relatively_near(passes_of(&v, 0), 31, 1e-9);
    visits_close(&v);
}

/* Steal is counted in ticks of 10 ms, the first of which says nothing. */
TEST(steal_disturbs_beyond_a_tick)
{
    struct visits v = visits_open(RANKS, SHAPES, PLANNED);
    for (int turn = 0; turn < PLANNED; turn++)
        add_turn(&v, 10);
    for (int shape = 0; shape < SHAPES; shape++)
        visit_of(&v, 1, 1, shape)->turn_stolen = 0.05; /* 4 % of the second, without a tick */
    assert_false(visits_lack(&v, 0));
    for (int shape = 0; shape < SHAPES; shape++)
        visit_of(&v, 1, 1, shape)->turn_stolen = 0.07; /* 6 % */
    assert_true(visits_lack(&v, 0) && visits_lack(&v, 1));
    for (int turn = 0; turn < 2; turn++)
        add_turn(&v, 10);
    assert_false(visits_lack(&v, 0) || visits_lack(&v, 1));
    visits_close(&v);
}

/* Times of three shapes of 64, 192 and 384 samples and of the usual 128, in milliseconds. */
static struct lap_times times_of(const double *passes)
{
    static const double samples[] = { 64, 192, 384, 128 };
    struct lap_times times = { 0 };
    for (int i = 0; i < 4; i++) {
        times.work[i] = work_samples(samples[i]);
        times.mean[i] = (struct local_times){ .fetch = 1e-6 * samples[i], .passes = 1e-3 * passes[i], .update = 2e-3 };
    }
    return times;
}

TEST(a_fit_says_how_well_it_predicts)
{
    const unsigned terms = 1u << COST_FIXED | 1u << COST_PER_SAMPLE;
    const struct lap_times line = times_of((const double[]){ 20, 46, 85, 33 }), /* 7 + 0.203125 x samples */
        bent = times_of((const double[]){ 19, 45, 84, 30 }), off = times_of((const double[]){ 20, 46, 170, 33 });
    struct fit_error error = local_fit_error(&line, 3, terms);
    const struct local_cost cost = local_fit(&line, 3, terms);
    assert_true(fabs(error.usual) < 1e-9 && error.left_out < 1e-9);
    assert_relatively_near(cost.update, 2e-3, 1e-9);
    assert_relatively_near(cost.fetch.term[COST_PER_SAMPLE], 1e-6, 1e-9);
    error = local_fit_error(&bent, 3, terms); /* 32 ms of passes predicted, 30 measured */
    assert_true(fabs(error.usual - (34.128 / 32.128 - 1)) < 1e-9 && error.left_out < 1e-9);
    error = local_fit_error(&off, 3, terms); /* the last two give less than nothing for the first */
    assert_true(fabs(error.left_out - (1 - 2.064 / 22.064)) < 1e-9);
    assert_true(local_fit_error(&line, 2, terms).left_out <= 0); /* a line goes through two */
}
