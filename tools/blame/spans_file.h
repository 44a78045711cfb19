/* spans_file: a spans.csv of anybody's job, read, checked and laid out as timelines. notebooks-md/your_own_job.md is
 * the page about the format; in short:
 *
 *     rank, step, kind, start_ms, end_ms      must be there; kind is a word of span_names
 *     round, case                             0 and "job" where they are not
 *     sequence                                a collective's number; counted per rank where it is not
 *     entered_ms                              start_ms where it is not: a collective that blocked
 *     bytes, progressed, measured             0, 0 and by --skip-first-steps where they are not
 *
 * Other columns are passed over, rows come in any order, and so may more lines of the same names. A phase lasts until
 * the next one of its rank begins; the last one of a rank at least to the end of the last collective. What contradicts
 * this ends the program with STATUS_USAGE and one line: file, line, reason, cure. */
#ifndef LOCKSTEP_SPANS_FILE_H
#define LOCKSTEP_SPANS_FILE_H

#include "analysis/timeline.h"
#include "base/csv.h"

#include <stdbool.h>

struct spans_wishes {
    int skip_first_steps; /* of each round; -1: as the column `measured` has it, or else 2 of four or more */
    double clock_error;   /* seconds by which stamps of two ranks may disagree */
    bool hides_arrivals;  /* stamps do not show when a rank came */
};

/* One round of a case. */
struct spans_block {
    int round;
    int every; /* steps of a cycle, if these repeat: the last of each is one in which the ranks meet */
    struct timeline timeline;
};

struct spans_case {
    const char *name;
    int ranks, count;
    struct spans_block *blocks; /* (count) by round */
};

enum { SPANS_CASES_MOST = 64 };

struct spans_file {
    const char *path;
    struct csv_table table; /* owns the names */
    int count;
    struct spans_case cases[SPANS_CASES_MOST]; /* by first appearance */
};

/* Reads all; tells each rank that left a collective too early in a line, the first few of a block. */
struct spans_file *spans_file_open(const char *path, const struct spans_wishes *wishes);
void spans_file_close(struct spans_file *file);

/* The comments at its head, each a whole line that begins with #. Free it. */
char *spans_file_head(const struct spans_file *file);

#endif
