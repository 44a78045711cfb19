/* losses: what the last forward passes of a model left on the device. Nobody waits for a loss before it is asked for. */
#ifndef LOCKSTEP_LOSSES_H
#define LOCKSTEP_LOSSES_H

enum { LOSSES_KEPT = 1024 };

struct losses {
    double *sum;              /* (LOSSES_KEPT) of the samples of a pass, device memory; pass n is at n % LOSSES_KEPT */
    int samples[LOSSES_KEPT]; /* of the same pass */
    long passes;
};

void losses_open(struct losses *losses);

/* From the start again: earlier passes are forgotten. */
void losses_restart(struct losses *losses);
void losses_close(struct losses *losses);

/* Where a pass over so many samples puts the sum of their losses. */
double *losses_next(struct losses *losses, int samples);

/* The mean over the last `passes` (1 … LOSSES_KEPT) of a pass's mean loss; NaN where nothing is computed, and when any pass
 * that is kept since the start had a loss that is no number. Waits for the device. */
double losses_mean(const struct losses *losses, int passes);

#endif
