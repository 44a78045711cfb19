/* test_sequence_loader.c: test that the loader turns scheduled batches into rows of tokens: every row, its padding, the
 * loss scale, and the first batch. */
#include "model/sequence_loader.h"
#include "support/between.h"
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 50, SEED = 7, TEXTS = 8 };

/* Two ranks with two and three batches, so that they wrap around to their first batch in different steps. */
static int lengths[TEXTS] = { 3, 5, 2, 4, 1, 6, 2, 1 };
static int labels[TEXTS] = { 0, 1, 2, 3, 4, 5, 6, 7 };
static const struct token_corpus corpus = { .count = TEXTS, .length = lengths, .label = labels };
static uint32_t examples[TEXTS] = { 2, 0, 1, 4, 5, 3, 6, 7 };
static struct token_batch of_rank0[] = {
    { .example = examples, .samples = 3, .longest = 5, .useful = 10, .padded = 15, .pairs = 75, .computed_pairs = 240 },
    { .example = examples + 3, .samples = 1, .longest = 1, .useful = 1, .padded = 1, .pairs = 1 },
};
static struct token_batch of_rank1[] = {
    { .example = examples + 4, .samples = 1, .longest = 6, .useful = 6, .padded = 6, .pairs = 36 },
    { .example = examples + 5, .samples = 1, .longest = 4, .useful = 4, .padded = 4, .pairs = 16 },
    { .example = examples + 6, .samples = 2, .longest = 2, .useful = 3, .padded = 4, .pairs = 8 },
};
static const struct batch_schedule schedule = { .ranks = 2,
                                                .batches = (int[]){ 2, 3 },
                                                .batch = (struct token_batch *[]){ of_rank0, of_rank1 } };

static struct sequence_loader *open_loader(struct reading reading)
{
    struct sequence_loader *loader = sequence_loader_open(&corpus, VOCAB, SEED, batch_schedule_most(reading.schedule));
    sequence_loader_restart(loader, reading);
    return loader;
}

/* Copy the tokens (at most 6) that the loader drew for a sequence, read from a batch of this sequence alone. */
static void tokens_of(int example, int32_t *words)
{
    uint32_t only = (uint32_t)example;
    struct token_batch batch = {
        .example = &only, .samples = 1, .longest = lengths[example], .padded = lengths[example]
    };
    struct batch_schedule alone = { .ranks = 1, .batches = (int[]){ 1 }, .batch = (struct token_batch *[]){ &batch } };
    struct sequence_loader *loader = open_loader((struct reading){ .schedule = &alone });
    memcpy(words, sequence_loader_next(loader)->token, (size_t)lengths[example] * sizeof *words);
    sequence_loader_close(loader);
}

/* Check position and every row of sequence `i` of the batch. */
static void assert_text(const struct batch *batch, int i, int example, int first, int extent)
{
    int32_t words[6];
    tokens_of(example, words);
    const struct sequence *text = &batch->sequence[i];
    assert_int_equal(text->first, first);
    assert_int_equal(text->tokens, lengths[example]);
    assert_int_equal(text->extent, extent);
    assert_int_equal(batch->labels[i], labels[example]);
    for (int row = 0; row < extent; row++)
        assert_int_equal(batch->token[first + row], row < lengths[example] ? words[row] : 0);
}

static void assert_scale(const struct batch *batch, double texts)
{
    assert_true(fabs(batch->scale * texts - 1) <= 1e-6);
}

TEST(words_are_never_padding_and_alike_everywhere)
{
    int32_t words[6], again[6];
    for (int example = 0; example < TEXTS; example++) {
        tokens_of(example, words);
        tokens_of(example, again);
        assert_memory_equal(words, again, (size_t)lengths[example] * sizeof *words);
        for (int i = 0; i < lengths[example]; i++)
            assert_between(words[i], 1, VOCAB - 1);
    }
    tokens_of(1, words);
    tokens_of(5, again);
    assert_memory_not_equal(words, again, 5 * sizeof *words);
}

