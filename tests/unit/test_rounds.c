/* test_rounds.c: test rounds: their schedule with repetitions, the drift between probes, and rounds.csv of several launches. */
#include "base/csv.h"
#include "frame/drift_series.h"
#include "frame/schedule.h"
#include "options/run.h"
#include "report/rounds_table.h"
#include "support/unit.h"
#include "world/world.h"

#include <math.h>
#include <string.h>

/* --- the schedule on one rank, on a clock of its own ------------------------------------------------------------------ */

double __wrap_world_wall(void);
int __wrap_world_rank(const struct world *world);
void __wrap_world_broadcast(struct world *world, void *data, size_t bytes);

static double seconds;

double __wrap_world_wall(void)
{
    return seconds;
}

int __wrap_world_rank(const struct world *world)
{
    (void)world;
    return 0;
}

void __wrap_world_broadcast(struct world *world, void *data, size_t bytes)
{
    (void)world, (void)data, (void)bytes;
}

enum { CASES = 3 };
struct settings {
    struct lab_options lab;
};

TEST(all_rounds_have_equally_many_steps)
{
    struct run run = run_published;
    assert_int_equal(run_window(&run).measured, 2);
    assert_int_equal(run_window(&run).warmup, 1);
    run.simulated = true; /* so a step takes the time of all ranks */
    assert_int_equal(run_window(&run).measured, 1);
    assert_int_equal(run_window(&run).warmup, 1);
    assert_int_equal(run_least_rounds(&run), 6);
    run.add_rounds = true; /* one more round may be all that fits */
    assert_int_equal(run_least_rounds(&run), 1);
    run.simulated = false;
    run.quick = true;
    assert_int_equal(run_window(&run).measured, 2);
    run.skip_first_steps = 5; /* typed */
    assert_int_equal(run_window(&run).warmup, 5);
    run.skip_first_steps = 2;
    run.whole = true; /* --steps 12 --skip-first-steps 2, as published */
    assert_int_equal(run_window(&run).measured, 10);
    assert_int_equal(run_window(&run).warmup, 2);
    run.cycle = 4;
    assert_int_equal(run_window(&run).measured, 8);
    assert_int_equal(run_window(&run).warmup, 4);
}

/* Run two rounds in which case 1 is always disturbed. Count the blocks of each case, and return the case of the last block. */
static int run_disturbed(const struct run *run, int blocks[2][CASES])
{
    struct settings settings[CASES];
    struct cases cases = { .count = CASES, .named = CASES };
    for (int i = 0; i < CASES; i++) {
        cases.of[i] = i;
        settings[i].lab.run = *run;
        cases.settings[i] = (struct options *)&settings[i];
    }
    struct schedule schedule;
    int last = -1;
    schedule_begin(&schedule, run, &cases);
    for (int chosen = schedule_next(&schedule, NULL); chosen >= 0; chosen = schedule_next(&schedule, NULL)) {
        seconds += 1;
        last = chosen;
        blocks[schedule.round][chosen]++;
        if (chosen == 1 && schedule_may_repeat(&schedule))
            schedule_repeat(&schedule);
    }
    return last;
}

TEST(a_disturbed_block_is_repeated_at_the_end_of_its_round)
{
    const struct run run = { .ranks = 1, .steps = 6, .skip_first_steps = 2, .cycle = 1, .rounds = 2, .seed = 7 };
    int blocks[2][CASES] = { { 0 } };
    const int last = run_disturbed(&run, blocks);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(blocks[round][0], 1);
        assert_int_equal(blocks[round][1], 1 + REPETITIONS_MOST);
        assert_int_equal(blocks[round][2], 1);
    }
    assert_int_equal(last, 1);
}

/* Cases 0 to 2 with two changes each (3 + 2 x case, and the next): each case stands beside its changes, in any order. */
TEST(a_case_and_its_changes_run_one_after_another)
{
    enum { NAMED = 3, CHANGES = 2, COUNT = NAMED * (1 + CHANGES) };
    const struct run run = { .ranks = 1, .steps = 6, .skip_first_steps = 2, .cycle = 1, .rounds = 8, .seed = 7 };
    struct settings settings = { .lab.run = run };
    struct cases cases = { .count = COUNT, .named = NAMED };
    for (int i = 0; i < COUNT; i++) {
        cases.settings[i] = (struct options *)&settings;
        cases.of[i] = i < NAMED ? i : (i - NAMED) / CHANGES;
    }
    struct schedule schedule;
    int blocks = 0, before = -1, seen = 0, first_is_case = 0;
    schedule_begin(&schedule, &run, &cases);
    for (int chosen = schedule_next(&schedule, NULL); chosen >= 0; chosen = schedule_next(&schedule, NULL)) {
        seconds += 1;
        if (blocks % (1 + CHANGES) == 0) {
            before = cases.of[chosen];
            first_is_case += chosen < NAMED;
        }
        assert_int_equal(cases.of[chosen], before);
        seen |= 1 << chosen;
        blocks++;
    }
    assert_int_equal(blocks, 8 * COUNT);
    assert_int_equal(seen, (1 << COUNT) - 1);
    assert_true(first_is_case > 0 && first_is_case < 8 * NAMED);
}

