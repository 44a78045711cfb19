/* 08_token_loader: settings of lab 08; what its step (08_token_loader.c), feed, costs, tables and formula share. */
#ifndef LOCKSTEP_LAB_08_H
#define LOCKSTEP_LAB_08_H

#include "frame/lab.h"
#include "frame/train.h"

struct options {
    struct run run;
    struct workload model; /* a row of a batch is a sequence of texts.fixed_length tokens: --seq-len */
    const char *shards;    /* glob; NULL: the lab makes its own */
    const char *state;     /* file of the position to resume from; NULL: none */
    int tail, shuffle;     /* enum tail_rule, enum row_shuffle */
    int own_tokens;        /* of each shard that the lab makes */
    int ladder_tokens;     /* of a batch in ladder.csv */
    double disk_ms;        /* delay of each read from slow storage */
    bool print_batches, certify;
    int epoch;       /* of --certify; EPOCH_NEXT: the first, or that in which the state goes on */
    int token_bytes; /* width of a token in the shards */
    /* Set by the variants: */
    int way;      /* enum source_way: how tokens come from the shards into x and y */
    bool is_slow; /* each batch waits for slow storage first */
};

/* Return the tokens of a rank's batch: B x T. */
double batch_tokens(const struct options *o);

/* Return the order in which ranks read these shards. `start` is that of a set (shard_set.h). */
struct window_order order_of(const struct options *o, const struct shard_set *set);

/* Open the shards that --shards names, or this lab's own, which are made where they are missing; only as many of them as the lab's
 * tables need. */
struct shard_set *shards_of_tables(const struct options *o);

/* Refuse shards or settings that no run can read. */
void refuse_shards(const struct options *o);

/* Print or certify the batches instead of training, if asked to (lab_spec.h). */
bool instead(const struct options *base, FILE *out);

/* The tokens of this rank, in the way of a case. On a modelled machine nothing is read, but its time passes. */
struct feed;
struct feed *feed_open(struct lab *lab, const struct options *base);
void feed_close(struct feed *feed);

/* Begin a case, at the first batch: all cases of a round train on the same tokens. */
void feed_begin(struct feed *feed, const struct options *o);

/* Return the next batch as tokens; copy them into the model's buffer as its batch: its classes are the tokens that follow its rows. */
struct token_pair feed_next(struct feed *feed);
const struct batch *feed_batch(struct feed *feed, struct token_pair tokens);

/* Memory of a feed. */
struct memory_estimate feed_need(const struct options *o);

/* Costs of this lab on the machine card (card/own_cost.h), ended by a row without name. */
extern const struct own_cost token_costs[];

/* Return a cost by its name; 0 for a modelled machine whose file does not have it: tokens then cost nothing there. */
double token_cost(const struct card *card, const char *name);

/* Operations that make up every way to load tokens. */
enum token_part {
    PART_READ_CALL,     /* a read() of tokens in the page cache, whatever their number, */
    PART_READ_BYTE,     /* and per byte */
    PART_FREAD_MORE,    /* fread() instead of read(), per call */
    PART_FAULT_BYTE,    /* page faults of a mapped shard, per byte */
    PART_POPULATE_BYTE, /* the same pages mapped by madvise(), */
    PART_UNMAP_BYTE,    /* and unmapped */
    PART_ELEMENT,       /* a token into x and y, by scalar instructions, */
    PART_LOOP,          /* by llm.c's loop, */
    PART_WIDEN,         /* and by blocks: from the first cache, */
    PART_MAPPED_WIDEN,  /* and from pages of a mapped shard */
    PART_ALLOCATION,    /* allocating memory and freeing it */
    PART_HANDOFF,       /* taking a helper's batch, and requesting the next one */
    PART_ASK,           /* asking for a batch, and reading the clock */
    TOKEN_PARTS
};

/* Seconds of each part. */
struct token_parts {
    double of[TOKEN_PARTS];
};

