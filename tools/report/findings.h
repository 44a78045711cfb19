/* findings: what the folder of results holds, lab by lab and place by place, for the report. */
#ifndef LOCKSTEP_FINDINGS_H
#define LOCKSTEP_FINDINGS_H

#include "base/csv.h"

#include <stdbool.h>
#include <time.h>

/* One lab in one place: on this machine, or on a simulated one. */
struct finding {
    char *folder;   /* below the results: "platforms/blog/01_straggler" */
    char *path;     /* the same with the results before it */
    char *platform; /* "here", "dedicated-cores", "blog" … */
    char *place;    /* the same for people: "dedicated cores, simulated" */
    bool is_simulated;
    struct csv_table summary;
    struct csv_table charts; /* chart, title, axis, and the cases it shows; no rows where none were drawn since */
    struct csv_table lanes;  /* lanes.csv, for what its head tells */
    time_t when;             /* the file was written, for a table that does not tell its time */
};

struct lab_findings {
    char *lab;
    int count;
    struct finding *at; /* (count) the one to learn from first: dedicated cores, here, the blog's machine, others */
};

/* What was found of a lab; none of it is no error, a table that cannot be read is. */
struct lab_findings findings_open(const char *results, const char *lab);
void findings_close(struct lab_findings *findings);

/* What the head of its tables tells of `key` in its n-th line (csv_comment). */
char *finding_told(const struct finding *finding, const char *key, int n);

/* Whether a row's checks failed: then none of its speeds are shown. */
bool finding_is_wrong(const struct finding *finding, int row);

/* Whether a table that lies beside was written by the same run: by the same command. */
bool finding_is_of_run(const struct finding *finding, const struct csv_table *table);

/* The row of charts.csv; -1 where no such chart was drawn of this run. */
int finding_chart(const struct finding *finding, const char *chart);

/* Who waited for whom in a case's typical step, in a sentence; NULL where nothing is said of that. Free it. */
char *finding_waiting(const struct finding *finding, const char *name);

/* When it ran: "2026-11-21 18:21". */
enum { FINDING_WHEN = 32 };
void finding_when(const struct finding *finding, char when[FINDING_WHEN]);

/* What ran there, in a line: "4 ranks on 4 cores · sim (SimGrid 3.32) · 6 rounds". New memory. */
char *finding_caption(const struct finding *finding);

#endif
