/* null_model: what a reader guesses with a pencil from the published rows, as a standard for the simulated machine
 *
 * A model that errs as much as these guesses has learned nothing. Each guess is a straight line through rows that the machine is
 * fitted to as well; of the guessed row it uses the settings only, never a time:
 *
 *     MLP      linear in samples, linear in ranks, sleep added plainly:
 *              step = weak_ws1 + (strong_ws1 - weak_ws1) x (B - 128) / (512 - 128)    a lone rank with a batch of B
 *                   + (weak_ws4 - weak_ws1) x (n - 1) / (4 - 1)                       n ranks
 *                   + sleep                                                           of rank 0, as asked
 *     texts    linear in padded tokens, mean over ranks:
 *              step = fixed_sample_ws4 + (variable_sample_ws4 - fixed_sample_ws4) x (P - 1024) / (1918.6 - 1024)
 *
 * The line of the MLP has no term for the 128 MiB of comm_ws4. That row is fitted and needs no guess. */
#ifndef LOCKSTEP_NULL_MODEL_H
#define LOCKSTEP_NULL_MODEL_H

#include "published.h"

/* Return the guessed step of the slowest rank in milliseconds. */
double null_model_step(const struct published *p, const char *slug);

#endif