/* Return the parts on the machine card; 0 for a modelled machine whose file does not have them: tokens then cost nothing there. */
struct token_parts parts_on(const struct card *card);

/* Files on which parts are measured: one in memory; or shards whose pages are cached, NULL if all are too small for that. */
struct parts_files;
enum {
    PARTS_MEMORY = 32 << 20, /* bytes of the one in memory */
    FAULT_AROUND = 64 << 10  /* bytes that the kernel maps at a page fault, at least, unless it was told otherwise */
};
struct parts_files *parts_files_in_memory(void);
struct parts_files *parts_files_of(const struct shard_set *set);
void parts_files_close(struct parts_files *files); /* NULL: nothing */

/* Read a byte at every `stride`. */
void touch(const char *memory, size_t bytes, size_t stride);

/* What a rank does between two batches. */
struct rest {
    double seconds;            /* it computes, in a loop; 0: it does not */
    struct shape_bench *steps; /* instead, it trains a step on the usual batch; NULL: it does not */
};
bool is_rest(struct rest rest); /* false: the next batch follows at once */

/* Rest for as many batches, rounded if a rest is a step. */
void rest_for(struct rest rest, double batches);

/* Sizes with which parts are measured. The caches hold x and y of a small batch, not those of a large one, and little of either after the
 * rank has trained or computed for a while. */
struct parts_shape {
    struct widths widths; /* of tokens */
    size_t tokens;        /* of a batch */
    struct rest rest;
    /* One step before each operation, and no warm-up: for the card, as in the few steps of a case. Else as many steps as the operation has
     * batches, and warm-ups, as in a way that goes on and on. */
    bool is_in_case;
};

/* Measure a part. */
double parts_measure(enum token_part part, struct parts_files *files, const struct parts_shape *shape);

/* Return the seconds of a batch of a way that runs alone, on pages that are not cached; the caller computes for `between` seconds between
 * two batches. Storage works ahead of a reader, so the longer the reader is busy between its reads, the less it waits. That is measured
 * here: the shards are evicted, and read with as much other work between reads as the way and its caller have. */
double evicted_seconds(const struct token_parts *parts, const struct source_settings *settings, double between);

/* Return the seconds of a batch of a way that runs alone, on warm or cold pages. There is no step beside which a helper could work, so its
 * copy shows in full. */
double alone_seconds(const struct token_parts *parts, const struct source_settings *settings, enum page_state pages);

/* True if the lab's tables can be measured: with all cases, on real ranks. */
bool measures_tables(const struct options *base);

/* all: write ladder.csv, latency.csv and resident.csv: each way alone, as fast as it can; crossover.csv: the step time below which
 * a way shows; shuffle.csv: the quality of a shuffle, and its cost. */
void write_ladder(struct lab *lab, const struct options *base, struct csv *csv);
void write_crossover(struct lab *lab, const struct options *base, struct csv *csv);
void write_shuffle(struct lab *lab, const struct options *base, struct csv *csv);

/* True if also copies of batches to a GPU can be measured. Write copies.csv (08_token_loader_copies.c). */
bool measures_copies(const struct options *base);
void write_copies(struct lab *lab, const struct options *base, struct csv *csv);

/* Return the settings for a way that reads the shards alone, in batches of --ladder-tokens. */
struct source_settings settings_alone(const struct options *base, const struct shard_set *set, int width,
                                      enum source_way way);

/* Measure on these files the parts of all ways, for the widths of one of them and batches of --ladder-tokens; or, with a rest between
 * batches, the parts of this way alone, once. Parts of shards too small to measure are those of the card. */
struct token_parts parts_here(const struct card *card, struct parts_files *files, const struct source_settings *of,
                              struct rest rest);

/* Predict a step of a case from its settings and the machine card: costs measured before any case runs. */
struct prediction predict(const struct options *o, const struct card *card);

#endif
