/* needs: the memory that a run would take, so that what cannot fit is refused before anything starts, and not ended by the
 * kernel minutes later.
 *
 * Who opens buffers says how many bytes they are (mlp_memory() and so on), beside the function that opens them. What is not
 * counted: buffers of the MPI library, tables while they are written, pages of other processes. Against what all processes had
 * resident at one time (VmHWM, Open MPI 4.1.4, 2026-11-22): one rank of a model of 48 million parameters, two of 10 million
 * and two of a transformer of 65536 words, 0.2 to 0.9 GB together, were estimated 2 to 4 % too low. */
#ifndef LOCKSTEP_NEEDS_H
#define LOCKSTEP_NEEDS_H

enum memory_use {
    NEED_PROGRAM,     /* the process itself, with its libraries */
    NEED_MODEL,       /* parameters, gradients, moments */
    NEED_ACTIVATIONS, /* what a pass keeps of a batch */
    NEED_DATA,        /* the data set, and the batches made of it */
    NEED_MESSAGES,    /* buffers of other all-reduces, and the library's own */
    NEED_RECORD,      /* spans, and what is computed from them */
    NEEDS
};

/* Bytes. */
struct memory_estimate {
    double of[NEEDS];
};

double memory_estimate_sum(const struct memory_estimate *memory);

/* The larger of two phases of a run, of which one ends before the other begins; and both, side by side. */
struct memory_estimate memory_estimate_most(struct memory_estimate a, struct memory_estimate b);
struct memory_estimate memory_estimate_add(struct memory_estimate a, struct memory_estimate b);
struct memory_estimate memory_estimate_times(struct memory_estimate memory, double times);

/* What takes most, in words ("the data set"), and what makes it smaller ("a smaller --batch-size …"). */
const char *memory_estimate_largest(const struct memory_estimate *memory);
const char *memory_estimate_cure(const struct memory_estimate *memory);

#endif
