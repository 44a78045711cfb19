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
    bool is_cured;   /* show the cures of the mistake, and their prices */
    /* Set by the variants: */
    bool has_reducer;   /* else one all-reduce after backward */
    double first, most; /* bytes: caps of the first bucket and of the others */
    bool is_best;       /* these caps come from the formula: complete() */
    bool in_model_order, rebuilds;
    enum wire wire;
};

/* Mistakes after which ranks hang or add up data that do not belong together: 09_ddp_inside_breaks.c. */
enum break_kind { NO_BREAK, LEFT_OUT, OTHER_ORDER, OTHER_SIZE, EARLY_EXIT, CROSSED_GROUPS };
#define BREAK_WORDS "none left_out order size early_exit crossed_groups" /* in this order */

/* Refuse a mistake that these settings do not allow. */
void refuse_break(const struct options *o);

/* all: train until a rank makes the mistake, and the job hangs; or train with its cures, and print their prices. */
bool is_break(const struct options *o);
int run_break(struct world *world, const struct options *o);

/* Settings of the reducer of such a job, and of a rank that cuts its gradients in another way. */
struct reducer_settings buckets_of_break(const struct options *o);
struct reducer_settings other_buckets(const struct options *o);

/* Return the layer whose gradients are missing or late: the bucket in the middle waits for it. Return the layer that the next bucket waits
 * for; -1 if there is none. */
int layer_of_break(const struct options *o);
int layer_behind(const struct options *o, int layer);

/* Two groups sum a part of the gradients each, about half: return the number of its floats, and where it begins. */
enum { BREAK_GROUPS = 2 };
size_t part_of_group(size_t count, int group, size_t *begin);

/* Hooks for a backward whose gradients of `layer` come late: after those of `behind`. -1: all come as they are computed. */
struct late_layer {
    struct reducer *reducer;
    int layer, behind;
    bool is_held;
};
struct model_hooks late_hooks(struct late_layer *late);

/* A cure of a mistake. */
struct cure {
    const char *name;
    enum break_kind against; /* NO_BREAK: a step without mistake and cure */
    enum unused unused;
    bool is_shared, joins;     /* rank 0 broadcasts its buckets; ranks without batches go on */
    bool has_groups, is_ahead; /* two groups sum half of the gradients each; both sums start before one is awaited */
};
enum { CURES = 9 };
#define CURE_TOLERANCE 1e-5 /* of gradients, over the largest: the order of additions */
extern const struct cure cures[CURES];

/* A step with a cure, in seconds: without and with the cause of the mistake. */
enum { HEALTHY, CAUSED, CONDITIONS };
struct cured {
    double step[CONDITIONS]; /* CAUSED: NaN if there can be no cause */
    double once;             /* to build the buckets; NaN if the cure has no part in that */
    int sums;                /* collectives of a step, */
    double bytes;            /* and their bytes */
    double apart;            /* gradients_apart() of their plain sum, with the cause; NaN if that was not compared */
};

/* Return the largest difference of gradients (count) from those that are wanted, over the largest of these; infinite if a gradient is NaN,
 * or if all that are wanted are 0. */
double gradients_apart(const float *gradients, const float *wanted, size_t count);

/* all: measure the cures of a mistake, and the steps that they are compared with; NO_BREAK: of all mistakes. The results are rank 0's. */
void measure_cures(struct world *world, struct trainer *t, const struct options *o, enum break_kind against,
                   struct cured cured[CURES]);

/* Predict the seconds by which a cure makes a step longer than that without it. */
double predict_cure(const struct options *o, const struct card *card, const struct cure *cure, int condition);

/* all: write cures.csv; print the cures of a mistake. */
void write_cures(struct lab *lab, const struct options *base, struct csv *csv);
void print_cures(const struct cured cured[CURES], enum break_kind against);

/* PyTorch's defaults: bytes of the first bucket and of the others (kDefaultFirstBucketBytes and kDefaultBucketBytesCap in
 * torch/csrc/distributed/c10d/reducer.hpp). */
#define DDP_FIRST ((double)MIB)
#define DDP_MOST  (25.0 * MIB)

struct reducer_settings reducer_of(const struct options *o);

/* Costs that the lab adds to the machine card, among them hashing a byte of parameters, and by how much longer a simulated rank computes
 * in a step whose sums start one by one: after each layer, or all after backward. */
#define HASH_COST          "hash_byte_s"
#define STARTED_EARLY_COST "early_starts_s"
#define STARTED_LATE_COST  "late_starts_s"
extern const struct own_cost own_costs[];

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

/* Likewise of a step of several micro-batches, of run.batch_size samples each, with `sums` sums of all gradients. */
struct prediction predict_accumulated(const struct options *o, const struct card *card, int micro_batches, int sums);

/* Caps that cut the model's gradients into different buckets, ascending, mostly powers of the square root of 2: the first gives each
 * tensor its own bucket, the last puts all into one. Of caps with equal buckets only the largest. Return their number. */
enum { CAPS_MOST = 40 };
int list_caps(const struct options *o, double caps[CAPS_MOST]);

/* Return the settings with this cap for all buckets. */
struct options with_cap(const struct options *o, double cap);

/* Return the cap whose step is predicted to be the shortest; of equal ones the largest. */
double best_cap(const struct options *o, const struct card *card);

/* Return the settings with the pair of caps, one of the first bucket and one of the others, whose step is predicted to be the shortest:
 * twice best_cap(), unless another pair is better by more than a rounding. */
struct options with_best_pair(const struct options *o, const struct card *card);

/* all: write accumulation.csv: one global batch, reached in several ways. */
void write_accumulation(struct lab *lab, const struct options *base, struct csv *csv);

/* all: write divergence.csv: replicas that differ, and when a check finds it. */
void write_divergence(struct lab *lab, const struct options *base, struct csv *csv);

/* --- what a step means: 09_ddp_inside_learning.c trains small networks, 09_ddp_inside_scaling.c writes the results ------------ */

enum {
    MICRO = 32,                 /* samples of a small network's batch × 1 */
    MOST_FACTOR = 16,           /* the largest batch is MICRO × MOST_FACTOR */
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

/* Result of a plan with one seed: samples until the target (INFINITY: not met), and the loss at each point (INFINITY: diverged). */
struct attempt {
    double samples, loss[POINTS];
};

/* All plans with one seed. */
struct lesson {
    struct attempt attempt[PLANS_MOST];
    double noise_scale; /* samples: the median on the way of AdamW × 1 to the target; NaN if unknown */
};

struct lessons {
    int plans, seeds;
    struct plan plan[PLANS_MOST];
    struct lesson *lesson; /* (seeds); NULL on ranks other than 0 */
};

/* all: share out the seeds among the ranks, train by all plans, and gather the results on rank 0. */
struct lessons train_students(struct lab *lab, uint64_t seed, int seeds);

/* all: write learning.csv, scaling.csv and critical.csv: how many samples, and how much time, larger batches take. */
void write_learning(struct lab *lab, const struct options *base, struct csv *csv);

/* Tables buckets.csv, overlap.csv, cap_sweep.csv, best.csv, accumulation.csv, divergence.csv, cures.csv, and learning.csv with scaling.csv
 * and critical.csv. */
extern const struct lab_table tables[];

#endif