TEST(a_quick_run_repeats_no_block)
{
    const struct run run = {
        .ranks = 1, .steps = 6, .skip_first_steps = 2, .cycle = 1, .rounds = 2, .seed = 7, .quick = true
    };
    int blocks[2][CASES] = { { 0 } };
    run_disturbed(&run, blocks);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < CASES; i++)
            assert_int_equal(blocks[round][i], 1);
}

/* --- drift ------------------------------------------------------------------------------------------------------------ */

/* The nearest probes count for local steps; for a transfer also those a second away; those of another minute do not count. */
TEST(drift_is_a_mean_of_the_probes_around)
{
    struct drift_points points = { 0 };
    assert_true(fabs(drift_at(&points, 5).local - 1) < 1e-12);
    drift_add(&points, 10, (struct card_drift){ .local = 1, .transfer = 0.5 });
    drift_add(&points, 12, (struct card_drift){ .local = 4, .transfer = 2 });
    assert_true(fabs(drift_at(&points, 11).local - 2) < 1e-12);
    assert_true(fabs(drift_at(&points, 11).transfer - 1) < 1e-12);
    const double earlier = drift_at(&points, 10).local;
    assert_true(earlier > 1 && earlier < 1.01);
    assert_true(fabs(drift_at(&points, -1e6).local - earlier) < 1e-9); /* however far both are */
    assert_true(fabs(drift_at(&points, 10).transfer - 0.5) < 0.2);
    assert_true(fabs(drift_at(&points, 11).jitter) < 1e-12);
    drift_add(&points, 20, (struct card_drift){ .local = 1, .transfer = 1, .jitter = 0.01 });
    drift_add(&points, 22, (struct card_drift){ .local = 1, .transfer = 1, .jitter = 0.03 });
    assert_true(fabs(drift_at(&points, 21).jitter - 0.02) < 1e-12); /* arithmetic */
    assert_true(drift_at(&points, 20).jitter < 0.02 && drift_at(&points, 20).jitter > 0.01);
    drift_add(&points, 80, (struct card_drift){ .local = 9, .transfer = 9 });
    assert_true(fabs(drift_at(&points, 80).local - 9) < 1e-6);
    assert_true(fabs(drift_at(&points, 11).local - 2) < 1e-6);
    drift_close(&points);
}

/* A probe that measures one part says nothing about the others. A rank alone follows all ranks, by the ratio that few probes measure. */
TEST(a_part_that_was_not_measured_does_not_count)
{
    struct drift_points points = { 0 };
    const struct parts_drift slower = { .passes = 2,
                                        .update = 3,
                                        .growing = 10e-3,
                                        .more = 2.5e-3 }, /* which grows: 1.5 */
        alone = { .passes = 3, .update = 1.5 };
    drift_add(&points, 10, (struct card_drift){ .local = 2, .transfer = 3, .together = slower, .alone = alone });
    drift_add(&points, 11, (struct card_drift){ .local = 4, .together = { .passes = 6, .update = 8 } });
    drift_add(&points, 12, (struct card_drift){ .transfer = 3 });
    struct card_drift drift = drift_at(&points, 11.5);
    assert_true(fabs(drift.local - 4) < 0.1 && fabs(drift.transfer - 3) < 1e-12);
    assert_true(fabs(drift.together.passes - 6) < 0.2 && fabs(drift.together.update - 8) < 0.2);
    assert_true(fabs(drift.together.more - 2.5e-3) < 1e-12 && fabs(drift.together.growing - 10e-3) < 1e-12);
    const double growing = parts_growing(drift.together);
    assert_true(fabs(growing - 4.5) < 0.2);
    assert_true(fabs(drift.alone.passes - 2 * growing) < 1e-12 && fabs(drift.alone.update - growing) < 1e-12);
    drift_close(&points);
    drift_add(&points, 10, (struct card_drift){ .local = 2, .transfer = 3 });
    drift = drift_at(&points, 11);
    assert_true(drift.alone.passes <= 0 && fabs(drift.together.update - 2) < 1e-12); /* as the whole step */
    drift_close(&points);
}

/* An own cost has the mean of the probes that measured it, whatever others did. A probe two seconds farther away counts less. */
TEST(own_costs_are_means_of_their_own_probes)
{
    struct drift_points points = { 0 };
    struct card_drift drift = { .local = 1, .transfer = 1 };
    assert_true(drift_at(&points, 5).own.at[2].weight <= 0);
    drift_add(&points, 0, drift);
    drift.own.at[2].seconds = 1;
    drift.own.at[2].weight = 1;
    drift_add(&points, 10, drift);
    drift_add(&points, 11, (struct card_drift){ .local = 1, .transfer = 1 });
    drift.own.at[2].seconds = 4;
    drift_add(&points, 12, drift);
    assert_true(fabs(drift_at(&points, 11).own.at[2].seconds - 2.5) < 1e-12);
    assert_true(drift_at(&points, 11).own.at[2].weight > 0 && drift_at(&points, 11).own.at[1].weight <= 0);
    const double early = drift_at(&points, -1e6).own.at[2].seconds, late = drift_at(&points, 1e6).own.at[2].seconds;
    assert_true(early > 1.7 && early < 1.9 && fabs(early + late - 5) < 1e-9);
    drift_close(&points);
}