TEST(a_padded_batch_is_a_rectangle)
{
    struct sequence_loader *loader = open_loader((struct reading){ .schedule = &schedule, .rank = 0 });
    const struct batch *batch = sequence_loader_next(loader);
    assert_int_equal(batch->rows, 15);
    assert_int_equal(batch->samples, 3);
    assert_text(batch, 0, 2, 0, 5);
    assert_text(batch, 1, 0, 5, 5);
    assert_text(batch, 2, 1, 10, 5);
    batch = sequence_loader_next(loader); /* must not contain rows of the previous batch */
    assert_int_equal(batch->rows, 1);
    assert_int_equal(batch->samples, 1);
    assert_text(batch, 0, 4, 0, 1);
    sequence_loader_close(loader);
}

TEST(packed_texts_lie_end_to_end)
{
    struct token_batch batch_packed = of_rank0[0];
    batch_packed.padded = batch_packed.useful;
    batch_packed.pairs = 2 * 2 + 3 * 3 + 5 * 5;
    struct batch_schedule packed = {
        .ranks = 1, .is_packed = true, .batches = (int[]){ 1 }, .batch = (struct token_batch *[]){ &batch_packed }
    };
    struct sequence_loader *loader = open_loader((struct reading){ .schedule = &packed });
    const struct batch *batch = sequence_loader_next(loader);
    assert_int_equal(batch->rows, 10);
    assert_int_equal(batch->samples, 3);
    assert_text(batch, 0, 2, 0, 2);
    assert_text(batch, 1, 0, 2, 3);
    assert_text(batch, 2, 1, 5, 5);
    sequence_loader_close(loader);
}

/* Check the scale when ranks' means are averaged: a sequence has weight 1/(ranks x sequences of its own batch). */
TEST(each_rank_counts_alike)
{
    struct sequence_loader *loader = open_loader((struct reading){ .schedule = &schedule, .rank = 0 });
    assert_scale(sequence_loader_next(loader), 2 * 3);
    assert_scale(sequence_loader_next(loader), 2 * 1);
    sequence_loader_close(loader);
    loader = open_loader((struct reading){ .schedule = &schedule, .rank = 1 });
    assert_scale(sequence_loader_next(loader), 2 * 1);
    sequence_loader_close(loader);
}

/* Check the scale when all sequences of a step have the same weight on every rank, after wrap-around too: in step 2 rank 0
 * has its first batch and rank 1 its third. In step -1 both have their last batch. */
TEST(each_text_counts_alike)
{
    static const int texts[] = { 3 + 1, 1 + 2, 3 + 1, 1 + 1, 3 + 2, 1 + 1 };
    for (int rank = 0; rank < 2; rank++) {
        struct sequence_loader *loader =
            open_loader((struct reading){ .schedule = &schedule, .rank = rank, .first = -2, .weighs_by_texts = true });
        for (int i = 0; i < 6; i++)
            assert_scale(sequence_loader_next(loader), texts[i]);
        sequence_loader_close(loader);
    }
}

/* Return the label of the first sequence that rank 1 reads if it starts with step `first`. */
static int label_from(int first)
{
    struct sequence_loader *loader = open_loader((struct reading){ .schedule = &schedule, .rank = 1, .first = first });
    int label = sequence_loader_next(loader)->labels[0];
    sequence_loader_close(loader);
    return label;
}

TEST(a_rank_begins_again_after_its_last)
{
    assert_int_equal(label_from(0), 5);
    assert_int_equal(label_from(1), 3);
    assert_int_equal(label_from(2), 6);
    assert_int_equal(label_from(3), 5);
    assert_int_equal(label_from(7), 3);
}

/* Check negative steps: they are the last batches of the same rank, regardless of the other rank. */
TEST(a_step_below_zero_is_of_the_round_before)
{
    assert_int_equal(label_from(-1), 6);
    assert_int_equal(label_from(-2), 3);
    assert_int_equal(label_from(-3), 5);
    assert_int_equal(label_from(-4), 6);
    struct sequence_loader *loader = open_loader((struct reading){ .schedule = &schedule, .rank = 1, .first = -2 });
    static const int expected[] = { 3, 6, 5, 3 };
    for (int i = 0; i < 4; i++)
        assert_int_equal(sequence_loader_next(loader)->labels[0], expected[i]);
    sequence_loader_close(loader);
}

TEST(work_is_what_the_batch_computes)
{
    struct work work = token_work(&of_rank0[0]);
    assert_true(fabs(work.samples - 3) <= 0);
    assert_true(fabs(work.padded_tokens - 15) <= 0);
    assert_true(fabs(work.padded_token_length - 75) <= 0);
    assert_true(fabs(work.computed_token_length - 240) <= 0);
}
