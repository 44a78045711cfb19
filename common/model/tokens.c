#include "model/tokens.h"

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXTS = 1 << 24 };

const struct batching_policy batching_policies[TOKENS_STRATEGIES] = {
    [TOKENS_SAMPLE] = { .order = ORDER_SHUFFLED, .limit = LIMIT_SAMPLES },
    [TOKENS_BUCKET] = { .order = ORDER_SORTED, .limit = LIMIT_SAMPLES },
    [TOKENS_BUDGET] = { .order = ORDER_SORTED, .limit = LIMIT_PADDED },
    [TOKENS_PAIRS] = { .order = ORDER_SORTED, .limit = LIMIT_PAIRS },
    [TOKENS_GLOBAL_BUCKET] = { .order = ORDER_GLOBAL, .limit = LIMIT_SAMPLES },
    [TOKENS_PACKED] = { .order = ORDER_SHUFFLED, .limit = LIMIT_SAMPLES, .is_packed = true },
    [TOKENS_FILLED] = { .order = ORDER_SHUFFLED, .limit = LIMIT_PADDED, .is_packed = true },
};

/* Return a double, because the product of legal settings may exceed every integer. */
double token_recipe_texts(const struct token_recipe *recipe)
{
    double for_steps = 8.0 * recipe->steps * recipe->batch_size * recipe->ranks;
    double for_budget = floor((double)recipe->max_tokens * recipe->ranks / 32);
    return fmax(for_steps, for_budget);
}

bool token_recipe_works(const struct token_recipe *recipe)
{
    double count = token_recipe_texts(recipe);
    return count >= recipe->ranks && count <= MOST_TEXTS;
}

/* Draw a length. Halves are rounded to even, as in Python. An error in the last bit of log and exp is lost in the
 * rounding: no published length is nearer to a half than 64.49967. */
static int draw_length(const struct token_recipe *recipe, struct random *random)
{
    if (recipe->is_fixed)
        return recipe->fixed_length;
    double low = log(recipe->min_length), high = log(recipe->max_length);
    double length = rint(exp(low + (high - low) * random_unit(random)));
    if (random_unit(random) < recipe->outlier_prob)
        return recipe->max_length;
    return (int)fmax(recipe->min_length, fmin(recipe->max_length, length));
}

double token_recipe_length(const struct token_recipe *recipe)
{
    if (recipe->is_fixed)
        return recipe->fixed_length;
    double low = recipe->min_length, high = recipe->max_length;
    double mean = high > low ? (high - low) / log(high / low) : low; /* the logarithm of a length is uniform */
    return recipe->outlier_prob * high + (1 - recipe->outlier_prob) * mean;
}

struct token_corpus *token_corpus_open(const struct token_recipe *recipe)
{
    struct token_corpus *corpus = memory_new(1, sizeof *corpus);
    corpus->count = (int)token_recipe_texts(recipe);
    corpus->length = memory_new_array(MEMORY_DATA, (size_t)corpus->count, sizeof *corpus->length);
    corpus->label = memory_new_array(MEMORY_DATA, (size_t)corpus->count, sizeof *corpus->label);
    struct random random;
    random_seed(&random, recipe->seed);
    for (int i = 0; i < corpus->count; i++) {
        corpus->length[i] = draw_length(recipe, &random);
        corpus->label[i] = (int)random_below(&random, (uint32_t)recipe->num_classes);
    }
    return corpus;
}

void token_corpus_close(struct token_corpus *corpus)
{
    memory_free_array(corpus->length);
    memory_free_array(corpus->label);
    free(corpus);
}

/* Inputs of a batch schedule. */
struct scheduler {
    const struct token_recipe *recipe;
    const struct token_corpus *corpus;
    struct batching_policy policy;
    struct random shared; /* shuffles the sequences, then the batches */
};

/* Shuffle the sequences, equally on all ranks. Leave the generator where the batches continue. */
static uint32_t *shuffle_texts(struct scheduler *d)
{
    uint32_t count = (uint32_t)d->corpus->count;
    uint32_t *texts = memory_new(count, sizeof *texts);
    for (uint32_t i = 0; i < count; i++)
        texts[i] = i;
    random_seed_plus(&d->shared, d->recipe->seed, 17);
    random_shuffle(&d->shared, texts, count);
    return texts;
}

