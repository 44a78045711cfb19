/* test_cases.c: test which cases measure all steps of a round, because their steps are brief; and which cases are refused. */
#include "base/die.h"
#include "frame/cases.h"
#include "support/ending.h"
#include "support/unit.h"

#include <math.h>
#include <string.h>

/* --- a lab whose cases take a given time ------------------------------------------------------------------------- */

struct options {
    struct run run;
    struct workload model;
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

/* Ranks that take turns on a core measure one step; but a step of 4 ms is brief, though all ranks need 16 ms for it. */
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

/* --- what is refused ---------------------------------------------------------------------------------------------- */

static void eightfold(struct options *o)
{
    o->run.batch_size *= 8;
}

static const struct variant growing[] = {
    { "usual", NULL, NULL, "the batch of the options", "usual" },
    { "larger", eightfold, NULL, "eight times as many samples", "larger" },
    { "brief", shorter, NULL, "4 ms a step", "brief" },
    { 0 },
};

static struct lab_spec lab_with(const struct variant *of)
{
    struct lab_spec lab = spec;
    lab.variants = of;
    return lab;
}

/* Options with a global batch of 2^28 samples. */
static struct options large_batch(void)
{
    struct options o = { .run = run_published, .model = published_mlp };
    o.run.ranks = 512;
    o.run.batch_size = 524288;
    return o;
}

static void refuse(const void *base)
{
    struct options copy = *(const struct options *)base;
    const struct lab_spec lab = lab_with(growing);
    cases_refuse(&lab, &copy);
}

static void assert_one_line(const struct ending *ending, const char *const *parts)
{
    const char *end = strchr(ending->err, '\n');
    if (!end || end[1] != '\0')
        fail_msg("not one line: %s", ending->err);
    for (; *parts; parts++)
        assert_holds(ending->err, *parts);
}

/* The options' own batch fits into an int; that of the larger case, 2^31, does not. */
TEST(a_case_with_too_many_samples_is_refused)
{
    const struct options base = large_batch();
    const struct ending ending = ending_of(refuse, &base);
    assert_int_equal(ending.status, STATUS_USAGE);
    assert_one_line(
        &ending, (const char *const[]){ "larger: ", "2147483648 samples", "2147483647", "smaller --batch-size", NULL });
}

TEST(a_case_that_does_not_run_is_not_refused)
{
    struct options base = large_batch();
    base.run.cases = (struct option_list){ .text = { "brief" }, .count = 1 };
    assert_int_equal(ending_of(refuse, &base).status, 99);
}

/* A batch that is too large by itself is refused as that of the options, not of a case. */
TEST(options_with_too_many_samples_are_refused)
{
    struct options base = large_batch();
    base.run.batch_size *= 8;
    const struct ending ending = ending_of(refuse, &base);
    assert_int_equal(ending.status, STATUS_USAGE);
    assert_one_line(&ending, (const char *const[]){ ": a global batch of 2147483648", "smaller --batch-size", NULL });
    assert_null(strstr(ending.err, "usual"));
}

/* --- too many cases ----------------------------------------------------------------------------------------------- */

static void choose(const void *lab)
{
    struct options base = large_batch();
    struct cases cases = { 0 };
    char *argv[] = { (char *)"toy", NULL };
    cases_choose(&cases, lab, (const struct option_row *const[]){ run_option_rows, NULL }, &base, 1, argv);
}

static struct ending choose_of(int count)
{
    struct variant many[CASES_MOST + 2] = { { 0 } };
    for (int i = 0; i < count; i++)
        many[i] = growing[0];
    struct lab_spec lab = lab_with(many);
    lab.question = "How many?";
    return ending_of(choose, &lab);
}

/* Arrays hold CASES_MOST cases; a lab with more ends with a line for its author. */
TEST(a_lab_has_no_more_cases_than_there_is_room)
{
    assert_int_equal(choose_of(CASES_MOST).status, 99);
    const struct ending ending = choose_of(CASES_MOST + 1);
    assert_int_equal(ending.status, STATUS_WRONG);
    assert_one_line(&ending, (const char *const[]){ "more than 128 cases", "raise CASES_MOST", NULL });
}
