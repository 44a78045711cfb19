/* rows: results of the benchmark, printed and saved, one line per pair measured in turns.
 *
 * bench.csv:
 *     what               measured quantity, and the unit of the next two columns
 *     ours, reference    medians of all rounds
 *     ratio, low, high   ours / reference of paired rounds: geometric mean, Student's 95 % interval; low and high are blank
 *                        after a single round. The medians of noisy rounds may have another ratio. The reference of memory
 *                        is a computed number of bytes, so no turns
 *     goal, holds        upper limit of the ratio. yes: high does not exceed it; no: low exceeds it; else not resolved.
 *                        Blank if there is no goal
 *     run, date, commit  the same in all rows (provenance.h) */
#ifndef LOCKSTEP_BENCH_ROWS_H
#define LOCKSTEP_BENCH_ROWS_H

#include "base/stats.h"
#include "bench/provenance.h"

struct bench_row {
    char *what;
    double ours, reference;
    struct ratio ratio;
    double goal; /* NaN: none */
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

/* Print a row of rounds (count), and save it to disk at once, so that a stopped benchmark loses nothing. ours[i] and
 * reference[i], in seconds, are a pair. Takes ownership of `what`, made by memory_text(). `per_second` is the unit: 1e3 for
 * milliseconds. Rounds with a NaN do not count; if none is left there is no row. */
void rows_add_rounds(struct rows *rows, char *what, double per_second, const double *ours, const double *reference,
                     int count, double goal);

#endif
