/* spans_parts: shared by the parts of the spans.csv reader: rows, refusal, and the steps from the table's rows (spans_rows.c)
 * to a round's timeline (spans_block.c). spans_file.c combines the parts. */
#ifndef LOCKSTEP_SPANS_PARTS_H
#define LOCKSTEP_SPANS_PARTS_H

#include "spans_file.h"

/* One row of the file. The rows of a rank in one round of a case are adjacent and in time order. */
struct spans_row {
    struct span span; /* .variant: the index of the case, by first appearance */
    int rank, line;   /* line: 0 if the row is of no file of lines */
    bool is_measured;
    const char *host; /* "": the row has none */
};

/* End the program with STATUS_USAGE and "FILE:LINE: reason; cure", without a line of 0. */
_Noreturn void spans_file_refuse(const struct spans_file *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* spans_rows.c: return all rows, (count), sorted by case, round, rank and time. Fill in the names of the cases. */
struct spans_row *spans_rows_read(struct spans_file *file, int *count, bool *has_measured);

/* spans_rows.c: sort the rows of one rank in one round, (count), by time, unless they are in order. */
void spans_rows_sort(struct spans_row *rows, int count);

/* spans_block.c: build the timeline of one round from its rows, (count), all of one case. */
struct spans_block spans_block_of(const struct spans_file *file, const struct spans_case *of, struct spans_row *rows,
                                  int count, const struct spans_wishes *wishes, bool has_measured);

#endif
