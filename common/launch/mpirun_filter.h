/* mpirun_filter: separates Open MPI's own messages from what ranks write to standard error.
 *
 * Open MPI writes its messages between two rows of dashes, or on lines that begin with "[host:process]". The filter keeps these as
 * one line of words and hands all other bytes back at once. */
#ifndef LOCKSTEP_MPIRUN_FILTER_H
#define LOCKSTEP_MPIRUN_FILTER_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MPIRUN_LINE = 2048,      /* most bytes of a line */
    MPIRUN_ROW = 40,         /* least dashes of a row around a launcher's message; Open MPI writes 74 */
    MPIRUN_WORDS_MOST = 600, /* most bytes kept of the launcher's messages */
    MPIRUN_CHUNK = 1 << 14,  /* most bytes of one mpirun_filter_read() */
};

/* { 0 } before the first byte. */
struct mpirun_filter {
    bool has_ranks; /* ranks wrote to standard error */
    enum {
        RANKS,
        IN_BRACKETS,
        BETWEEN_ROWS
    } source;               /* of the next byte; a line in brackets may come from a rank or the launcher */
    bool is_in_line;        /* part of a rank's line has been passed on */
    size_t dashes;          /* consecutive dashes, held back because they may be a row */
    char line[MPIRUN_LINE]; /* launcher's current line so far */
    size_t length;
    char words[MPIRUN_WORDS_MOST + 1]; /* launcher's complete lines */
};

/* Bytes of ranks, to be passed on. */
struct passed {
    size_t count;
    char bytes[MPIRUN_CHUNK + MPIRUN_LINE + MPIRUN_ROW];
};

/* Filter the next bytes; store those of ranks in *passed. */
void mpirun_filter_read(struct mpirun_filter *filter, const char *bytes, size_t count, struct passed *passed);

/* Store the bytes held back at the end of the output in *passed, and complete `words`. */
void mpirun_filter_end(struct mpirun_filter *filter, struct passed *passed);

#endif
