/* test_blind.c: test the quiz of --blind: the draw, the command line printed afterwards, the judgement of an answer, and
 * the comparison of the tables. */
#include "base/die.h"
#include "base/memory.h"
#include "frame/blind.h"
#include "report/compare_cases.h"
#include "support/between.h"
#include "support/ending.h"
#include "support/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- a lab with five cases and a hidden rank --------------------------------------------------------------------- */

struct options {
    struct run run;
    int late_rank;
    bool is_late, is_slow, is_cured;
};

/* clang-format off */
static void late(struct options *o) { o->is_late = true; }
static void slow(struct options *o) { o->is_slow = true; }
static void cure(struct options *o) { o->is_cured = true; }
/* clang-format on */

static int culprit(const struct options *o)
{
    return o->is_late ? o->late_rank : -1;
}

static const struct option_row rows[] = {
    { "--late-rank", OPTION_INTEGER, offsetof(struct options, late_rank), 0, 1023, "R", "the rank that is late" },
    { 0 },
};

static const struct variant variants[] = {
    { "calm", NULL, NULL, "nothing is wrong", "calm" },
    { "late", late, NULL, "one rank is late", "late" },
    { "late_cured", late, cure, "… and is cured", "late + cure" },
    { "slow", slow, NULL, "all are slow", "slow" },
    { "slow_cured", slow, cure, "… and are cured", "slow + cure" },
    { 0 },
};

static const struct lab_spec spec = {
    .lab = "toy",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .hidden_option = "--late-rank",
    .culprit = culprit,
};

enum { CANDIDATES = 4, RANKS = 3 };

static struct options quiz_options(int seed)
{
    struct options o = { .run = { .ranks = RANKS, .seed = (uint64_t)seed, .blind = true }, .late_rank = -7 };
    for (int i = 0; i < CANDIDATES; i++)
        o.run.cases.text[o.run.cases.count++] = variants[1 + i].name;
    return o;
}

static const struct variant *draw(struct options *o, char *const *argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    blind_draw(&spec, o, argc, argv);
    return blind_drawn(&spec, &o->run);
}

static char *const untyped[] = { "toy", "--blind", NULL };

/* --- the draw ---------------------------------------------------------------------------------------------------- */

/* Check that all 4 x 3 outcomes are equally likely. Of 1200 seeds each gets 100 with a standard deviation of 9.6, so the
 * limits are more than five standard deviations away. */
TEST(seeds_draw_every_case_and_rank_alike)
{
    int drawn[CANDIDATES][RANKS] = { 0 };
    for (int seed = 0; seed < 1200; seed++) {
        struct options o = quiz_options(seed);
        const struct variant *v = draw(&o, untyped);
        assert_between(o.late_rank, 0, RANKS - 1);
        drawn[v - variants - 1][o.late_rank]++;
    }
    for (int i = 0; i < CANDIDATES; i++)
        for (int rank = 0; rank < RANKS; rank++)
            assert_between(drawn[i][rank], 50, 150);
}

TEST(a_seed_draws_the_same_again)
{
    for (int seed = 0; seed < 20; seed++) {
        struct options a = quiz_options(seed), b = quiz_options(seed);
        assert_ptr_equal(draw(&a, untyped), draw(&b, untyped));
        assert_int_equal(a.late_rank, b.late_rank);
    }
}

TEST(a_rank_that_was_typed_is_not_drawn)
{
    char *const typed[] = { "toy", "--late-rank=2", "--blind", NULL };
    for (int seed = 0; seed < 20; seed++) {
        struct options o = quiz_options(seed), other = quiz_options(seed);
        o.late_rank = 2;
        assert_ptr_equal(draw(&o, typed), draw(&other, untyped)); /* and the drawn case stays the same */
        assert_int_equal(o.late_rank, 2);
    }
}

TEST(only_named_cases_are_drawn)
{
    for (int seed = 0; seed < 20; seed++) {
        struct options o = quiz_options(seed);
        o.run.cases = (struct option_list){ .count = 2, .text = { "slow", "late_cured" } };
        const struct variant *v = draw(&o, untyped);
        assert_true(v == &variants[2] || v == &variants[3]);
    }
}