/* Sort stably: count the lengths, then place each sequence after the shorter ones and the equal ones before it. */
static void sort_by_length(const struct token_corpus *corpus, uint32_t *texts, int count)
{
    int longest = 0;
    for (int i = 0; i < count; i++)
        longest = corpus->length[texts[i]] > longest ? corpus->length[texts[i]] : longest;
    int *place = memory_new((size_t)longest + 2, sizeof *place);
    for (int i = 0; i < count; i++)
        place[corpus->length[texts[i]] + 1]++;
    for (int length = 0; length <= longest; length++)
        place[length + 1] += place[length];
    uint32_t *sorted = memory_new((size_t)count, sizeof *sorted);
    for (int i = 0; i < count; i++)
        sorted[place[corpus->length[texts[i]]]++] = texts[i];
    memcpy(texts, sorted, (size_t)count * sizeof *texts);
    free(sorted);
    free(place);
}

static struct token_batch batch_with(struct token_batch batch, int length, bool is_packed)
{
    batch.samples++;
    batch.longest = length > batch.longest ? length : batch.longest;
    batch.useful += length;
    batch.padded = is_packed ? batch.useful : (long)batch.samples * batch.longest;
    batch.pairs = is_packed ? batch.pairs + (long)length * length : batch.padded * batch.longest;
    batch.computed_pairs = is_packed ? batch.computed_pairs + (long)length * device_attention_queries(length)
                                     : batch.padded * device_attention_queries(batch.longest);
    return batch;
}

static bool batch_fits(const struct token_batch *batch, enum token_limit limit, const struct token_recipe *recipe)
{
    if (limit == LIMIT_SAMPLES)
        return batch->samples <= recipe->batch_size;
    if (limit == LIMIT_PADDED)
        return batch->padded <= recipe->max_tokens;
    long twice_middle = recipe->is_fixed ? 2L * recipe->fixed_length : (long)recipe->min_length + recipe->max_length;
    return 2 * batch->pairs <= recipe->max_tokens * twice_middle;
}

/* Cut sequences into pieces. Each piece gives one batch to each of `ranks` ranks, round-robin. A piece ends before the
 * sequence that would overfill its batch. Fill start[0 … pieces]; return the number of pieces. */
static int cut(const struct scheduler *d, const uint32_t *texts, int count, int ranks, int *start)
{
    struct token_batch *open = memory_new((size_t)ranks, sizeof *open);
    int pieces = 0, begin = 0;
    for (int i = 0; i < count; i++) {
        int length = d->corpus->length[texts[i]];
        struct token_batch *due = &open[(i - begin) % ranks];
        struct token_batch fuller = batch_with(*due, length, d->policy.is_packed);
        if (due->samples && !batch_fits(&fuller, d->policy.limit, d->recipe)) {
            start[pieces++] = begin;
            begin = i;
            memset(open, 0, (size_t)ranks * sizeof *open);
            due = open;
            fuller = batch_with(*due, length, d->policy.is_packed);
        }
        *due = fuller;
    }
    free(open);
    if (count - begin < ranks)
        count = begin; /* fewer sequences than ranks */
    else
        start[pieces++] = begin;
    start[pieces] = count;
    return pieces;
}

/* Return one rank's batch of a piece of `count` sequences. Write its examples to `example`. */
static struct token_batch build_batch(const struct scheduler *d, const uint32_t *piece, int count, int rank, int ranks,
                                      uint32_t *example)
{
    struct token_batch batch = { 0 };
    for (int i = rank; i < count; i += ranks) {
        example[batch.samples] = piece[i];
        batch = batch_with(batch, d->corpus->length[piece[i]], d->policy.is_packed);
    }
    batch.example = example;
    return batch;
}

/* Fill `turn` with the order in which pieces are trained on. `rank` is the first rank that trains on them. */
static void order_pieces(const struct scheduler *d, int rank, uint32_t *turn, int pieces)
{
    for (int i = 0; i < pieces; i++)
        turn[i] = (uint32_t)i;
    if (d->policy.order == ORDER_SHUFFLED)
        return;
    struct random random = d->shared;
    if (d->policy.order == ORDER_SORTED && d->policy.is_independent)
        random_seed_plus(&random, d->recipe->seed, 17 + 1000 * ((uint64_t)rank + 1));
    random_shuffle(&random, turn, (size_t)pieces);
}

