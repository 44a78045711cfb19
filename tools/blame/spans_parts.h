/* spans_parts: what the parts of reading a spans.csv have in common: rows, how they are refused, and the way from the table's
 * rows (spans_rows.c) to a round's timeline (spans_block.c). For spans_file.c, which puts them together. */
#ifndef LOCKSTEP_SPANS_PARTS_H
#define LOCKSTEP_SPANS_PARTS_H

#include "spans_file.h"

/* What one rank did in one round of a case: a run of rows, in the order of its time. */
struct spans_row {
    struct span span; /* .variant: the index of the case, by first appearance */
    int rank, line;
    bool is_measured;
};

/* Ends the program with STATUS_USAGE: "FILE:LINE: reason; cure". */
_Noreturn void spans_file_refuse(const struct spans_file *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* spans_rows.c: every row of the table, (count), sorted by case, round and rank, and each rank's by time. Fills in
 * the names of the cases. */
struct spans_row *spans_rows_read(struct spans_file *file, int *count, bool *has_measured);

/* spans_block.c: the rows of one round, (count), all of one case, as a timeline. */
struct spans_block spans_block_of(const struct spans_file *file, const struct spans_case *of, struct spans_row *rows,
                                  int count, const struct spans_wishes *wishes, bool has_measured);

#endif
