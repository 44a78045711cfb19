/* test_tokens.c: test sequences and batches against the published runs, and properties of any recipe.
 *
 * The published numbers were recomputed with the post's own Python functions and agree with its reports in every field.
 * The post did not run all strategies. Numbers of the others come from an independent Python program of the same recipe. */
#include "model/tokens.h"
#include "support/between.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "model/sequence_recipe.h"
#include "model/workload.h"
#include "support/near.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>

enum { RANKS = 4, STEPS = 12, SKIPPED = 2, FIRST = 20 };

/* Add a word to the hash as 4 bytes, lowest first. */
static uint64_t hash_word(uint64_t hash, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        hash = hash_add(hash, word >> 8 * i & 0xff);
    return hash;
}

static uint64_t hash_integers(const int *values, int count)
{
    uint64_t hash = HASH_BEGIN;
    for (int i = 0; i < count; i++)
        hash = hash_word(hash, (uint32_t)values[i]);
    return hash;
}

/* A recipe, a batching policy, and the corpus and batch schedule derived from them. */
struct scheduled {
    struct token_recipe recipe;
    struct batching_policy policy;
    struct token_corpus *corpus;
    struct batch_schedule *schedule;
};

static struct scheduled schedule_recipe(struct token_recipe recipe, struct batching_policy policy)
{
    assert_true(token_recipe_works(&recipe));
    struct scheduled d = { .recipe = recipe, .policy = policy, .corpus = token_corpus_open(&recipe) };
    d.schedule = batch_schedule_open(&recipe, d.corpus, policy);
    return d;
}

static void close_scheduled(struct scheduled d)
{
    batch_schedule_close(d.schedule);
    token_corpus_close(d.corpus);
}

static struct token_recipe recipe_published(void)
{
    return sequence_recipe(&published_transformer.of.transformer, &run_published_texts, false);
}

static struct token_recipe recipe_fixed(void)
{
    return sequence_recipe(&published_transformer.of.transformer, &run_published_texts, true);
}

/* --- the published runs ------------------------------------------------------------------------------------------- */

TEST(texts_are_the_published_ones)
{
    static const int lengths[FIRST] = { 75, 218, 190, 181, 64,  199, 164, 104, 195, 174,
                                        95, 66,  121, 213, 111, 140, 142, 243, 173, 125 };
    static const int labels[FIRST] = { 3, 13, 15, 7, 9, 15, 8, 11, 2, 9, 9, 11, 15, 15, 13, 0, 1, 3, 4, 3 };
    struct token_recipe recipe = recipe_published();
    struct token_corpus *corpus = token_corpus_open(&recipe);
    assert_int_equal(corpus->count, 3072);
    assert_memory_equal(corpus->length, lengths, sizeof lengths);
    assert_memory_equal(corpus->label, labels, sizeof labels);
    assert_true(hash_integers(corpus->length, corpus->count) == 0x735f1a9daf0127fdu);
    assert_true(hash_integers(corpus->label, corpus->count) == 0xfbacc7e587671514u);
    long tokens = 0;
    int shortest = 0, longest = 0;
    for (int i = 0; i < corpus->count; i++) {
        tokens += corpus->length[i];
        shortest += corpus->length[i] == 64;
        longest += corpus->length[i] == 256;
    }
    assert_int_equal(tokens, 448584);
    assert_int_equal(shortest, 23);
    assert_int_equal(longest, 238);
    token_corpus_close(corpus);
}

TEST(texts_of_fixed_length_draw_labels_only)
{
    static const int labels[FIRST] = { 3, 10, 3, 7, 13, 15, 14, 7, 0, 2, 3, 9, 3, 14, 0, 15, 10, 6, 12, 8 };
    struct token_recipe recipe = recipe_fixed();
    struct token_corpus *corpus = token_corpus_open(&recipe);
    assert_memory_equal(corpus->label, labels, sizeof labels);
    assert_true(hash_integers(corpus->length, corpus->count) == 0xd867ebabb92de325u);
    assert_true(hash_integers(corpus->label, corpus->count) == 0x56ddd7210658d606u);
    token_corpus_close(corpus);
}

