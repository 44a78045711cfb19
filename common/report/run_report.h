/* report: everything a finished run has to tell, and the tables it leaves in results/. */
#ifndef LOCKSTEP_REPORT_H
#define LOCKSTEP_REPORT_H

#include "analysis/case_stats.h"
#include "base/csv.h"
#include "base/files.h"
#include "card/predict.h"
#include "model/tokens.h"
#include "options/run.h"

/* One case at the end of a run. */
struct outcome {
    const char *name, *idea;
    struct run run;             /* its settings */
    struct token_count *tokens; /* per measured step; NULL where nothing is read */
    const char *per;            /* the case that efficiency is measured by, or NULL */
    const char *device;         /* placement_label() */
    bool shares_cores;          /* card_is_oversubscribed() */
    struct case_stats stats;
    struct case_summary summary;
    struct prediction prediction;
    double guess;            /* seconds; NaN when nobody guessed */
    struct timeline picture; /* its first round, kept for lanes and trace */
};

struct report {
    const char *lab;
    const char *folder;             /* results/NN_name */
    struct file_set *files;         /* of this run, which takes its place as a whole: file_set_commit() at its end */
    const char *preamble;           /* the lines that head every table, each beginning with # */
    const char *backend, *platform; /* collective_backend(), world_platform() */
    const char *trains_on;          /* "core", "simulated core" or "GPU" */
    int ranks, cores;               /* the latter of what ranks train on */
    bool is_oversubscribed;         /* in its largest world */
    bool is_simulated;
    bool is_modelled;         /* nothing was computed, so there is no loss and nothing was checked */
    bool has_only_spans;      /* of another program: neither settings nor samples, loss or prediction are known */
    double stamp_cost;        /* seconds, from the card */
    bool has_intervals;       /* enough rounds, not --quick */
    struct outcome *outcomes; /* (cases); the first is the baseline */
    int cases;
};

/* One more table among the run's files, headed by its preamble. */
struct csv report_begin_table(const struct report *report, const char *name);

/* The case of that name; NULL when there is none. */
const struct outcome *report_find_case(const struct report *report, const char *name);

/* Samples of a step, of all ranks; NaN where they are not known. */
double report_samples(const struct outcome *outcome);

/* Throughput per rank over that of the case it is measured by, in useful tokens or else samples; NaN where there is none. */
double report_efficiency(const struct report *report, const struct outcome *outcome);

/* summary.csv, ranks.csv, rounds.csv: a row per case; per case and rank; per case and round. Of what failed a check all
 * times are blank. */
void report_write_tables(const struct report *report);

/* Into spans.csv, which grows block by block, so that no run has to hold it whole. */
void report_add_spans(struct csv *csv, const struct timeline *timeline, const char *name);

/* The step of the picture closest to the case's median, one in which the ranks meet. */
int report_typical_step(const struct outcome *outcome);

#endif
