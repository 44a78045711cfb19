/* tokens: sequences of different length, and how they are divided into batches.
 *
 * The recipe is that of the post "Why Variable Sequence Length Breaks DDP Throughput" (2026), draw by draw: with the
 * published flags every length, label, batch and token count is the published one. Nothing here depends on the calling
 * process: any rank can compute every rank's batches.
 *
 * All ranks draw the same sequences and shuffle them alike. Rank r takes every ranks-th sequence from the r-th on. A
 * batching policy makes batches of such a share. A step trains on one batch per rank. */
#ifndef LOCKSTEP_TOKENS_H
#define LOCKSTEP_TOKENS_H

#include "model/batch.h"

#include <stdbool.h>
#include <stdint.h>

/* Published flags: seed >= 0, all other integers >= 1, lengths <= 65,536, min_length <= max_length. */
struct token_recipe {
    uint64_t seed;
    int steps, batch_size, ranks;
    int max_tokens;             /* budget of a batch, in padded tokens */
    int num_classes;            /* labels are 0 … num_classes-1 */
    int min_length, max_length; /* the logarithm of a length, in tokens, is uniform between these, … */
    double outlier_prob;        /* … but this share of the sequences has max_length */
    bool is_fixed;              /* every sequence has fixed_length instead */
    int fixed_length;
};

/* True if every rank gets a batch under any batching policy, and the sequences are at most 2^24, few enough to be kept.
 * All functions below require this. */
bool token_recipe_works(const struct token_recipe *recipe);

/* Sequences of a recipe: max(8 steps x batch_size x ranks, max_tokens x ranks / 32) of them. Another number of ranks or
 * steps gives another number of sequences, and therefore another shuffle. */
struct token_corpus {
    int count;
    int *length; /* (count), tokens */
    int *label;  /* (count) */
};
double token_recipe_texts(const struct token_recipe *recipe);
double token_recipe_length(const struct token_recipe *recipe); /* mean tokens of a sequence */
struct token_corpus *token_corpus_open(const struct token_recipe *recipe);
void token_corpus_close(struct token_corpus *corpus);

/* Order in which sequences are divided into batches. Sorting is stable. Batches of sorted sequences are shuffled,
 * otherwise the run would go from short sequences to long ones. Batches of shuffled sequences keep their order. */
enum token_order {
    ORDER_SHUFFLED, /* a rank's share, in shuffled order */
    ORDER_SORTED,   /* a rank's share by length */
    ORDER_GLOBAL,   /* all shares together by length, round-robin over the ranks: the batches of a step are neighbours
                       in length. Fewer than `ranks` sequences may be left over; they are dropped. */
};

/* Limit of a batch. An empty batch takes any sequence. */
enum token_limit {
    LIMIT_SAMPLES, /* batch_size sequences */
    LIMIT_PADDED,  /* max_tokens padded tokens */
    LIMIT_PAIRS,   /* max_tokens x (min_length + max_length) / 2 pairs (fixed: x fixed_length). Attention's cost grows
                      with padded tokens x length; sequences of the middle length fill both budgets alike. */
};

/* Batching policy. Any combination is legal. */
struct batching_policy {
    enum token_order order;
    enum token_limit limit;
    /* ORDER_SORTED: each rank shuffles its batches with its own seed, seed + 17 + 1000 (rank + 1). The published runs
     * have one shuffle for all ranks: a generator seeded seed + 17 shuffles the sequences, then the batches. Ranks with
     * equally many batches then have the same length class in the same step. */
    bool is_independent;
    /* Sequences lie end to end, each attending only to itself, instead of each being padded to the longest. */
    bool is_packed;
};