/* Reassemble the shuffled sequences from the ranks' shares in the sample strategy, and compare them. */
TEST(the_shuffle_is_the_published_one)
{
    static const int first[FIRST] = { 790, 1247, 1910, 2346, 1555, 2124, 2195, 2652, 2738, 626,
                                      815, 2617, 2326, 1146, 1453, 562,  503,  2236, 515,  2555 };
    static const int last[] = { 2714, 2729, 993, 2530, 1976 };
    struct scheduled d = schedule_recipe(recipe_published(), batching_policies[TOKENS_SAMPLE]);
    int *texts = memory_new((size_t)d.corpus->count, sizeof *texts);
    for (int i = 0; i < d.corpus->count; i++)
        texts[i] = (int)batch_schedule_batch(d.schedule, i % RANKS, i / RANKS / 8)->example[i / RANKS % 8];
    assert_memory_equal(texts, first, sizeof first);
    assert_memory_equal(texts + d.corpus->count - 5, last, sizeof last);
    assert_true(hash_integers(texts, d.corpus->count) == 0x12112fdc357bff95u);
    free(texts);
    close_scheduled(d);
}

struct published {
    enum token_strategy strategy;
    int batches[RANKS];
    uint64_t first_batches; /* FNV-1a of samples and examples, 4 bytes each, of every rank's first three batches */
    double mean_useful, mean_padded, padding_ratio, spread; /* over steps 2 … 11 */
};

static const struct published published[] = {
    {
        .strategy = TOKENS_SAMPLE,
        .batches = { 96, 96, 96, 96 },
        .first_batches = 0x23fee57d4b59a731u,
        .mean_useful = 4642.1,
        .mean_padded = 7674.4,
        .padding_ratio = 0.3951188366517251,
        .spread = 382,
    },
    {
        .strategy = TOKENS_BUCKET,
        .batches = { 96, 96, 96, 96 },
        .first_batches = 0xc6b590ee32c80a1fu,
        .mean_useful = 5018.6,
        .mean_padded = 5051.2,
        .padding_ratio = 0.006453911941716739,
        .spread = 51.7,
    },
    {
        .strategy = TOKENS_BUDGET,
        .batches = { 94, 93, 92, 93 },
        .first_batches = 0x8b166e34988ca9acu,
        .mean_useful = 4838.6,
        .mean_padded = 4866,
        .padding_ratio = 0.005630908343608687,
        .spread = 83.3,
    },
};

static uint64_t hash_first_batches(const struct batch_schedule *schedule)
{
    uint64_t hash = HASH_BEGIN;
    for (int rank = 0; rank < schedule->ranks; rank++)
        for (int step = 0; step < 3; step++) {
            const struct token_batch *batch = batch_schedule_batch(schedule, rank, step);
            hash = hash_word(hash, (uint32_t)batch->samples);
            for (int i = 0; i < batch->samples; i++)
                hash = hash_word(hash, batch->example[i]);
        }
    return hash;
}

static void assert_published(const struct published *p, const struct batch_schedule *schedule)
{
    assert_memory_equal(schedule->batches, p->batches, sizeof p->batches);
    assert_true(hash_first_batches(schedule) == p->first_batches);
    struct token_means means = batch_schedule_means(schedule, SKIPPED, STEPS);
    assert_exactly(means.useful, p->mean_useful);
    assert_exactly(means.padded, p->mean_padded);
    assert_exactly(means.padding_ratio, p->padding_ratio);
    assert_exactly(means.spread, p->spread);
}

TEST(batches_are_the_published_ones)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct scheduled d = schedule_recipe(recipe_published(), batching_policies[published[i].strategy]);
        assert_published(&published[i], d.schedule);
        close_scheduled(d);
    }
}

