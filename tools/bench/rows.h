/* rows: what the benchmark shows and keeps, a line for each pair of things that took turns in one run.
 *
 * bench.csv:
 *     what               what was measured, and the unit of the next two columns
 *     ours, reference    medians of all rounds
 *     ratio, low, high   ours / reference of paired rounds: geometric mean, Student's 95 %; low and high are blank after a
 *                        single round. Medians of noisy rounds need not have this ratio. Memory is held against a count,
 *                        which takes no turns
 *     goal, holds        what the ratio is meant not to exceed: yes where the interval's upper end does not, no where its
 *                        lower end does, else not resolved; blank where nothing was promised */
#ifndef LOCKSTEP_BENCH_ROWS_H
#define LOCKSTEP_BENCH_ROWS_H

#include "base/stats.h"

struct bench_row {
    char *what;
    double ours, reference;
    struct ratio ratio;
    double goal; /* NaN: none */
};

struct rows {
    char *folder, *preamble; /* of bench.csv: where it goes, and the lines that begin it */
    struct bench_row *row;
    int count;
};

void rows_open(struct rows *rows, const char *folder, const char *preamble);
void rows_close(struct rows *rows);

/* One more line "# key: value" above the rows of bench.csv. */
void rows_tell(struct rows *rows, const char *key, const char *value);

/* A line for people above the rows to come. */
void rows_heading(const char *title);

/* Shows a row of rounds (count) and keeps it, at once also on disk: what was measured is not lost when the benchmark is stopped.
 * ours[i] and reference[i], in seconds, took turns. Takes `what`, which memory_text() made. Shown in `per_second` units of a second:
 * 1e3 for milliseconds. Rounds in which either is NaN do not count; where none is left there is no row. */
void rows_add_rounds(struct rows *rows, char *what, double per_second, const double *ours, const double *reference,
                     int count, double goal);

#endif
