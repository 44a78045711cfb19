/* spans_file: reads and checks the spans.csv of any job, and builds timelines. notebooks-md/your_own_job.md documents the
 * format; in short:
 *
 *     rank, step, kind, start_ms, end_ms      required; kind is a word of span_names
 *     round, case                             default 0 and "job"
 *     sequence                                number of a collective; default: counted per rank and group
 *     entered_ms                              default start_ms: a blocking collective
 *     bytes, progressed, measured             default 0, 0 and by --skip-first-steps
 *     group                                   ranks of a collective have one number; default 0: all ranks
 *     host                                    name of the rank's host, in one row of each rank or in all; default unknown
 *
 * Other columns are ignored. No column names the ranks of a message or the root of a broadcast, so the timelines hide peers.
 * Rows may come in any order; the line of names may be repeated. A phase lasts until the next phase of its rank begins; the last
 * phase at least until the end of the last collective. Any contradiction ends the program with STATUS_USAGE and one line: file,
 * line, reason, cure. */
#ifndef LOCKSTEP_SPANS_FILE_H
#define LOCKSTEP_SPANS_FILE_H

#include "analysis/timeline.h"
#include "base/csv.h"

#include <stdbool.h>

struct spans_wishes {
    int skip_first_steps; /* per round; -1: by the column `measured`, else 2 if a round has four or more steps */
    double clock_error;   /* seconds by which the clocks of two ranks may differ; NaN: 0, or estimated from traces */
    bool hides_arrivals;  /* stamps do not show when a rank arrived at a collective */
    bool shows_peers;     /* spans name the root of a broadcast and the ranks of a message; a spans.csv never does */
};

/* One round of a case. */
struct spans_block {
    int round;
    int every; /* steps per cycle, 1 if they do not repeat; a cycle's last step has a collective */
    struct timeline timeline;
};

struct spans_case {
    const char *name;
    int ranks, count;
    struct spans_block *blocks; /* (count) by round */
    char **hosts;               /* (ranks) names of their hosts; NULL: unknown */
};

enum { SPANS_CASES_MOST = 64 };

struct spans_file {
    const char *path;
    char *own_path;         /* memory of `path`, or NULL */
    struct csv_table table; /* owns the names */
    int missing_ranks;      /* of traces: ranks of the job without one */
    int *rank_numbers;      /* of traces: (ranks of the case) what the job calls them; NULL: 0, 1, 2 … */
    int count;
    struct spans_case cases[SPANS_CASES_MOST]; /* by first appearance */
};

/* Read the whole file. Warn of ranks that left a collective too early: a line each, the first few of each block. */
struct spans_file *spans_file_open(const char *path, const struct spans_wishes *wishes);
void spans_file_close(struct spans_file *file);

/* Return the comment lines at the head of the file, each beginning with #. Free it. */
char *spans_file_head(const struct spans_file *file);

#endif