/* --- rounds.csv ------------------------------------------------------------------------------------------------------- */

/* Write a launch of one case with two rounds, which took `step` and twice as long. */
static void write_launch(const char *folder, const char *settings, double step, bool keeps)
{
    struct file_set files = { 0 };
    struct drifted then[2] = { { .predicted_step = 0.02, .local = 1.25, .transfer = 1 },
                               { .predicted_step = 0.04, .local = 2.5, .transfer = 1 } };
    struct round_stats rounds[2] = { { .slowest_step = step, .conditions = { .taken_share = 0.01 } },
                                     { .slowest_step = 2 * step,
                                       .conditions = { .taken_share = 0.2, .is_disturbed = true, .repetitions = 2 } } };
    struct outcome outcome = { .name = "baseline",
                               .run = { .ranks = 2, .batch_size = 8, .accumulate = 1 },
                               .stats = { .rounds = 2, .steps = 8, .round = rounds },
                               .then = then };
    char *preamble = memory_text("# settings: %s\n", settings);
    struct report report = { .lab = "lab",
                             .folder = folder,
                             .files = &files,
                             .preamble = preamble,
                             .keeps_rounds = keeps,
                             .outcomes = &outcome,
                             .cases = 1 };
    rounds_table_write(&report);
    file_set_commit(&files);
    free(preamble);
}

static struct csv_table read_rounds(const char *folder)
{
    char *path = memory_text("%s/rounds.csv", folder);
    struct csv_table table = csv_open(path, (const char *const[]){ "case", "launch", "redone", NULL });
    free(path);
    return table;
}

TEST_IN_FOLDER(a_round_has_its_prediction_and_what_disturbed_it)
{
    write_launch(*state, "lab --seed 1", 0.01, false);
    struct csv_table table = read_rounds(*state);
    assert_int_equal(table.rows, 2);
    assert_string_equal(csv_field(&table, 0, "slowest_step_ms"), "10.000000");
    assert_string_equal(csv_field(&table, 1, "predicted_then_ms"), "40.000000");
    assert_string_equal(csv_field(&table, 1, "local_drift"), "2.5");
    assert_string_equal(csv_field(&table, 1, "is_disturbed"), "1");
    assert_string_equal(csv_field(&table, 1, "redone"), "2");
    assert_string_equal(csv_field(&table, 0, "steps"), "4");
    assert_string_equal(csv_field(&table, 0, "samples_per_s"), "1600");
    csv_free(&table);
}

TEST_IN_FOLDER(launches_with_equal_settings_join)
{
    for (int launch = 0; launch < 3; launch++)
        write_launch(*state, "lab --seed 1", 0.01 * (launch + 1), true);
    struct csv_table table = read_rounds(*state);
    assert_int_equal(table.rows, 6);
    for (int row = 0; row < table.rows; row++) {
        assert_int_equal((int)csv_value(&table, row, "launch"), row / 2);
        assert_int_equal((int)csv_value(&table, row, "round"), row % 2);
        assert_int_equal(lround(csv_value(&table, row, "slowest_step_ms")), 10 * (row / 2 + 1) * (row % 2 + 1));
    }
    csv_free(&table);
}

/* Return the settings as the tables' header has them. Free them. */
static char *settings_of(const struct run *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    options_echo(out, (const struct option_row *const[]){ run_option_rows, NULL }, run, run_launch_flags);
    fclose(out);
    return text;
}

TEST(launches_may_be_of_any_length_and_have_tables_or_verdicts)
{
    struct run later = run_published;
    later.seconds = 9;
    later.rounds = 4;
    later.add_rounds = later.keep_card = later.without_tables = later.verdict = true;
    char *settings = settings_of(&run_published), *same = settings_of(&later);
    assert_string_equal(settings, same);
    free(same);
    later.seed++;
    char *other = settings_of(&later);
    assert_string_not_equal(settings, other);
    free(other);
    free(settings);
}

TEST_IN_FOLDER(rounds_with_other_settings_are_dropped)
{
    write_launch(*state, "lab --seed 1", 0.01, true);
    write_launch(*state, "lab --seed 2", 0.02, true);
    struct csv_table table = read_rounds(*state);
    assert_int_equal(table.rows, 2);
    assert_string_equal(csv_field(&table, 0, "slowest_step_ms"), "20.000000");
    csv_free(&table);
    write_launch(*state, "lab --seed 2", 0.03, false); /* not asked to keep them */
    table = read_rounds(*state);
    assert_int_equal(table.rows, 2);
    csv_free(&table);
}
