/* tokens: texts of different length, and how they are dealt into batches.
 *
 * The recipe of the post "Why Variable Sequence Length Breaks DDP Throughput" (2026), draw by draw: with the published
 * flags every length, label, batch and token count is the published one. Nothing here depends on the process that asks:
 * any rank can compute every rank's batches.
 *
 * All ranks draw the same texts, shuffle them alike, and rank r takes every ranks-th from the r-th on. A dealing says
 * how such a share becomes batches; a step trains on one batch per rank. */
#ifndef LOCKSTEP_TOKENS_H
#define LOCKSTEP_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

/* What the published flags say: seed >= 0, all other integers >= 1, lengths <= 65,536, min_length <= max_length. */
struct token_recipe {
    int seed;
    int steps, batch_size, ranks;
    int max_tokens;             /* budget of a batch, in padded tokens */
    int num_classes;            /* labels are 0 … num_classes-1 */
    int min_length, max_length; /* the logarithm of a length is uniform between theirs, in tokens, … */
    double outlier_prob;        /* … but this share of the texts has max_length */
    bool is_fixed;              /* every text has fixed_length instead */
    int fixed_length;
};

/* Whether every rank gets a batch, however they are dealt, and the texts are few enough to be kept (2^24). Ask first:
 * everything below takes a yes for granted. */
bool token_recipe_works(const struct token_recipe *recipe);

/* The texts: max(8 steps x batch_size x ranks, max_tokens x ranks / 32) of them. Another number of ranks or steps is
 * another number of texts, and therefore another shuffle. */
struct token_corpus {
    int count;
    int *length; /* (count), tokens */
    int *label;  /* (count) */
};
double token_recipe_texts(const struct token_recipe *recipe);
double token_recipe_length(const struct token_recipe *recipe); /* of a text, in the mean */
struct token_corpus *token_corpus_open(const struct token_recipe *recipe);
void token_corpus_close(struct token_corpus *corpus);

/* In which order texts are dealt. Sorting is stable. The batches of sorted texts are shuffled, or the run would go from
 * short texts to long ones; those of shuffled texts stay as they are. */
enum token_order {
    ORDER_SHUFFLED, /* a rank's share as it comes */
    ORDER_SORTED,   /* a rank's share by length */
    ORDER_GLOBAL,   /* all shares together by length, dealt round the ranks: the batches of a step are neighbours in
                       length. Fewer than `ranks` texts may be left over; they are left out. */
};

/* What a batch may hold; one that is still empty takes any text. */
enum token_limit {
    LIMIT_SAMPLES, /* batch_size texts */
    LIMIT_PADDED,  /* max_tokens padded tokens */
    LIMIT_PAIRS,   /* max_tokens x (min_length + max_length) / 2 pairs (fixed: x fixed_length). Attention's cost grows
                      with padded tokens x length; texts of the middle length fill both budgets alike. */
};

/* Any combination is legal. */
struct batching_policy {
    enum token_order order;
    enum token_limit limit;
    /* ORDER_SORTED: each rank shuffles its batches its own way, seeded seed + 17 + 1000 (rank + 1). Published is one
     * shuffle for all: a generator seeded seed + 17 goes on from the texts to the batches, so that ranks with equally
     * many batches meet the same length class in the same step. */
    bool is_independent;
    /* Texts lie end to end, each attending only to itself, instead of each being padded to the longest. */
    bool is_packed;
};

/* Dealings that have a name; the first three are the published ones. */
enum token_strategy {
    TOKENS_SAMPLE,
    TOKENS_BUCKET,
    TOKENS_BUDGET,        /* published as "token" */
    TOKENS_PAIRS,         /* a budget of padded tokens x length */
    TOKENS_GLOBAL_BUCKET, /* buckets across ranks */
    TOKENS_PACKED,        /* the batches of sample, packed */
    TOKENS_FILLED,        /* shuffled texts, packed until the next one would exceed max_tokens */
    TOKENS_STRATEGIES,
};
extern const struct batching_policy token_dealings[TOKENS_STRATEGIES];

struct token_batch {
    const uint32_t *example; /* (samples) which texts; they belong to the plan */
    int samples;
    int longest; /* tokens */
    long useful; /* tokens of the texts */
    long padded; /* tokens that are computed: samples x longest; packed: useful */
    long pairs;  /* positions times positions that attention computes: padded x longest; packed: sum of length^2 */
};

/* The batches of all ranks, in the order of the steps. */
struct batch_schedule {
    int ranks;
    bool is_packed;             /* as it was dealt: how its batches are to be laid out, and what they need */
    int *batches;               /* (ranks) how many */
    struct token_batch **batch; /* (ranks, batches of that rank) */
    uint32_t *example;          /* owns what the batches point to */
    struct token_corpus *drawn; /* for it alone, or NULL */
};
/* `corpus` NULL: the recipe's, drawn for this plan alone. */
struct batch_schedule *batch_schedule_open(const struct token_recipe *recipe, const struct token_corpus *corpus,
                                           struct batching_policy dealing);
void batch_schedule_close(struct batch_schedule *plan);

/* After its last batch a rank begins again at its first; steps below 0 are those before. */
const struct token_batch *batch_schedule_batch(const struct batch_schedule *plan, int rank, int step);

/* The steps until the first rank begins again: an epoch, if all ranks have equally many batches. */
int batch_schedule_epoch(const struct batch_schedule *plan);

/* Means over steps; NaN without steps. */
struct token_means {
    double useful, padded;          /* tokens per step, all ranks together */
    double padding_ratio;           /* 1 - useful / padded of these means, as published */
    double spread;                  /* useful tokens of the rank with the most less those of the one with fewest */
    double most_padded, most_pairs; /* of the rank with the most, for which the others wait */
    double unequal_weight; /* texts of the rank with the most over those of the one with fewest: how much more a text of
                              the latter counts where ranks' means are averaged */
    double padded_balance, pairs_balance; /* mean rank / rank with the most: the efficiency that waiting leaves if time
                                             goes with padded tokens, or with pairs */
};

/* Over steps first … last-1. */
struct token_means batch_schedule_means(const struct batch_schedule *plan, int first, int last);

/* The same, and what each rank has per step: arrays (ranks). */
struct token_count {
    struct token_means means;
    double samples; /* per step, all ranks together */
    double *samples_of, *useful_of, *padded_of;
};
struct token_count *token_count_open(const struct batch_schedule *plan, int first, int last);
void token_count_close(struct token_count *count);

/* The most that any batch of the plan needs. */
struct token_most {
    int rows, texts, length;
};
struct token_most batch_schedule_most(const struct batch_schedule *plan);

#endif