TEST(batches_of_fixed_length_are_all_alike)
{
    struct scheduled d = schedule_recipe(recipe_fixed(), batching_policies[TOKENS_SAMPLE]);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(d.schedule->batches[rank], 96);
        for (int step = 0; step < 96; step++) {
            const struct token_batch *batch = batch_schedule_batch(d.schedule, rank, step);
            assert_int_equal(batch->useful, 1024);
            assert_int_equal(batch->padded, 1024);
            assert_int_equal(batch->samples, 8);
            assert_int_equal(batch->longest, 128);
        }
    }
    assert_true(hash_first_batches(d.schedule) == published[0].first_batches); /* the same shuffle */
    struct token_means means = batch_schedule_means(d.schedule, SKIPPED, STEPS);
    assert_exactly(means.useful, 4096);
    assert_exactly(means.padding_ratio, 0);
    assert_exactly(means.spread, 0);
    close_scheduled(d);
}

/* Compare means over a whole epoch, which the post did not report, with the Python program. */
TEST(epochs_are_pythons)
{
    static const struct {
        enum token_strategy strategy;
        bool is_independent;
        int steps;
        double useful, padded, spread, most_padded, most_pairs, padded_balance, pairs_balance;
        int most_batches, dropped_texts, dropped_tokens;
    } epochs[] = {
        { TOKENS_SAMPLE, false, 96, 4672.75, 7648.5, 381.7708333333333, 2044.75, 522652.75, 0.9351387700207849,
          0.8842583181025389, 96, 0, 0 },
        { TOKENS_BUCKET, false, 96, 4672.75, 4700.333333333333, 40.625, 1195.75, 210221.91666666666, 0.9827165656143284,
          0.9669733927995932, 96, 0, 0 },
        { TOKENS_BUCKET, true, 96, 4672.75, 4700.333333333333, 1048.9166666666667, 1736.5, 390104.5, 0.6766964200019195,
          0.5210885801112266, 96, 0, 0 },
        { TOKENS_BUDGET, false, 92, 4822.913043478261, 4853.728260869565, 109.34782608695652, 1260.5869565217392,
          268986.152173913, 0.9625929087554106, 0.7826048080057136, 94, 57, 4876 },
        { TOKENS_BUDGET, true, 92, 4824.717391304348, 4855.641304347826, 123.04347826086956, 1268.75,
          292335.72826086957, 0.956776611694153, 0.7173968884866481, 94, 36, 4710 },
        { TOKENS_PAIRS, false, 101, 4314.792079207921, 4351.475247524752, 534.6633663366337, 1376.019801980198,
          197676.47524752477, 0.7905909568420901, 0.9534873438567788, 105, 112, 12790 },
        { TOKENS_PAIRS, true, 101, 4326.297029702971, 4363.891089108911, 845.039603960396, 1624.5940594059407,
          199428.900990099, 0.6715356159040491, 0.9468025628032204, 105, 103, 11628 },
        { TOKENS_GLOBAL_BUCKET, false, 96, 4672.75, 4699.833333333333, 1.4479166666666667, 1175.5, 203425.66666666666,
          0.9995392031759535, 0.9991970859134459, 96, 0, 0 },
        { TOKENS_PACKED, false, 96, 4672.75, 4672.75, 381.7708333333333, 1360.5729166666667, 262684.5729166667,
          0.8585997014125483, 0.7654648305027112, 96, 0, 0 },
        { TOKENS_FILLED, false, 94, 4759.244680851064, 4759.244680851064, 138.56382978723406, 1251.1702127659576,
          235121.37234042553, 0.9509586769832497, 0.8706490952680891, 95, 7, 1215 },
    };
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        struct batching_policy policy = batching_policies[epochs[i].strategy];
        policy.is_independent = epochs[i].is_independent;
        struct scheduled d = schedule_recipe(recipe_published(), policy);
        assert_int_equal(batch_schedule_epoch(d.schedule), epochs[i].steps);
        struct token_means means = batch_schedule_means(d.schedule, 0, epochs[i].steps);
        assert_relatively_near(means.useful, epochs[i].useful, 1e-12);
        assert_relatively_near(means.padded, epochs[i].padded, 1e-12);
        assert_relatively_near(means.padding_ratio, 1 - epochs[i].useful / epochs[i].padded, 1e-12);
        assert_relatively_near(means.spread, epochs[i].spread, 1e-12);
        assert_relatively_near(means.most_padded, epochs[i].most_padded, 1e-12);
        assert_relatively_near(means.most_pairs, epochs[i].most_pairs, 1e-12);
        assert_relatively_near(means.padded_balance, epochs[i].padded_balance, 1e-12);
        assert_relatively_near(means.pairs_balance, epochs[i].pairs_balance, 1e-12);
        struct token_epoch epoch = token_epoch_of(d.schedule);
        assert_int_equal(epoch.steps, epochs[i].steps);
        assert_int_equal(epoch.most_batches, epochs[i].most_batches);
        assert_int_equal(epoch.texts, 3072);
        assert_int_equal(epoch.tokens, 448584);
        assert_int_equal(epoch.dropped_texts, epochs[i].dropped_texts);
        assert_int_equal(epoch.dropped_tokens, epochs[i].dropped_tokens);
        close_scheduled(d);
    }
}