TEST(a_seed_is_taken_where_none_was_typed)
{
    char *blind[] = { "toy", "--blind", NULL }, *seeded[] = { "toy", "--blind", "--seed=3", NULL },
         *by_name[] = { "toy", NULL };
    char **argv = blind;
    int argc = 2;
    blind_take_seed(&argc, &argv);
    assert_int_equal(argc, 3);
    assert_int_equal(strncmp(argv[2], "--seed=", 7), 0);
    assert_null(argv[3]);
    free(argv[2]);
    free(argv);
    argv = seeded, argc = 3;
    blind_take_seed(&argc, &argv);
    assert_ptr_equal(argv, seeded);
    argv = by_name, argc = 1;
    blind_take_seed(&argc, &argv);
    assert_ptr_equal(argv, by_name);
}

TEST(the_culprit_is_the_rank_that_the_case_makes_late)
{
    struct options o = quiz_options(1);
    o.late_rank = 2;
    assert_int_equal(blind_culprit(&spec, &o, &variants[2]), 2);
    assert_int_equal(blind_culprit(&spec, &o, &variants[3]), -1);
    o.run.ranks = 1; /* no other rank waits for it */
    assert_int_equal(blind_culprit(&spec, &o, &variants[2]), -1);
}

/* --- judgements and printed texts --------------------------------------------------------------------------------- */

TEST(half_right_is_the_same_pathology)
{
    assert_int_equal(blind_judge(&variants[1], &variants[1]), JUDGED_RIGHT);
    assert_int_equal(blind_judge(&variants[1], &variants[2]), JUDGED_HALF);
    assert_int_equal(blind_judge(&variants[2], &variants[1]), JUDGED_HALF);
    assert_int_equal(blind_judge(&variants[2], &variants[4]), JUDGED_WRONG); /* same fix, other fault */
    assert_int_equal(blind_judge(&variants[2], NULL), JUDGED_NOTHING);
}

TEST(an_idea_that_goes_on_is_printed_whole)
{
    char *alone = blind_idea(&spec, &variants[4]), *root = blind_idea(&spec, &variants[3]);
    assert_string_equal(alone, "all are slow … and are cured");
    assert_string_equal(root, "all are slow");
    free(alone);
    free(root);
}

TEST(the_command_by_name_is_what_was_typed_and_what_was_drawn)
{
    char *const typed[] = { "toy",    "--cases", "late",         "--blind", "--out=it's here",
                            "--seed", "5",       "--cases=slow", "--quick", NULL };
    struct options o = quiz_options(5);
    const char *name = draw(&o, typed)->name;
    char *expected = memory_text("%s '--out=it'\\''s here' --seed 5 --quick --cases %s --late-rank %d",
                                 program_invocation_name, name, o.late_rank);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    blind_print_command(out, &spec, &o, typed);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
}

/* --- comparison of the tables -------------------------------------------------------------------------------------- */

#define NAMES                                                                                                          \
    "case,rank,step_ms,data_ms,local_ms,host_ms,wait_ms,transfer_ms,exposed_ms,caused_wait_ms,samples,tokens\n"
#define CALM "calm,0,30,1,19,0,0,10,10,0,64,\ncalm,1,30,1,19,0,0,10,10,0,64,\ncalm,2,30,1,19,0,0,10,10,0,64,\n"

/* Return the comparison of these rows of the hidden case with the baseline; release with free(). */
static char *comparison_of(const char *rows_of_odd)
{
    char folder[] = "/tmp/lockstep_test_blind.XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = memory_text("%s/ranks.csv", folder);
    FILE *table = fopen(path, "w");
    assert_non_null(table);
    fprintf(table, "# made up\n" NAMES CALM "%s", rows_of_odd);
    fclose(table);
    struct compared_cases evidence;
    compare_cases_open(&evidence, folder, "calm", BLIND_NAME);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    compare_cases_print_causes(out, &evidence);
    fclose(out);
    compare_cases_close(&evidence);
    unlink(path);
    rmdir(folder);
    free(path);
    return text;
}