/* Named batching policies; the first three are the published ones. */
enum token_strategy {
    TOKENS_SAMPLE,
    TOKENS_BUCKET,
    TOKENS_BUDGET,        /* published as "token" */
    TOKENS_PAIRS,         /* a budget of padded tokens x length */
    TOKENS_GLOBAL_BUCKET, /* buckets across ranks */
    TOKENS_PACKED,        /* the batches of TOKENS_SAMPLE, packed */
    TOKENS_FILLED,        /* shuffled sequences, packed until the next one would exceed max_tokens */
    TOKENS_STRATEGIES,
};
extern const struct batching_policy batching_policies[TOKENS_STRATEGIES];

struct token_batch {
    const uint32_t *example; /* (samples) indices in the corpus; the schedule owns them */
    int samples;
    int longest;         /* tokens */
    long useful;         /* tokens of the sequences */
    long padded;         /* tokens that are computed: samples x longest; packed: useful */
    long pairs;          /* query-key pairs of attention: padded x longest; packed: sum of length^2 */
    long computed_pairs; /* those that the device computes (device_attention_queries()) */
};

/* Batch schedule: the batches of all ranks, in the order of the steps. */
struct batch_schedule {
    int ranks;
    bool is_packed;             /* batches are packed, by the batching policy */
    int *batches;               /* (ranks) number of batches */
    struct token_batch **batch; /* (ranks, batches of that rank) */
    uint32_t *example;          /* memory that the batches point to */
    int texts;                  /* sequences of the corpus, */
    long tokens;                /* and their tokens */
    struct token_corpus *drawn; /* corpus that the schedule owns, or NULL */
};
/* Build a batch schedule. With a NULL corpus, draw the recipe's for this schedule alone. */
struct batch_schedule *batch_schedule_open(const struct token_recipe *recipe, const struct token_corpus *corpus,
                                           struct batching_policy policy);
void batch_schedule_close(struct batch_schedule *schedule);

/* Return a rank's batch in a step. After its last batch a rank starts over at its first; step -1 is its last batch. */
const struct token_batch *batch_schedule_batch(const struct batch_schedule *schedule, int rank, int step);

/* Return the steps until the first rank starts over: an epoch. */
int batch_schedule_epoch(const struct batch_schedule *schedule);

/* An epoch ends with the last batch of the rank that has the fewest, because a step needs a batch from every rank. Further batches
 * of other ranks are dropped, and so are sequences that are in no batch (ORDER_GLOBAL). */
struct token_epoch {
    int steps, most_batches; /* batches of the rank with the fewest, and of the rank with the most */
    int texts, dropped_texts;
    long tokens, dropped_tokens;
};
struct token_epoch token_epoch_of(const struct batch_schedule *schedule);

/* Means over steps; NaN without steps. */
struct token_means {
    double useful, padded;          /* tokens per step, all ranks together */
    double padding_ratio;           /* 1 - useful / padded of these means, as published */
    double spread;                  /* useful tokens of the rank with the most minus those of the one with fewest */
    double most_padded, most_pairs; /* work of the rank with the most, for which the others wait */
    double unequal_weight; /* sequences of the rank with the most / of the rank with the fewest: how much more a
                              sequence of the latter counts if ranks' means are averaged */
    double padded_balance, pairs_balance; /* mean rank / rank with the most: efficiency left by waiting, if time is
                                             proportional to padded tokens, or to pairs */
};

/* Return the means over steps first … last-1. */
struct token_means batch_schedule_means(const struct batch_schedule *schedule, int first, int last);

/* Means over steps, and means per step of each rank: arrays (ranks). And every step by itself: arrays (steps, ranks). The last two
 * members count the whole schedule. */
struct token_count {
    struct token_means means;
    double samples; /* per step, all ranks together */
    double *samples_of, *useful_of, *padded_of;
    int steps, ranks;
    long *useful_at, *padded_at;
    struct token_epoch epoch;
    int *batches_of;
};
struct token_count *token_count_open(const struct batch_schedule *schedule, int first, int last);
void token_count_close(struct token_count *count);

/* Return the largest sizes of any batch of the schedule. */
struct batch_most batch_schedule_most(const struct batch_schedule *schedule);

#endif
