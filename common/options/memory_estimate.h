/* memory_estimate: memory that a run would take. A run that cannot fit is refused before anything starts, instead of being ended
 * by the kernel minutes later.
 *
 * Each module that opens buffers reports their bytes (mlp_memory() and so on) next to the function that opens them. Not counted:
 * buffers of the MPI library, tables while they are written, pages of other processes. Estimates were 2 to 4 % below the resident
 * memory of all processes (VmHWM, Open MPI 4.1.4, 2026-11-22). The runs took 0.2 to 0.9 GB: one rank with 48 million parameters,
 * two ranks with 10 million, two ranks with a transformer of vocabulary 65536. */
#ifndef LOCKSTEP_MEMORY_ESTIMATE_H
#define LOCKSTEP_MEMORY_ESTIMATE_H

enum memory_use {
    MEMORY_PROGRAM,     /* the process itself, with its libraries */
    MEMORY_MODEL,       /* parameters, gradients, optimizer moments */
    MEMORY_ACTIVATIONS, /* activations of a batch */
    MEMORY_DATA,        /* the data set and its batches */
    MEMORY_MESSAGES,    /* buffers of all-reduces besides the gradients */
    MEMORY_RECORD,      /* spans, and results computed from them */
    NEEDS
};

/* Bytes. */
struct memory_estimate {
    double of[NEEDS];
};

double memory_estimate_sum(const struct memory_estimate *memory);

/* Return the larger of two successive phases of a run, the sum of two concurrent ones, or a multiple of one. */
struct memory_estimate memory_estimate_most(struct memory_estimate a, struct memory_estimate b);
struct memory_estimate memory_estimate_add(struct memory_estimate a, struct memory_estimate b);
struct memory_estimate memory_estimate_times(struct memory_estimate memory, double times);

/* Name of the largest use ("the data set"), and options that reduce it ("a smaller batch, fewer --steps …"). */
const char *memory_estimate_largest(const struct memory_estimate *memory);
const char *memory_estimate_cure(const struct memory_estimate *memory);

#endif
