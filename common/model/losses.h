/* losses: losses of the last forward passes of a model, kept on the device. Reading a loss waits; a pass does not. */
#ifndef LOCKSTEP_LOSSES_H
#define LOCKSTEP_LOSSES_H

enum { LOSSES_KEPT = 1024 };

struct losses {
    double *sum; /* (LOSSES_KEPT), device memory: sums over a pass's samples; pass n is at n % LOSSES_KEPT */
    int samples[LOSSES_KEPT]; /* samples of the same pass */
    long passes;
};

void losses_open(struct losses *losses);

/* Start over: discard earlier passes. */
void losses_restart(struct losses *losses);
void losses_close(struct losses *losses);

/* Return where a pass over this many samples writes the sum of their losses. */
double *losses_next(struct losses *losses, int samples);

/* Return the samples of the last pass; 0 before the first. */
int losses_samples(const struct losses *losses);

/* Return the mean of a pass's mean loss over `passes` (1 … LOSSES_KEPT) passes, the last of which is the `end`th since the start; all
 * must be kept still. Return NaN if nothing is computed, or if any kept pass has a loss that is not finite. Wait for the device. */
double losses_mean(const struct losses *losses, long end, int passes);

#endif