/* --- any recipe --------------------------------------------------------------------------------------------------- */

static int draw_between(struct random *random, int low, int high)
{
    return low + (int)random_below(random, (uint32_t)(high - low + 1));
}

static struct token_recipe draw_recipe(struct random *random)
{
    int shortest = draw_between(random, 1, 40);
    return (struct token_recipe){
        .seed = random_below(random, 1 << 30),
        .steps = draw_between(random, 1, 4),
        .batch_size = draw_between(random, 1, 6),
        .ranks = draw_between(random, 1, 7),
        .max_tokens = draw_between(random, 1, draw_between(random, 0, 3) ? 400 : 6000),
        .num_classes = draw_between(random, 1, 20),
        .min_length = shortest,
        .max_length = draw_between(random, shortest, 120),
        .outlier_prob = random_unit(random) / 2,
        .is_fixed = draw_between(random, 0, 7) == 0,
        .fixed_length = draw_between(random, 1, 50),
    };
}

static struct batching_policy draw_policy(struct random *random)
{
    return (struct batching_policy){
        .order = (enum token_order)random_below(random, ORDER_GLOBAL + 1),
        .limit = (enum token_limit)random_below(random, LIMIT_PAIRS + 1),
        .is_independent = random_below(random, 2) == 1,
        .is_packed = random_below(random, 2) == 1,
    };
}

/* Call `check` with many random recipes and batching policies. */
static void try_many(uint64_t seed, void (*check)(struct scheduled d))
{
    struct random random;
    random_seed(&random, seed);
    for (int i = 0; i < 400; i++) {
        struct token_recipe recipe = draw_recipe(&random);
        struct scheduled d = schedule_recipe(recipe, draw_policy(&random));
        check(d);
        close_scheduled(d);
    }
}

/* Return the number of times that the schedule uses each sequence, in all ranks or, if `rank` >= 0, in this rank. Free the array. */
static int *count_uses(struct scheduled d, int rank)
{
    int *times = memory_new((size_t)d.corpus->count, sizeof *times);
    for (int r = 0; r < d.schedule->ranks; r++)
        for (int step = 0; (rank < 0 || r == rank) && step < d.schedule->batches[r]; step++)
            for (int i = 0; i < d.schedule->batch[r][step].samples; i++)
                times[d.schedule->batch[r][step].example[i]]++;
    return times;
}

static void check_texts_are_dealt_once(struct scheduled d)
{
    int *times = count_uses(d, -1), left_out = 0;
    for (int i = 0; i < d.corpus->count; i++) {
        assert_between(times[i], 0, 1);
        left_out += !times[i];
    }
    assert_true(d.policy.order == ORDER_GLOBAL ? left_out < d.recipe.ranks : left_out == 0);
    free(times);
}

TEST(every_text_is_dealt_once)
{
    try_many(1, check_texts_are_dealt_once);
}