static void assert_comparison(const char *rows_of_odd, const char *expected)
{
    char *text = comparison_of(rows_of_odd);
    assert_string_equal(text, expected);
    free(text);
}

TEST(one_rank_that_differs_is_named)
{
    assert_comparison(
        "hidden,0,70,1,19,0,40,10,50,0,64,\nhidden,1,70,41,19,0,0,10,10,80,64,\nhidden,2,70,1,19,0,40,10,50,0,64,\n",
        "  data grew: 41.0 ms on rank 1, the others have 1.0 ms (calm: 1.0 ms)\n"
        "  wait grew: 40.0 ms on every rank but rank 1, which has 0.0 ms (calm: 0.0 ms)\n");
}

TEST(of_two_ranks_the_one_that_changed_is_named)
{
    assert_comparison("hidden,0,70,1,19,0,40,10,50,0,64,\nhidden,1,70,41,19,0,0,10,10,40,64,\n",
                      "  ranks: 2 (calm: 3)\n"
                      "  data grew: 41.0 ms on rank 1, the other has 1.0 ms (calm: 1.0 ms)\n"
                      "  wait grew: 40.0 ms on rank 0, the other has 0.0 ms (calm: 0.0 ms)\n");
}

TEST(of_two_ranks_that_both_changed_none_is_named)
{
    assert_comparison("hidden,0,30,1,19,0,0,10,10,0,96,\nhidden,1,30,1,19,0,0,10,10,0,32,\n",
                      "  ranks: 2 (calm: 3)\n"
                      "  samples changed: 32 to 96 from rank to rank (calm: 64)\n");
}

TEST(what_all_ranks_share_is_printed_once_and_the_largest_first)
{
    assert_comparison(
        "hidden,0,60,1,24,0,0,35,35,0,32,\nhidden,1,60,1,24,0,0,35,35,0,32,\nhidden,2,60,1,24,0,0,35,35,0,32,\n",
        "  transfer grew: 35.0 ms on every rank (calm: 10.0 ms)\n"
        "  local grew: 24.0 ms on every rank (calm: 19.0 ms)\n"
        "  samples fell: 32 on every rank (calm: 64)\n");
}

TEST(ranks_that_changed_as_much_are_alike)
{
    assert_comparison("hidden,0,54,13,19,0,12,10,22,12,64,\nhidden,1,54,14,19,0,11,10,21,13,64,\n"
                      "hidden,2,54,12,19,0,13,10,23,11,64,\n",
                      "  data grew: 13.0 ms on every rank (calm: 1.0 ms)\n"
                      "  wait grew: 12.0 ms on every rank (calm: 0.0 ms)\n");
}

TEST(values_that_differ_on_all_ranks_are_a_range)
{
    assert_comparison(
        "hidden,0,36,1,19,0,6,10,16,0,64,\nhidden,1,36,1,22,0,3,10,13,0,64,\nhidden,2,36,1,25,0,0,10,10,9,64,\n",
        "  local grew: 19.0 ms to 25.0 ms from rank to rank (calm: 19.0 ms)\n"
        "  wait grew: 0.0 ms to 6.0 ms from rank to rank (calm: 0.0 ms)\n");
}

TEST(where_arrivals_are_hidden_ranks_stand_still)
{
    assert_comparison("hidden,0,70,1,19,0,,,50,,64,\nhidden,1,70,41,19,0,,,10,,64,\nhidden,2,70,1,19,0,,,50,,64,\n",
                      "  data grew: 41.0 ms on rank 1, the others have 1.0 ms (calm: 1.0 ms)\n"
                      "  exposed grew: 50.0 ms on every rank but rank 1, which has 10.0 ms (calm: 10.0 ms)\n");
}

TEST(small_differences_are_none)
{
    assert_comparison(
        "hidden,0,31,1,20,0,0,10,10,0,64,\nhidden,1,31,2,19,0,0,10,10,0,64,\nhidden,2,31,1,20,0,0,10,10,0,64,\n",
        "  nothing: no rank differs from calm by more than 4 % of a step\n");
}
