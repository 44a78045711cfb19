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
    /* Set by the variants: */
    bool has_reducer;   /* else one all-reduce after backward */
    double first, most; /* bytes: caps of the first bucket and of the others */
    bool is_best;       /* these caps come from the formula: complete() */
    bool in_model_order, rebuilds;
    enum wire wire;
};

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

/* --- what a step means: 09_ddp_inside_learning.c trains small networks, 09_ddp_inside_scaling.c writes what came of it ------------------- */

enum {
    MICRO = 32,                 /* samples of a small network's batch × 1 */
    MOST_FACTOR = 16,           /* the largest batch is MICRO × so many */
    WARM_UP = 2048,             /* samples */
    LOOK = MICRO * MOST_FACTOR, /* samples from one look at the loss to the next, */
    POINT = 2 * LOOK,           /* from one row of learning.csv to the next, */
    SAMPLES = 96 * LOOK,        /* and of a run, at most */
    POINTS = 16,
    SEEDS_MOST = 15,
    PLANS_MOST = 40
};
#define TARGET 0.05 /* loss: 95 % of the teacher's function are learnt */

enum rule { NO_SCALING, SQUARE_ROOT, LINEAR, RULES };

/* A way to train. */
struct plan {
    enum student_optimizer optimizer;
    enum rule rule;
    bool warms_up;
    int factor; /* of the batch */
    double rate;
};

/* What came of a plan with one seed: samples until the target (INFINITY: not met), and the loss at each point (INFINITY: diverged). */
struct attempt {
    double samples, loss[POINTS];
};

/* All plans with one seed. */
struct lesson {
    struct attempt attempt[PLANS_MOST];
    double noise_scale; /* samples: the median on the way of AdamW × 1 to the target; NaN if it cannot be told */
};

struct lessons {
    int plans, seeds;
    struct plan plan[PLANS_MOST];
    struct lesson *lesson; /* (seeds); NULL on ranks other than 0 */
};

/* all: share out the seeds among the ranks, train by all plans, and gather what came of it on rank 0. */
struct lessons train_students(struct lab *lab, uint64_t seed, int seeds);

/* all: write learning.csv, scaling.csv and critical.csv: how many samples, and how much time, larger batches take. */
void write_learning(struct lab *lab, const struct options *base, struct csv *csv);

/* Tables buckets.csv, overlap.csv, cap_sweep.csv, best.csv, accumulation.csv, divergence.csv, learning.csv, scaling.csv and critical.csv. */
extern const struct lab_table tables[];

#endif