/* Check that every batching policy gives a rank the share that the sample strategy gives it. */
static void check_shares(struct scheduled d)
{
    if (d.policy.order == ORDER_GLOBAL)
        return;
    struct scheduled sample = schedule_recipe(d.recipe, batching_policies[TOKENS_SAMPLE]);
    for (int rank = 0; rank < d.recipe.ranks; rank++) {
        int *times = count_uses(d, rank), *expected = count_uses(sample, rank);
        assert_memory_equal(times, expected, (size_t)d.corpus->count * sizeof *times);
        free(expected);
        free(times);
    }
    close_scheduled(sample);
}

TEST(shares_do_not_depend_on_the_dealing)
{
    try_many(2, check_shares);
}

/* Recount the tokens of a batch without the running sums that the schedule uses. */
static void assert_counts(struct scheduled d, const struct token_batch *batch)
{
    long useful = 0, squares = 0, computed = 0;
    int longest = 0;
    for (int i = 0; i < batch->samples; i++) {
        int length = d.corpus->length[batch->example[i]];
        useful += length;
        squares += (long)length * length;
        computed += (long)length * device_attention_queries(length);
        longest = length > longest ? length : longest;
    }
    assert_int_equal(batch->longest, longest);
    assert_int_equal(batch->useful, useful);
    assert_int_equal(batch->padded, d.policy.is_packed ? useful : batch->samples * longest);
    assert_int_equal(batch->pairs, d.policy.is_packed ? squares : (long)batch->samples * longest * longest);
    assert_int_equal(batch->computed_pairs, d.policy.is_packed
                                                ? computed
                                                : (long)batch->samples * longest * device_attention_queries(longest));
}

static void assert_within_limit(struct scheduled d, const struct token_batch *batch)
{
    assert_true(batch->samples >= 1);
    if (d.policy.limit == LIMIT_SAMPLES)
        assert_between(batch->samples, 1, d.recipe.batch_size);
    if (d.policy.limit == LIMIT_PADDED && batch->samples > 1)
        assert_between(batch->padded, 1, d.recipe.max_tokens);
    double middle = d.recipe.is_fixed ? d.recipe.fixed_length : (d.recipe.min_length + d.recipe.max_length) / 2.0;
    if (d.policy.limit == LIMIT_PAIRS && batch->samples > 1)
        assert_true((double)batch->pairs <= d.recipe.max_tokens * middle);
}

static void check_batches(struct scheduled d)
{
    assert_int_equal(d.schedule->is_packed, d.policy.is_packed);
    for (int rank = 0; rank < d.recipe.ranks; rank++) {
        assert_true(d.schedule->batches[rank] >= 1);
        int incomplete = 0;
        for (int step = 0; step < d.schedule->batches[rank]; step++) {
            assert_counts(d, &d.schedule->batch[rank][step]);
            assert_within_limit(d, &d.schedule->batch[rank][step]);
            incomplete += d.schedule->batch[rank][step].samples < d.recipe.batch_size;
        }
        if (d.policy.limit == LIMIT_SAMPLES)
            assert_between(incomplete, 0, 1);
    }
}

TEST(batches_hold_what_they_may)
{
    try_many(3, check_batches);
}

static int compare_batches(const void *a, const void *b)
{
    const struct token_batch *x = a, *y = b;
    return (x->example[0] > y->example[0]) - (x->example[0] < y->example[0]);
}

/* Assert that a rank has the same batches in both schedules, in any order. Sorts the batches of both. */
static void assert_permuted(struct batch_schedule *a, struct batch_schedule *b, int rank)
{
    assert_int_equal(a->batches[rank], b->batches[rank]);
    qsort(a->batch[rank], (size_t)a->batches[rank], sizeof *a->batch[rank], compare_batches);
    qsort(b->batch[rank], (size_t)b->batches[rank], sizeof *b->batch[rank], compare_batches);
    for (int i = 0; i < a->batches[rank]; i++) {
        const struct token_batch *x = &a->batch[rank][i], *y = &b->batch[rank][i];
        assert_int_equal(x->samples, y->samples);
        assert_memory_equal(x->example, y->example, (size_t)x->samples * sizeof *x->example);
    }
}

