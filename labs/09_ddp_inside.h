/* 09_ddp_inside: settings of lab 09; what its step (09_ddp_inside.c), formula, costs and tables share. */
#ifndef LOCKSTEP_LAB_09_H
#define LOCKSTEP_LAB_09_H

#include "frame/lab.h"
#include "frame/train.h"

struct options {
    struct run run;
    struct workload model;
    int bucket_kb;   /* cap of small buckets */
    int check_every; /* steps from one comparison of replicas to the next */
    int broken;      /* enum break_kind: instead of measuring, a rank makes this mistake */
    int break_rank, break_step;
    bool watch_only; /* ranks do not compare their calls */
    /* Set by the variants: */
    bool has_reducer;   /* else one all-reduce after backward */
    double first, most; /* bytes: caps of the first bucket and of the others */
    bool is_best;       /* these caps come from the formula: complete() */
    bool in_model_order, rebuilds;
    enum wire wire;
};

/* Mistakes after which ranks hang or add up what does not belong together: 09_ddp_inside_breaks.c. */
enum break_kind { NO_BREAK, LEFT_OUT, OTHER_ORDER, OTHER_SIZE, EARLY_EXIT, CROSSED_GROUPS };
#define BREAK_WORDS "none left_out order size early_exit crossed_groups" /* in this order */

/* Refuse a mistake that these settings do not allow. */
void refuse_break(const struct options *o);

/* all: train until a rank makes the mistake, and the job hangs. */
bool is_break(const struct options *o);
int run_break(struct world *world, const struct options *o);

/* PyTorch's defaults: bytes of the first bucket and of the others (kDefaultFirstBucketBytes and kDefaultBucketBytesCap in
 * torch/csrc/distributed/c10d/reducer.hpp). */
#define DDP_FIRST ((double)MIB)
#define DDP_MOST  (25.0 * MIB)

struct reducer_settings reducer_of(const struct options *o);

/* What the lab adds to the machine card: started all-reduces, by size; and hashing a byte of parameters. */
#define HASH_COST "hash_byte_s"
extern const struct own_cost started_costs[];

/* Return the seconds of a started all-reduce of `bytes`, from the last rank's start to its end. Those that the card measured, if all
 * ranks have a core; else those of a blocking one. */
double started_seconds(const struct options *o, const struct card *card, double bytes);

/* The sums of a step as the formula has them, in seconds since backward began. `bytes` travel. A sum starts when its bucket is
 * ready and is done at `end`; sums travel one after another. */
struct schedule {
    double backward; /* its end */
    int count;
    struct sum {
        const struct bucket *bucket;
        double bytes, ready, seconds, end;
    } sum[BUCKETS_MOST];
    struct buckets buckets; /* of the reducer, after its first step */
    double second;          /* seconds of the second sums of low rank, after all others */
    double second_bytes;
};
void make_schedule(struct schedule *schedule, const struct options *o, const struct card *card);

/* Seconds of all sums together; and of those after the end of backward. */
double schedule_seconds(const struct schedule *schedule);
double schedule_exposed(const struct schedule *schedule);

/* Predict a step of a case from its settings and the machine card. */
struct prediction predict(const struct options *o, const struct card *card);
double predict_seconds(const struct options *o, const struct card *card); /* the whole step */

/* Likewise of a step of several micro-batches, of run.batch_size samples each, with so many sums of all gradients. */
struct prediction predict_accumulated(const struct options *o, const struct card *card, int micro_batches, int sums);

/* Caps that cut the model's gradients into different buckets, ascending, mostly powers of the square root of 2: the first gives each
 * tensor its own bucket, the last puts all into one. Of caps that cut alike the largest. Return their number. */
enum { CAPS_MOST = 40 };
int list_caps(const struct options *o, double caps[CAPS_MOST]);

/* Return the settings with this cap for all buckets. */
struct options with_cap(const struct options *o, double cap);

/* Return the cap whose step is predicted to be the shortest; of equal ones the largest. */
double best_cap(const struct options *o, const struct card *card);

/* all: write accumulation.csv: one global batch, reached in several ways. */
void write_accumulation(struct lab *lab, const struct options *base, struct csv *csv);

/* all: write divergence.csv: replicas that differ, and when a check finds it. */
void write_divergence(struct lab *lab, const struct options *base, struct csv *csv);

/* Tables buckets.csv, overlap.csv, cap_sweep.csv, best.csv, accumulation.csv and divergence.csv. */
extern const struct lab_table tables[];

#endif
