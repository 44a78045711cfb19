#include "model/losses.h"

#include "device/device.h"

#include <math.h>

void losses_open(struct losses *losses)
{
    losses->sum = device_new(MEMORY_ACTIVATIONS, LOSSES_KEPT, sizeof *losses->sum);
    losses->passes = 0;
}

void losses_restart(struct losses *losses)
{
    losses->passes = 0;
}

void losses_close(struct losses *losses)
{
    device_free(losses->sum);
}

double *losses_next(struct losses *losses, int samples)
{
    long slot = losses->passes++ % LOSSES_KEPT;
    losses->samples[slot] = samples;
    return losses->sum + slot;
}

int losses_samples(const struct losses *losses)
{
    return losses->passes > 0 ? losses->samples[(losses->passes - 1) % LOSSES_KEPT] : 0;
}

double losses_mean(const struct losses *losses, long end, int passes)
{
    if (!device_computes())
        return (double)NAN;
    double sums[LOSSES_KEPT], mean = 0;
    device_fetch(sums, losses->sum, sizeof sums);
    long kept = losses->passes < LOSSES_KEPT ? losses->passes : LOSSES_KEPT;
    for (long slot = 0; slot < kept; slot++)
        if (!isfinite(sums[slot]))
            return (double)NAN;
    for (long pass = end - passes; pass < end; pass++) {
        long slot = pass % LOSSES_KEPT;
        mean += sums[slot] / losses->samples[slot] / passes;
    }
    return mean;
}