/* Check that `is_independent` only reorders batches, and only in policies that sort each rank's own share. */
static void check_independent_shuffles(struct scheduled d)
{
    d.policy.is_independent = !d.policy.is_independent;
    struct scheduled other = schedule_recipe(d.recipe, d.policy);
    for (int rank = 0; rank < d.recipe.ranks; rank++) {
        for (int step = 0; d.policy.order != ORDER_SORTED && step < d.schedule->batches[rank]; step++)
            assert_int_equal(d.schedule->batch[rank][step].example[0], other.schedule->batch[rank][step].example[0]);
        assert_permuted(d.schedule, other.schedule, rank);
    }
    close_scheduled(other);
}

TEST(independent_shuffles_permute_the_same_batches)
{
    try_many(4, check_independent_shuffles);
}

/* Sort sequences of equal length: a stable sort changes only the order of the batches. */
TEST(sorting_is_stable)
{
    struct token_recipe recipe = recipe_fixed();
    struct scheduled sample = schedule_recipe(recipe, batching_policies[TOKENS_SAMPLE]);
    struct scheduled bucket = schedule_recipe(recipe, batching_policies[TOKENS_BUCKET]);
    for (int rank = 0; rank < RANKS; rank++)
        assert_permuted(sample.schedule, bucket.schedule, rank);
    close_scheduled(sample);
    close_scheduled(bucket);
}

/* Range of sequence lengths in one step. */
struct span {
    int shortest, longest;
};

static struct span span_over(struct scheduled d, int first_rank, int last_rank, int step)
{
    struct span span = { .shortest = 1 << 30 };
    for (int rank = first_rank; rank < last_rank; rank++) {
        const struct token_batch *batch = &d.schedule->batch[rank][step];
        for (int i = 0; i < batch->samples; i++) {
            int length = d.corpus->length[batch->example[i]];
            span.shortest = length < span.shortest ? length : span.shortest;
            span.longest = length > span.longest ? length : span.longest;
        }
    }
    return span;
}

/* Assert that the length ranges of different steps do not overlap. */
static void assert_separate(struct scheduled d, int first_rank, int last_rank)
{
    int steps = d.schedule->batches[first_rank];
    struct span *span = memory_new((size_t)steps, sizeof *span);
    for (int i = 0; i < steps; i++) {
        span[i] = span_over(d, first_rank, last_rank, i);
        for (int j = 0; j < i; j++)
            assert_true(span[i].longest <= span[j].shortest || span[j].longest <= span[i].shortest);
    }
    free(span);
}

static void check_length_classes(struct scheduled d)
{
    if (d.policy.order == ORDER_GLOBAL) {
        for (int rank = 1; rank < d.recipe.ranks; rank++)
            assert_int_equal(d.schedule->batches[rank], d.schedule->batches[0]);
        assert_separate(d, 0, d.recipe.ranks);
    }
    for (int rank = 0; d.policy.order == ORDER_SORTED && rank < d.recipe.ranks; rank++)
        assert_separate(d, rank, rank + 1);
}

TEST(sorted_batches_are_length_classes)
{
    try_many(5, check_length_classes);
}

TEST(packing_changes_no_batch_of_sample)
{
    struct scheduled sample = schedule_recipe(recipe_published(), batching_policies[TOKENS_SAMPLE]);
    struct scheduled packed = schedule_recipe(recipe_published(), batching_policies[TOKENS_PACKED]);
    for (int rank = 0; rank < RANKS; rank++)
        assert_permuted(sample.schedule, packed.schedule, rank);
    close_scheduled(sample);
    close_scheduled(packed);
}

/* --- the edges ---------------------------------------------------------------------------------------------------- */

TEST(a_text_longer_than_the_budget_is_a_batch)
{
    struct token_recipe recipe = recipe_published();
    recipe.max_tokens = 63;
    struct scheduled d = schedule_recipe(recipe, batching_policies[TOKENS_BUDGET]);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(d.schedule->batches[rank], 3072 / RANKS);
    close_scheduled(d);
}

