/* comparison: a recording made after a fix, beside the one before it. Did the step become as much shorter as the what-if promised? */
#ifndef LOCKSTEP_COMPARISON_H
#define LOCKSTEP_COMPARISON_H

#include "answer.h"
#include "sources.h"

/* Seconds of a step, the mean over ranks and steps. */
struct comparison {
    const char *path;       /* the later recording */
    double before, after;   /* a step */
    double gain, low, high; /* before - after, with a 95 % interval (moving blocks of steps); NaN: a check failed */
    const struct fix
        *promises[2]; /* (count) of the blamed rank or host: all its phases, and the blamed one; else the largest */
    int count;
    char *sentence; /* the answer to the later recording */
};

/* Read the later recording, a file or a folder of traces, and compare its case of the answer's name, or else its only case. Another
 * number of ranks, and cases of other names, end the program with STATUS_USAGE. */
struct comparison comparison_of(const struct answer *before, const char *path, const struct trace_options *options,
                                const struct spans_wishes *wishes);
void comparison_close(struct comparison *comparison);

/* Return "After the fix … a step takes 39.1 ms: 36.6 ms less (95 % interval 35.0 to 38.2). Promised …". Free it. */
char *comparison_text(const struct comparison *comparison, const struct answer *before);

#endif
