/* 05_token_skew: settings of lab 05; what its step (05_token_skew.c), batches and formula share. */
#ifndef LOCKSTEP_LAB_05_H
#define LOCKSTEP_LAB_05_H

#include "frame/lab.h"
#include "frame/train.h"

enum { ANY, FIXED, VARIABLE }; /* --length-mode */

struct options {
    struct run run;
    struct workload model;
    int strategy, length_mode; /* 0: not given */
    bool print_batches;
    /* Set by the variants: */
    struct batching_policy policy;
    bool is_fixed;
    bool weighs_by_texts;
};

/* Return the batch schedule of a case. Close it. */
struct batch_schedule *plan_of(const struct options *o);

/* Set the length of an epoch, from a batch schedule, which takes long to make. */
void complete(struct options *o, const struct card *card);

/* Sequences of one length (0) and of many (1), their loaders, and the batch schedule in use. */
struct texts {
    struct token_corpus *corpus[2];
    struct sequence_loader *loader[2];
    struct batch_schedule *schedule;
};
void texts_open(struct texts *texts, const struct options *base, struct batch_most most);
void texts_close(struct texts *texts);

/* Return the loader of a case, at the first step of its batch schedule. */
struct sequence_loader *texts_deal(struct texts *texts, const struct options *o, int rank);

/* Add the published cases that --strategy and --length-mode select to run.cases. */
void narrow(struct options *o);

/* Print the batches instead of training, if asked to (lab_spec.h). */
bool instead(const struct options *base, FILE *out);

/* Return the largest batch of all variants that may run. */
struct batch_most most_of(const struct options *base, const struct variant *variants);

/* Write strategies.csv: every variant over an epoch, counted and predicted, not measured. */
void write_strategies(struct lab *lab, const struct options *base, const struct variant *variants, struct csv *csv);

/* Estimate from the longest sequence (batches by count) and the full budget. Batch schedules would be exact, but take long. */
struct memory_estimate need(const struct options *o);

/* Steps of the batch schedule that are measured: the published ones, or an epoch from its first step. */
int first_step(const struct options *o);
int last_step(const struct options *o);

/* What the lab adds to the machine card (lab_spec.h): the share by which a sum takes longer after as many tokens more as the usual batch
 * has. */
#define SUM_GROWTH_COST "sum_growth_share"
extern const struct own_cost own_costs[];

/* Count tokens and sequences of these steps. */
struct token_count *tokens(const struct options *o);

/* Predict one step of a batch schedule. */
struct prediction predict_one(const struct options *o, const struct card *card, const struct batch_schedule *schedule,
                              int step);

/* Predict a step of a case from its settings and the machine card. */
struct prediction predict(const struct options *o, const struct card *card);

#endif