TEST(texts_of_one_token_need_no_padding)
{
    struct token_recipe recipe = recipe_published();
    recipe.min_length = recipe.max_length = recipe.ranks = recipe.batch_size = recipe.steps = 1;
    recipe.max_tokens = 3;
    for (int i = 0; i < TOKENS_STRATEGIES; i++) {
        struct scheduled d = schedule_recipe(recipe, batching_policies[i]);
        struct token_means means = batch_schedule_means(d.schedule, 0, batch_schedule_epoch(d.schedule));
        assert_int_equal(d.corpus->count, 8);
        assert_exactly(means.padding_ratio, 0);
        assert_exactly(means.spread, 0);
        assert_exactly(means.padded_balance, 1);
        close_scheduled(d);
    }
}

/* Check the corpus size: max_tokens x ranks / 32 = 13.1 sequences, more than the 8 that the steps need. */
TEST(a_large_budget_asks_for_more_texts)
{
    struct token_recipe recipe = recipe_published();
    recipe.steps = recipe.batch_size = recipe.ranks = 1;
    recipe.max_tokens = 420;
    struct scheduled d = schedule_recipe(recipe, batching_policies[TOKENS_SAMPLE]);
    assert_int_equal(d.corpus->count, 13);
    close_scheduled(d);
}

TEST(a_recipe_must_feed_every_rank)
{
    struct token_recipe recipe = recipe_published();
    assert_true(token_recipe_works(&recipe));
    recipe.steps = 0;
    recipe.max_tokens = 31; /* 3 sequences for 4 ranks */
    assert_false(token_recipe_works(&recipe));
    recipe.max_tokens = 32;
    assert_true(token_recipe_works(&recipe));
    recipe.steps = recipe.batch_size = recipe.ranks = INT32_MAX;
    assert_false(token_recipe_works(&recipe));
}

TEST(steps_go_round)
{
    struct scheduled d = schedule_recipe(recipe_published(), batching_policies[TOKENS_BUDGET]);
    assert_int_equal(batch_schedule_epoch(d.schedule), 92);
    assert_ptr_equal(batch_schedule_batch(d.schedule, 0, 94), batch_schedule_batch(d.schedule, 0, 0));
    assert_ptr_equal(batch_schedule_batch(d.schedule, 2, 94), batch_schedule_batch(d.schedule, 2, 2));
    close_scheduled(d);
}

/* Compare with the Python program. */
TEST(batches_of_a_budget_are_unequal)
{
    struct scheduled d = schedule_recipe(recipe_published(), batching_policies[TOKENS_BUDGET]);
    assert_relatively_near(batch_schedule_means(d.schedule, 0, 92).unequal_weight, 1.905378045867177, 1e-12);
    close_scheduled(d);
}

/* Made-up batches of two ranks in two steps. */
static struct token_batch made_up[2][2] = {
    { { .samples = 3, .longest = 6, .useful = 10, .padded = 12, .pairs = 72 },
      { .samples = 1, .longest = 10, .useful = 30, .padded = 30, .pairs = 300 } },
    { { .samples = 4, .longest = 5, .useful = 16, .padded = 20, .pairs = 60 },
      { .samples = 2, .longest = 13, .useful = 24, .padded = 26, .pairs = 400 } },
};
static const struct batch_schedule made_up_schedule = { .ranks = 2,
                                                        .batches = (int[]){ 2, 2 },
                                                        .batch = (struct token_batch *[]){ made_up[0], made_up[1] } };

TEST(means_are_these)
{
    struct token_means means = batch_schedule_means(&made_up_schedule, 0, 2);
    assert_relatively_near(means.useful, 40, 1e-12);
    assert_relatively_near(means.padded, 44, 1e-12);
    assert_relatively_near(means.padding_ratio, 1 - 40.0 / 44.0, 1e-12);
    assert_relatively_near(means.spread, 6, 1e-12);
    assert_relatively_near(means.most_padded, 25, 1e-12);
    assert_relatively_near(means.most_pairs, 236, 1e-12);
    assert_relatively_near(means.padded_balance, 22.0 / 25.0, 1e-12);
    assert_relatively_near(means.pairs_balance, 208.0 / 236.0, 1e-12);
    assert_relatively_near(means.unequal_weight, (4 / 3.0 + 2 / 1.0) / 2, 1e-12);
    assert_relatively_near(batch_schedule_means(&made_up_schedule, 1, 2).useful, 54, 1e-12);
    assert_true(isnan(batch_schedule_means(&made_up_schedule, 1, 1).useful));
}

