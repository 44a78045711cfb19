/* 07_triage: settings of lab 07; what its step (07_triage.c), costs, formula and tables share. */
#ifndef LOCKSTEP_LAB_07_H
#define LOCKSTEP_LAB_07_H

#include "frame/lab.h"
#include "frame/train.h"

enum { WORKERS_MOST = 16, BRANCHES = 3 };

struct options {
    struct run run;
    struct workload model;
    double sleep_ms, busy_ms; /* a sample's delay in the data cases: asleep, or computing */
    int rounds;               /* of the transform, in the data cases */
    int few, many;            /* workers */
    int launch_blocks, launch_passes,
        launch_cols; /* the branch of tiny operations: blocks, passes a step, floats of a sample */
    double mix_data, mix_launches, mix_memory, mix_compute; /* percent of a step in the case mixture */
    double mix_steps;                                       /* its length, in steps of the model alone */
    double mix_workers;                                     /* that make its batches, whole; 0: the step does */
    int times;                                              /* size of the larger batch, in usual batches */
    int memory_blocks, memory_rows, memory_cols;            /* the branch of large tensors */
    /* Set by the variants: */
    int workers;
    enum stall_kind stall;
    bool is_slow; /* samples are delayed, and transformed in all rounds */
    struct {
        struct branch_settings of;
        int passes; /* in a step */
    } branch[BRANCHES];
    bool is_mixture, is_sized; /* its parts have their sizes, by the machine card: possibly none */
    double host_s;             /* of other work in the step, of the mixture */
    /* Set by the changes of --verdict: */
    bool from_memory, has_half_the_samples, is_apart;
};

/* Return the samples of a rank that the model trains on. */
int samples_of(const struct options *o);

/* Return the settings for making the case's batches. */
struct worker_loader_plan plan_of(const struct options *o);

/* Return the most workers, and the most samples of any case. */
int most_workers(const struct options *o);
int most_samples(const struct options *o);

/* Return the seconds of making a batch, and those of them on a core. */
double batch_seconds(const struct options *o, const struct card *card, double *on_core);

/* Open the loader of all cases. */
struct worker_loader *workers_open(struct lab *lab, const struct options *base);

/* The branches of a case. Run them on a batch; on a modelled machine let their time pass. They run where the
 * rank trains: on its core, or on its GPU. */
struct branches;
struct branches *branches_open(const struct options *o);
void branches_run(struct branches *branches, const struct batch *batch);
void branches_close(struct branches *branches);

/* Return the operations of the last step, and their bytes and arithmetic, as they count it themselves; without the model. */
struct eager_count branches_count(const struct branches *branches);

/* Return the part of a batch that the model trains on. */
struct batch part_of_batch(const struct options *o, const struct batch *batch);

/* Changes that --verdict makes. */
extern const struct lab_change changes[];

/* Size the parts of the case mixture by the machine card; nothing in other cases. */
void size_mixture(struct options *o, const struct card *card);

/* Draw of --blind: a mixture. */
extern const struct lab_draw mixture_draw;

/* Predict a step of a case from its settings and the machine card. */
struct prediction predict(const struct options *o, const struct card *card);

/* Return the queue of a case's loader, by which the formula computes its steps. */
struct worker_queue queue_of(const struct options *o, const struct card *card);

/* Costs that the formula takes from the card. */
extern const struct own_cost costs[];

/* Run a branch, and return medians of its passes' seconds: after matrix products, which slow down a core (frequency.h), or by itself. A GPU
 * computes both alike. The time of an event is not included: about a microsecond for simulated ranks, as long as a hundred operations. */
struct passes {
    double forward, backward, both;
};
enum branch_place { BY_ITSELF, IN_STEP };
struct passes time_branch(struct branch_settings of, int repeats, enum branch_place place, struct world *world);

/* Return the card's seconds of a branch's forward and backward, without the loss of its work after products, and with it; and of one
 * of its operations with its launch. Launches are measured after products. */
double branch_pass(const struct card *card, struct branch_settings of);
double branch_pass_in_step(const struct card *card, struct branch_settings of);
double operation_pass(const struct card *card, struct branch_settings of, int number, bool is_backward);

/* A point of a roofline: operations, the bytes that they move, their seconds, and the card's prediction. Write these columns, and the
 * point's place. */
struct roofline_point {
    double bytes, flops, seconds, predicted;
};
void put_point(struct csv *csv, struct roofline_point point);

/* Return the bytes that a product of (samples, in) x (in, out) reads and writes. */
double product_bytes(double samples, double in, double out);

/* Table operations.csv: each operation of the branches, and the product of the model's hidden layer, beside the ceilings. */
void write_operations(struct lab *lab, const struct options *o, struct csv *csv);

/* Table launch_sweep.csv: tensors of growing size, eager and replayed. */
void write_launch_sweep(struct lab *lab, const struct options *o, struct csv *csv);

/* Table roofline.csv: what the model and the branch of each case move and compute, beside the ceilings. */
void write_roofline(struct lab *lab, const struct options *o, struct csv *csv);

/* Table series.csv: the first steps of the data cases, one by one. */
void write_series(struct lab *lab, const struct options *o, struct csv *csv);

/* Table evidence.csv: steps of every case, and what the kernel and the operations say about each. */
void write_evidence(struct lab *lab, const struct options *o, struct csv *csv);

/* The cases; first the baseline. */
extern const struct variant variants[];

#endif