/* Schedule sequences on `ranks` ranks from `first` on. Their examples fill `example` (count), rank after rank. */
static void schedule_ranks(struct batch_schedule *schedule, const struct scheduler *d, uint32_t *texts, int count,
                           int first, int ranks, uint32_t *example)
{
    if (d->policy.order != ORDER_SHUFFLED)
        sort_by_length(d->corpus, texts, count);
    int *start = memory_new((size_t)count + 1, sizeof *start);
    uint32_t *turn = memory_new((size_t)count, sizeof *turn);
    int pieces = cut(d, texts, count, ranks, start);
    order_pieces(d, first, turn, pieces);
    for (int rank = 0; rank < ranks; rank++) {
        struct token_batch *batch = memory_new((size_t)pieces, sizeof *batch);
        for (int i = 0; i < pieces; i++) {
            const int *piece = start + turn[i];
            batch[i] = build_batch(d, texts + piece[0], piece[1] - piece[0], rank, ranks, example);
            example += batch[i].samples;
        }
        schedule->batches[first + rank] = pieces;
        schedule->batch[first + rank] = batch;
    }
    free(turn);
    free(start);
}

static void schedule_each_rank(struct batch_schedule *schedule, const struct scheduler *d, const uint32_t *texts)
{
    int count = d->corpus->count, before = 0;
    uint32_t *share = memory_new((size_t)count, sizeof *share);
    for (int rank = 0; rank < schedule->ranks; rank++) {
        int held = 0;
        for (int i = rank; i < count; i += schedule->ranks)
            share[held++] = texts[i];
        schedule_ranks(schedule, d, share, held, rank, 1, schedule->example + before);
        before += held;
    }
    free(share);
}

struct batch_schedule *batch_schedule_open(const struct token_recipe *recipe, const struct token_corpus *corpus,
                                           struct batching_policy policy)
{
    size_t ranks = (size_t)recipe->ranks;
    struct batch_schedule *schedule = memory_new(1, sizeof *schedule);
    if (!corpus)
        corpus = schedule->drawn = token_corpus_open(recipe);
    schedule->ranks = recipe->ranks;
    schedule->is_packed = policy.is_packed;
    schedule->batches = memory_new(ranks, sizeof *schedule->batches);
    schedule->batch = memory_new(ranks, sizeof *schedule->batch);
    schedule->example = memory_new_array(MEMORY_DATA, (size_t)corpus->count, sizeof *schedule->example);
    schedule->texts = corpus->count;
    for (int i = 0; i < corpus->count; i++)
        schedule->tokens += corpus->length[i];
    struct scheduler scheduler = { .recipe = recipe, .corpus = corpus, .policy = policy };
    uint32_t *texts = shuffle_texts(&scheduler);
    if (policy.order == ORDER_GLOBAL)
        schedule_ranks(schedule, &scheduler, texts, corpus->count, 0, schedule->ranks, schedule->example);
    else
        schedule_each_rank(schedule, &scheduler, texts);
    free(texts);
    return schedule;
}

void batch_schedule_close(struct batch_schedule *schedule)
{
    for (int rank = 0; rank < schedule->ranks; rank++)
        free(schedule->batch[rank]);
    free(schedule->batch);
    free(schedule->batches);
    memory_free_array(schedule->example);
    if (schedule->drawn)
        token_corpus_close(schedule->drawn);
    free(schedule);
}

const struct token_batch *batch_schedule_batch(const struct batch_schedule *schedule, int rank, int step)
{
    int batches = schedule->batches[rank], beyond = step % batches; /* negative if the step is */
    return &schedule->batch[rank][beyond < 0 ? beyond + batches : beyond];
}

int batch_schedule_epoch(const struct batch_schedule *schedule)
{
    int fewest = schedule->batches[0];
    for (int rank = 1; rank < schedule->ranks; rank++)
        fewest = schedule->batches[rank] < fewest ? schedule->batches[rank] : fewest;
    return fewest;
}

struct token_epoch token_epoch_of(const struct batch_schedule *schedule)
{
    struct token_epoch epoch = { .steps = batch_schedule_epoch(schedule),
                                 .texts = schedule->texts,
                                 .dropped_texts = schedule->texts,
                                 .tokens = schedule->tokens,
                                 .dropped_tokens = schedule->tokens };
    for (int rank = 0; rank < schedule->ranks; rank++) {
        int batches = schedule->batches[rank];
        epoch.most_batches = batches > epoch.most_batches ? batches : epoch.most_batches;
        for (int step = 0; step < epoch.steps; step++) {
            epoch.dropped_texts -= schedule->batch[rank][step].samples;
            epoch.dropped_tokens -= schedule->batch[rank][step].useful;
        }
    }
    return epoch;
}