/* Count per rank: over both steps, over one step, and beyond the last batch, where the schedule repeats. */
TEST(counts_are_these)
{
    struct token_count *count = token_count_open(&made_up_schedule, 0, 2);
    assert_relatively_near(count->means.useful, 40, 1e-12);
    assert_relatively_near(count->samples, (3 + 1 + 4 + 2) / 2.0, 1e-12);
    assert_relatively_near(count->samples_of[0], 2, 1e-12);
    assert_relatively_near(count->samples_of[1], 3, 1e-12);
    assert_relatively_near(count->useful_of[0], 20, 1e-12);
    assert_relatively_near(count->useful_of[1], 20, 1e-12);
    assert_relatively_near(count->padded_of[0], 21, 1e-12);
    assert_relatively_near(count->padded_of[1], 23, 1e-12);
    assert_int_equal(count->batches_of[0], 2);
    assert_int_equal(count->epoch.steps, 2);
    token_count_close(count);

    count = token_count_open(&made_up_schedule, 1, 2);
    assert_relatively_near(count->samples, 3, 1e-12);
    assert_relatively_near(count->useful_of[0], 30, 1e-12);
    assert_relatively_near(count->padded_of[1], 26, 1e-12);
    token_count_close(count);

    count = token_count_open(&made_up_schedule, 1, 4); /* steps 1, 0, 1 */
    assert_exactly(count->samples, (3 + 7 + 3) / 3.0); /* one division: 32.7, not 32.699999999999996 */
    assert_relatively_near(count->useful_of[1], (24 + 16 + 24) / 3.0, 1e-12);
    assert_int_equal(count->steps, 3);
    assert_int_equal(count->useful_at[0 * 2 + 1], 24);
    assert_int_equal(count->useful_at[1 * 2 + 1], 16);
    assert_int_equal(count->padded_at[2 * 2 + 1], 26);
    token_count_close(count);
    token_count_close(NULL);
}

/* Deal 25 texts to three ranks, a text in each batch. Rank 0 has 9 batches, the others 8; dealt across the ranks, one text is in no
 * batch. Either way an epoch drops one. */
TEST(what_an_epoch_drops)
{
    struct token_recipe recipe = recipe_published();
    recipe.steps = 1;
    recipe.batch_size = 1;
    recipe.ranks = 3;
    recipe.max_tokens = 267; /* 25 texts: 267 x 3 / 32 */
    const struct {
        enum token_strategy strategy;
        int steps, most_batches;
    } drops[] = { { TOKENS_SAMPLE, 8, 9 }, { TOKENS_GLOBAL_BUCKET, 8, 8 } };
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++) {
        struct scheduled d = schedule_recipe(recipe, batching_policies[drops[i].strategy]);
        struct token_epoch epoch = token_epoch_of(d.schedule);
        assert_int_equal(d.corpus->count, 25);
        assert_int_equal(epoch.texts, 25);
        assert_int_equal(epoch.steps, drops[i].steps);
        assert_int_equal(epoch.most_batches, drops[i].most_batches);
        assert_int_equal(epoch.dropped_texts, 1);
        assert_relatively_near((double)(epoch.tokens - epoch.dropped_tokens),
                               drops[i].steps * batch_schedule_means(d.schedule, 0, drops[i].steps).useful, 1e-12);
        close_scheduled(d);
    }
}

/* Check the maxima of the schedule. Each may come from another batch. */
TEST(buffers_hold_every_batch)
{
    struct batch_most most = batch_schedule_most(&made_up_schedule);
    assert_int_equal(most.rows, 30);
    assert_int_equal(most.samples, 4);
    assert_int_equal(most.length, 13);
}
