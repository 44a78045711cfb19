/* findings: reads the folder of results for the report, lab by lab and place by place. */
#ifndef LOCKSTEP_FINDINGS_H
#define LOCKSTEP_FINDINGS_H

#include "base/csv.h"

#include <stdbool.h>
#include <time.h>

/* Results of one lab in one place: on this machine, or on a simulated one. */
struct finding {
    char *folder;   /* below the results: "platforms/blog/01_straggler" */
    char *path;     /* the same, with the results folder in front */
    char *platform; /* "here", "dedicated-cores", "blog" …; "verdicts": here, with the changes of --verdict */
    char *place;    /* platform for display: "dedicated cores, simulated" */
    bool is_simulated;
    struct csv_table summary;
    struct csv_table charts; /* chart, title, axis, cases shown; no rows if older than the summary */
    struct csv_table lanes;  /* lanes.csv, for the comments at its head */
    time_t when;             /* modification time of the summary, if the table has no time */
};

struct lab_findings {
    char *lab;
    int count;
    struct finding *at; /* (count) most instructive first: dedicated cores, here, the blog's machine, others, verdicts */
};

/* Read all results of a lab. Missing results are no error; an unreadable table ends the program. */
struct lab_findings findings_open(const char *results, const char *lab);
void findings_close(struct lab_findings *findings);

/* Return the n-th value of `key` in the comments at the head of the summary (csv_comment). */
char *finding_comment(const struct finding *finding, const char *key, int n);

/* True if a row's checks failed; then none of its speeds are shown. */
bool finding_is_wrong(const struct finding *finding, int row);

/* True if another table of the folder has the same settings: it is from this run, or from one to which it added rounds. */
bool finding_is_of_run(const struct finding *finding, const struct csv_table *table);

/* Return the row in charts.csv; -1 if this run has no such chart. */
int finding_chart(const struct finding *finding, const char *chart);

/* Return the sentence from lanes.csv about waiting in a case's typical step; NULL if none. Free it. */
char *finding_waiting(const struct finding *finding, const char *name);

/* Give the time of the run: "2026-11-21 18:21". */
enum { FINDING_WHEN = 32 };
void finding_when(const struct finding *finding, char when[FINDING_WHEN]);

/* Return, in new memory, one line about the run: "Ryzen 9 · 4 ranks · sim (SimGrid 3.32) · 6 rounds · 2026-11-21 18:21". */
char *finding_caption(const struct finding *finding);

#endif