/* Sum and extremes over the ranks in one step. */
struct range {
    long sum, most, fewest;
};
static const struct range range_none = { .fewest = LONG_MAX };

static void range_add(struct range *range, long value)
{
    range->sum += value;
    range->most = value > range->most ? value : range->most;
    range->fewest = value < range->fewest ? value : range->fewest;
}

/* Add a step to the sums over steps. */
static void range_sum(struct range *all, struct range step)
{
    all->sum += step.sum;
    all->most += step.most;
    all->fewest += step.fewest;
}

struct token_means batch_schedule_means(const struct batch_schedule *schedule, int first, int last)
{
    struct range all_useful = { 0 }, all_padded = { 0 }, all_pairs = { 0 }; /* sums over steps */
    double unequal = 0;
    for (int step = first; step < last; step++) {
        struct range useful = range_none, padded = range_none, pairs = range_none, samples = range_none;
        for (int rank = 0; rank < schedule->ranks; rank++) {
            const struct token_batch *batch = batch_schedule_batch(schedule, rank, step);
            range_add(&useful, batch->useful);
            range_add(&padded, batch->padded);
            range_add(&pairs, batch->pairs);
            range_add(&samples, batch->samples);
        }
        range_sum(&all_useful, useful);
        range_sum(&all_padded, padded);
        range_sum(&all_pairs, pairs);
        unequal += (double)samples.most / (double)samples.fewest;
    }
    double steps = last - first;
    struct token_means means = {
        .useful = (double)all_useful.sum / steps,
        .padded = (double)all_padded.sum / steps,
        .spread = (double)(all_useful.most - all_useful.fewest) / steps,
        .most_padded = (double)all_padded.most / steps,
        .most_pairs = (double)all_pairs.most / steps,
        .unequal_weight = unequal / steps,
        .padded_balance = (double)all_padded.sum / ((double)all_padded.most * schedule->ranks),
        .pairs_balance = (double)all_pairs.sum / ((double)all_pairs.most * schedule->ranks),
    };
    means.padding_ratio = 1 - means.useful / means.padded;
    return means;
}

struct token_count *token_count_open(const struct batch_schedule *schedule, int first, int last)
{
    struct token_count *count = memory_new(1, sizeof *count);
    size_t ranks = (size_t)schedule->ranks;
    count->means = batch_schedule_means(schedule, first, last);
    count->samples_of = memory_new(ranks, sizeof(double));
    count->useful_of = memory_new(ranks, sizeof(double));
    count->padded_of = memory_new(ranks, sizeof(double));
    count->steps = last - first;
    count->ranks = schedule->ranks;
    count->useful_at = memory_new((size_t)count->steps * ranks, sizeof(long));
    count->padded_at = memory_new((size_t)count->steps * ranks, sizeof(long));
    count->batches_of = memory_new(ranks, sizeof(int));
    count->epoch = token_epoch_of(schedule);
    double steps = last - first, texts = 0; /* sums of whole numbers are exact: divide only once */
    for (int rank = 0; rank < schedule->ranks; rank++) {
        double samples = 0, useful = 0, padded = 0;
        for (int step = first; step < last; step++) {
            const struct token_batch *batch = batch_schedule_batch(schedule, rank, step);
            samples += batch->samples;
            useful += (double)batch->useful;
            padded += (double)batch->padded;
            count->useful_at[(step - first) * schedule->ranks + rank] = batch->useful;
            count->padded_at[(step - first) * schedule->ranks + rank] = batch->padded;
        }
        count->samples_of[rank] = samples / steps;
        count->useful_of[rank] = useful / steps;
        count->padded_of[rank] = padded / steps;
        count->batches_of[rank] = schedule->batches[rank];
        texts += samples;
    }
    count->samples = texts / steps;
    return count;
}

void token_count_close(struct token_count *count)
{
    if (!count)
        return;
    free(count->samples_of);
    free(count->useful_of);
    free(count->padded_of);
    free(count->useful_at);
    free(count->padded_at);
    free(count->batches_of);
    free(count);
}

struct batch_most batch_schedule_most(const struct batch_schedule *schedule)
{
    struct batch_most most = { 0 };
    for (int rank = 0; rank < schedule->ranks; rank++)
        for (int i = 0; i < schedule->batches[rank]; i++) {
            const struct token_batch *batch = &schedule->batch[rank][i];
            most = batch_most_of(most, (struct batch_most){ .samples = batch->samples,
                                                            .rows = (double)batch->padded,
                                                            .length = batch->longest });
        }
    return most;
}
