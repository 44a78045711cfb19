/* run_report: the data of a finished run, and the tables that it writes to results/. */
#ifndef LOCKSTEP_RUN_REPORT_H
#define LOCKSTEP_RUN_REPORT_H

#include "analysis/case_stats.h"
#include "analysis/memory_count.h"
#include "base/csv.h"
#include "base/files.h"
#include "card/prediction.h"
#include "model/tokens.h"
#include "options/memory_estimate.h"
#include "options/run.h"

/* Version of the program and of a lab's tables, in their first line. Raise the number when a table gets other columns, or one gets another
 * meaning: rounds of two versions are neither joined nor judged together. */
#define TABLES_VERSION LOCKSTEP_VERSION ", tables 2"

/* Prediction of a round from the card scaled by the machine's speed at that time, and that speed as factors of the card's times. */
struct drifted {
    double predicted_step, local, transfer;
    double beyond;           /* of what a larger all-reduce takes longer; 0: not measured */
    struct prediction terms; /* of predicted_step */
};
extern const struct drifted drifted_unknown; /* NaN */

/* One case at the end of a run. */
struct outcome {
    const char *name, *idea;
    const char *label;          /* in charts; NULL: the name */
    struct run run;             /* its settings */
    struct token_count *tokens; /* per measured step; NULL if the lab reads no tokens */
    const char *per;            /* reference case of the efficiency, or NULL */
    const char *device;         /* placement_label() */
    bool shares_cores;          /* card_is_oversubscribed() */
    struct case_stats stats;
    struct case_summary summary;
    struct prediction prediction;    /* made before the first round */
    struct drifted *then;            /* (rounds); NULL if there is no prediction */
    double guess;                    /* seconds; NaN without a guess */
    struct memory_count *memory;     /* (ranks) in the last block; NULL: not counted */
    size_t layer[LEDGER_LAYERS];     /* bytes of rank 0's activations by layer then, where the model is */
    struct memory_estimate foreseen; /* of a rank; NaN for what this run does not open */
    struct timeline picture;         /* spans of one round, for lanes and trace (picture.h) */
};

/* A suspect of a case's step (analysis/bound_by.h), by outcomes of the report. */
struct suspect {
    const char *name;
    double factor;
    int of, before,
        after; /* the case, and the steps before and after the change; after: -1 if there is nothing to change */
};

struct report {
    const char *lab;
    const char *folder;             /* results/NN_name */
    struct file_set *files;         /* files of this run; file_set_commit() at the end puts all in place together */
    const char *preamble;           /* header lines of every table, each beginning with # */
    const char *backend, *platform; /* collective_backend(), world_platform() */
    const char *trains_on;          /* "core", "simulated core" or "GPU" */
    int ranks, cores;               /* cores: cores or GPUs to train on */
    bool is_oversubscribed;         /* in the largest world size */
    bool is_simulated;
    bool keeps_rounds;        /* rounds.csv keeps the rounds of earlier runs */
    bool is_modelled;         /* the run computed nothing, so it has no loss and no checks */
    bool has_only_spans;      /* spans of another program: settings, samples, loss and prediction are unknown */
    double stamp_cost;        /* seconds, from the card */
    bool has_intervals;       /* enough rounds, not --quick */
    struct outcome *outcomes; /* (cases and changed cases); the first is the baseline */
    int cases;
    int changed;              /* outcomes behind those of the cases, for the suspects only */
    struct suspect *suspects; /* (suspect_count) those of a case stand together */
    int suspect_count;
};

/* Begin a table among the run's files, with the preamble. */
struct csv report_begin_table(const struct report *report, const char *name);

/* Return the case of that name, or NULL. */
const struct outcome *report_find_case(const struct report *report, const char *name);

/* Samples per step of all ranks; NaN if unknown. */
double report_samples(const struct outcome *outcome);

/* Throughput per rank of a step of `seconds`: useful tokens, or else samples, per second. */
double report_throughput_per_rank(const struct outcome *outcome, double seconds);

/* Throughput per rank, in useful tokens or else samples, over that of the reference case; NaN without a reference. */
double report_efficiency(const struct report *report, const struct outcome *outcome);

/* Write summary.csv (a row per case) and ranks.csv (per case and rank). Times of a case with a failed check are blank. */
void report_write_tables(const struct report *report);

/* Append a block to spans.csv. The table grows block by block, so no run holds all of it in memory. */
void report_add_spans(struct csv *csv, const struct timeline *timeline, const char *name);

/* Write the terms of a step as columns, from data_ms to exposed_ms. */
void report_put_means(struct csv *csv, const struct step_means *mean);

/* Seconds that the blog posts call compute: the step without data. */
double report_blog_compute(const struct step_means *mean);

/* Write the terms of a prediction as columns. */
void report_put_terms(struct csv *csv, const struct prediction *prediction);

#endif
