/* test_cases.c: test which cases measure all steps of a round, because their steps are brief. */
#include "frame/cases.h"
#include "support/unit.h"

#include <math.h>

/* --- a lab whose cases take a given time ------------------------------------------------------------------------- */

struct options {
    struct run run;
    double seconds;
};

static void shorter(struct options *o)
{
    o->seconds = 4e-3;
}

static void unknown(struct options *o)
{
    o->seconds = (double)NAN;
}

/* Half of a step computes, half waits. */
static struct prediction predict(const struct options *o, const struct card *card)
{
    (void)card;
    return (struct prediction){ .local = o->seconds / 2, .wait = o->seconds / 2 };
}

static const struct variant variants[] = {
    { "long", NULL, NULL, "6 ms a step", "long" },
    { "brief", shorter, NULL, "4 ms a step", "brief" },
    { "unknown", unknown, NULL, "no formula", "unknown" },
    { 0 },
};

static const struct lab_spec spec = {
    .lab = "toy",
    .variants = variants,
    .options_size = sizeof(struct options),
    .predict = predict,
};

/* Settle the three cases of a run and return how many steps a round measures of each. */
static void measured_steps(struct run run, int measured[3])
{
    const struct options base = { .run = run, .seconds = 6e-3 };
    struct cases cases = { .count = 3, .named = 3 };
    bool brief[3];
    for (int i = 0; i < 3; i++)
        cases.variant[i] = &variants[i];
    cases_settle(&cases, &spec, &base, NULL);
    cases_find_brief(&cases, &spec, NULL, brief);
    cases_lengthen(&cases, brief);
    for (int i = 0; i < 3; i++)
        measured[i] = run_window(run_of(cases.settings[i])).measured;
    cases_close(&cases);
}

TEST(brief_steps_are_measured_in_long_windows)
{
    int measured[3];
    measured_steps((struct run){ .ranks = 4, .steps = 12, .skip_first_steps = 2, .cycle = 1 }, measured);
    assert_int_equal(measured[0], 2);
    assert_int_equal(measured[1], 10);
    assert_int_equal(measured[2], 2);
}

/* Of ranks that take turns on a core, one step is measured; but a step of 4 ms is brief, though all ranks need 16 ms for it. */
TEST(steps_of_ranks_that_take_turns_are_brief_too)
{
    int measured[3];
    measured_steps(
        (struct run){
            .ranks = 4, .steps = 12, .skip_first_steps = 2, .cycle = 1, .takes_turns = true, .simulated = true },
        measured);
    assert_int_equal(measured[0], 1);
    assert_int_equal(measured[1], 10);
    assert_int_equal(measured[2], 1);
}
