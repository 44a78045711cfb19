/* machine_fit: fits the machine of the two blog posts to published rows, and computes what that machine makes of any row
 *
 * There are as many published numbers as parameters. Each parameter follows from one number and the parameters before it, so
 * nothing is weighted:
 *
 *     fetch      data times of weak_ws1 and strong_ws1: fixed + per sample
 *     passes     step times of the same two minus data times, divided among passes as in a step of PyTorch
 *     jitter     their steps: standard deviation over mean
 *     sleep      side run: time that 20 ms of sleep took
 *     link       a row with a transfer, its work known: bytes per millisecond of a ring
 *     memory bus a row of four ranks, its transfer known: number of ranks that the bus feeds at full speed
 *     texts      two rows of the transformer: fixed + per padded token x length. A cost per padded token instead is excluded:
 *                16.3 ms at 1024 tokens and 38.0 ms at no more than 2048 would leave -5 ms for the fixed part. Sequences are
 *                assumed to fit into the caches and not to use the memory bus; no published row tests this.
 *
 * The work of a row of four ranks depends on the bus, its transfer on the link, so these two are solved together. With comm_ws4
 * and weak_ws4, as in platforms/blog.xml, the work cancels: the link is their difference, 128 MiB among four ranks in a ring.
 *
 * Steps come from the labs' formula with random jitter of each rank's work, the same draws for every fit. Simulated steps differ
 * by up to half a percent. */
#ifndef LOCKSTEP_MACHINE_FIT_H
#define LOCKSTEP_MACHINE_FIT_H

#include "options/work.h"
#include "published.h"

#include <stdbool.h>

enum { BLOG_CORES = 12 };

struct machine {
    double jitter, sleep_excess;
    double link;                                /* bytes per millisecond */
    double bus;                                 /* ranks that the memory bus feeds at full speed */
    double shares[WORK_MODELS][WORK_PASSES];    /* shares of passes and update; 0 for the fetch */
    double fetch_fixed, fetch_per_sample;       /* MLP, milliseconds */
    double fixed, per_sample;                   /* MLP: forward and backward */
    double update;                              /* MLP: optimizer */
    double text_fetch, text_fixed, text_update; /* transformer */
    double per_pair;                            /* transformer: per padded token x length */
};

/* Return the bytes that each rank sends in a ring all-reduce, one message after another. */
double machine_ring_bytes(int ranks, double bytes);

/* A published row to be met: its name and its step in milliseconds. */
struct fitted_row {
    const char *slug;
    double step;
};

struct machine_fit; /* what all fits share: parameters from rows of one rank, draws of the jitter, batches of texts */
struct machine_fit *machine_fit_open(const struct published *p);
void machine_fit_close(struct machine_fit *f);

/* Return a machine with the parameters that follow from one rank alone, the others 0. */
struct machine machine_fit_alone(const struct machine_fit *f);

/* Fit link and memory bus. Return false if no link and no bus for 1 to 4 ranks meets both rows. */
bool machine_fit_shared(const struct machine_fit *f, struct machine *m, struct fitted_row link, struct fitted_row bus);

/* Fit the costs of texts; the link must be known. Their fetch is that of the first row. Return false if no cost meets both rows,
 * or only a negative one. */
bool machine_fit_texts(const struct machine_fit *f, struct machine *m, const struct fitted_row *texts);

/* Return the step of a published row on this machine, in milliseconds. */
double machine_fit_step(const struct machine_fit *f, const struct machine *m, const char *slug);

#endif
