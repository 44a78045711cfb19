/* test_gradcheck.c: test that the gradient check passes correct models of any size. wrongness_test.sh tests that wrong
 * models fail. Also tests other checks of a block: rounds with different final parameters, and lost samples. */
#include "analysis/block_results.h"
#include "analysis/case_stats.h"
#include "base/die.h"
#include "base/random.h"
#include "device/device.h"
#include "model/gradcheck.h"
#include "model/model_type.h"
#include "model/shape_bench.h"
#include "support/ending.h"
#include "support/on_device.h"
#include "support/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void assert_honest(const struct workload *workload, const struct run *run)
{
    struct check_failures failures = gradcheck_model(workload, run);
    if (failures.count)
        fail_msg("%s, batch %d, seed %" PRIu64 ": %s", workload_name(workload), run->batch_size, run->seed,
                 failures.first);
}

TEST(an_honest_mlp_of_any_size_passes)
{
    static const int shapes[][4] = { { 1, 1, 1, 2 },      { 1, 3, 1, 7 },      { 8, 64, 64, 10 },
                                     { 2, 1, 64, 1000 },  { 16, 4096, 16, 3 }, { 128, 48, 512, 100 },
                                     { 4, 16384, 8, 10 }, { 8, 16, 8, 20000 }, { 16, 1024, 1024, 1000 },
                                     { 1, 256, 8, 65536 } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int seed = 0; seed < 8; seed++) {
            struct run run = run_published;
            struct workload workload = published_mlp;
            run.batch_size = shapes[i][0];
            run.seed = (uint64_t)seed;
            workload.of.mlp = (struct mlp_settings){ shapes[i][1], shapes[i][2], shapes[i][3], 1 + seed % 4 };
            assert_honest(&workload, &run);
        }
}

TEST(the_published_models_pass)
{
    assert_honest(&published_mlp, &run_published);
    assert_honest(&published_transformer, &run_published_texts);
}

TEST(an_honest_transformer_of_any_size_passes)
{
    static const struct {
        int batch_size, width, heads, words, classes, longest;
    } shapes[] = {
        { 1, 1, 1, 2, 2, 1 }, { 2, 8, 2, 40, 10, 12 }, { 3, 48, 4, 100, 16, 300 }, { 8, 16, 1, 9000, 2, 5 }
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int seed = 0; seed < 8; seed++) {
            struct run run = run_published_texts;
            struct workload workload = published_transformer;
            struct transformer_settings *of = &workload.of.transformer;
            run.batch_size = shapes[i].batch_size;
            run.seed = (uint64_t)seed;
            of->hidden_dim = shapes[i].width;
            of->num_heads = shapes[i].heads;
            of->vocab_size = shapes[i].words;
            of->num_classes = shapes[i].classes;
            of->num_blocks = 1 + seed % 3;
            of->texts.max_length = shapes[i].longest;
            of->texts.min_length = of->texts.fixed_length = 1;
            assert_honest(&workload, &run);
        }
}

/* --- random models ---------------------------------------------------------------------------------------------- */

/* Return a random size from 1 to `most`, log-uniform. Small sizes matter most: narrow models have strongly curved losses. */
static int size_to(struct random *random, int most)
{
    return (int)exp(random_unit(random) * log(most + 1.0));
}

static void draw_mlp(struct random *random, struct mlp_settings *of)
{
    *of = (struct mlp_settings){ .input_dim = size_to(random, 1024),
                                 .hidden_dim = size_to(random, 64),
                                 .num_classes = 1 + size_to(random, 999),
                                 .num_layers = size_to(random, 6) };
}

static void draw_transformer(struct random *random, struct transformer_settings *of)
{
    of->num_heads = size_to(random, 8);
    of->hidden_dim = of->num_heads * size_to(random, 8);
    of->num_classes = 1 + size_to(random, 999);
    of->num_blocks = size_to(random, 4);
    of->vocab_size = 1 + size_to(random, 999);
    of->texts.max_length = of->texts.fixed_length = size_to(random, 64);
    of->texts.min_length = 1;
}

