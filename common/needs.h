/* needs: the memory that a run would take, so that what cannot fit is refused before anything starts, and not ended by the
 * kernel minutes later.
 *
 * Who opens buffers says how many bytes they are (mlp_need() and so on), beside the function that opens them. What is not
 * counted: buffers of the MPI library, tables while they are written, pages of other processes. Against what all processes had
 * resident at one time (VmHWM, Open MPI 4.1.4, 2026-11-22): one rank of a model of 48 million parameters, two of 10 million
 * and two of a transformer of 65536 words, 0.2 to 0.9 GB together, were estimated 2 to 4 % too low. */
#ifndef LOCKSTEP_NEEDS_H
#define LOCKSTEP_NEEDS_H

enum need {
    NEED_PROGRAM,     /* the process itself, with its libraries */
    NEED_MODEL,       /* parameters, gradients, moments */
    NEED_ACTIVATIONS, /* what a pass keeps of a batch */
    NEED_DATA,        /* the data set, and the batches made of it */
    NEED_MESSAGES,    /* buffers of other all-reduces, and the library's own */
    NEED_RECORD,      /* spans, and what is computed from them */
    NEEDS
};

/* Bytes. */
struct needs {
    double of[NEEDS];
};

double needs_sum(const struct needs *needs);

/* The larger of two phases of a run, of which one ends before the other begins; and both, side by side. */
struct needs needs_most(struct needs a, struct needs b);
struct needs needs_add(struct needs a, struct needs b);
struct needs needs_times(struct needs needs, double times);

/* What takes most, in words ("the data set"), and what makes it smaller ("a smaller --batch-size …"). */
const char *needs_largest(const struct needs *needs);
const char *needs_cure(const struct needs *needs);

#endif
