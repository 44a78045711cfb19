/* rows: results of the benchmark, printed and saved, one line per pair measured in twelve starts.
 *
 * bench.csv:
 *     what               measured quantity, and the unit of the next two columns
 *     ours, reference    medians of the starts
 *     ratio, low, high   ours / reference of paired starts: geometric mean, Student's 95 % interval; low and high are blank
 *                        after a single start. The medians of noisy starts may have another ratio. The reference of memory
 *                        is a computed number of bytes, so nothing takes turns
 *     goal, holds        upper limit of the ratio. yes: high does not exceed it; no: low exceeds it; else not resolved.
 *                        Blank if there is no goal. Two values that should be equal also have a lower limit, `least`, which
 *                        the interval must exceed likewise
 *     run, date, commit  the same in all rows (provenance.h)
 *     starts             starts that count; one that failed does not
 *     disturbed          of these, starts of which others took 5 % or more, also when repeated (guard.h); blank for bytes
 *     beside             the reference, where its version matters: PyTorch's, its BLAS, and what the environment sets
 *     least              lower limit of the ratio; blank: none */
#ifndef LOCKSTEP_BENCH_ROWS_H
#define LOCKSTEP_BENCH_ROWS_H

#include "base/stats.h"
#include "bench/provenance.h"

#include <stdbool.h>

struct bench_row {
    char *what, *beside;
    double ours, reference;
    struct ratio ratio;
    double least, goal;    /* limits of the ratio; least 0: none, goal NaN: none */
    int starts, disturbed; /* disturbed: -1 if not guarded */
};

struct rows {
    char *folder, *preamble; /* bench.csv: its folder, and its first lines */
    struct provenance provenance;
    struct bench_row *row;
    int count;
};

void rows_open(struct rows *rows, const char *folder, const char *preamble, const struct provenance *provenance);
void rows_close(struct rows *rows);

/* Add a line "# key: value" to the preamble of bench.csv. */
void rows_tell(struct rows *rows, const char *key, const char *value);

/* Print a heading above the next rows. */
void rows_heading(const char *title);

enum { BENCH_STARTS_MOST = 1000 };

/* Two things compared, in seconds or another unit: starts (count), of which ours[i] and reference[i] are a pair. */
struct compared {
    char *what;         /* made by memory_text() */
    const char *beside; /* NULL: nothing to add about the reference */
    double per_second;  /* the unit: 1e3 for milliseconds */
    double ours[BENCH_STARTS_MOST], reference[BENCH_STARTS_MOST];
    int count;
    const bool *is_disturbed; /* (count) others took too much of the start; NULL: not guarded */
    double least, goal;       /* limits of the ratio; least 0: none, goal NaN: none */
};

/* Print a row, and save it to disk at once, so that a stopped benchmark loses nothing. Takes ownership of `what`. Starts with a NaN
 * do not count; if none is left there is no row. */
void rows_add_starts(struct rows *rows, const struct compared *compared);

#endif