TEST(no_honest_model_drawn_by_chance_fails)
{
    const char *asked = getenv("LOCKSTEP_DRAWS"); /* for a longer test */
    const int draws = asked ? atoi(asked) : 400;
    struct random random;
    int wrong = 0;
    random_seed(&random, 8);
    for (int i = 0; i < draws; i++) {
        struct workload workload = i % 2 ? published_transformer : published_mlp;
        struct run run = i % 2 ? run_published_texts : run_published;
        run.batch_size = size_to(&random, 16);
        run.seed = random_below(&random, INT32_MAX);
        if (i % 2)
            draw_transformer(&random, &workload.of.transformer);
        else
            draw_mlp(&random, &workload.of.mlp);
        struct check_failures failures = gradcheck_model(&workload, &run);
        char *name = workload_name(&workload);
        if (failures.count > 0)
            print_error("%s, batch %d, seed %" PRIu64 ": %s\n", name, run.batch_size, run.seed, failures.first);
        wrong += failures.count > 0;
        free(name);
    }
    assert_int_equal(wrong, 0);
}

TEST(a_round_that_ends_otherwise_is_wrong)
{
    struct case_stats stats;
    case_stats_open(&stats, &(struct run){ .ranks = 1, .cycle = 1 }, false);
    case_stats_repeat(&stats, 43);
    case_stats_repeat(&stats, 43); /* the first block was disturbed and is repeated */
    stats.rounds = 1;
    case_stats_repeat(&stats, 43);
    assert_int_equal(stats.wrong.count, 0);
    stats.rounds = 2;
    case_stats_repeat(&stats, 44);
    assert_int_equal(stats.wrong.count, 1);
    assert_string_equal(stats.wrong.first,
                        "round 3: the same steps end with other parameters than in an earlier block");
    case_stats_close(&stats);
    case_stats_open(&stats, &(struct run){ .ranks = 1, .cycle = 1 }, false);
    case_stats_repeat(&stats, 43);
    case_stats_repeat(&stats, 44);
    assert_int_equal(stats.wrong.count, 1);
    case_stats_close(&stats);
}

TEST(samples_that_are_dealt_twice_or_lost_are_wrong)
{
    struct rank_result results[2] = { { .loss = 1, .samples = 8 }, { .loss = 1, .samples = 4 } };
    struct block block = { .timeline = { .ranks = 2 }, .results = results };
    assert_int_equal(block_results_wrong(&block, 12, false).count, 0);
    assert_int_equal(block_results_wrong(&block, 0, false).count, 0); /* 0: batch sizes vary between steps */
    assert_int_equal(block_results_wrong(&block, 16, false).count, 1);
    assert_int_equal(block_results_wrong(&block, 8, false).count, 1);
}

TEST(faults_keep_the_first_in_words)
{
    struct check_failures rank = { 0 }, all = { 0 };
    check_failures_join(&all, &rank, "no rank, ");
    assert_int_equal(all.count, 0);
    assert_string_equal(all.first, "");
    check_failures_add(&rank, "element %d", 7);
    check_failures_add(&rank, "element %d", 8);
    check_failures_join(&all, &rank, "rank %d, ", 3);
    check_failures_join(&all, &rank, "rank %d, ", 4);
    assert_int_equal(all.count, 4);
    assert_string_equal(all.first, "rank 3, element 7");
    char words[2 * FAULT_WORDS];
    memset(words, 'x', sizeof words);
    words[sizeof words - 1] = '\0';
    struct check_failures longer = { 0 }, whole = { 0 };
    check_failures_add(&longer, "%s", words);
    check_failures_join(&whole, &longer, "%s", words);
    assert_int_equal(strlen(whole.first), FAULT_WORDS - 1);
}

static void take_shapes(const void *workload)
{
    shape_bench_memory(workload, &run_published, 0, shape_bench_shapes(workload));
}

/* Benches hold SHAPES_MOST shapes; a type of model with more ends with a line for its author. */
TEST(a_model_has_no_more_shapes_than_there_is_room)
{
    struct model_type many = mlp_type;
    const struct workload workload = { .type = &many, .of = published_mlp.of };
    many.shapes = SHAPES_MOST + 1;
    const struct ending ending = ending_of(take_shapes, &workload);
    assert_int_equal(ending.status, STATUS_WRONG);
    assert_holds(ending.err, "9 batch shapes");
    assert_holds(ending.err, "raise SHAPES_MOST");
}

AROUND_TESTS(open_device, NULL)
