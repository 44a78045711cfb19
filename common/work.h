/* work: what a pass of training costs on a machine that is only modelled. The costs are properties of the hosts in its
 * platform file, in seconds, named PASS_TERM_s, such as forward_per_sample_s; what is not named costs nothing.
 *
 *     PASS   fetch     copying a batch together
 *            forward   input to loss
 *            backward  loss to gradients
 *            update    the optimizer
 *     TERM   fixed, per_sample, per_padded_token, per_padded_token_length (padded tokens x padded length: attention) */
#ifndef LOCKSTEP_WORK_H
#define LOCKSTEP_WORK_H

#include <stdbool.h>

enum work_pass { WORK_FETCH, WORK_FORWARD, WORK_BACKWARD, WORK_UPDATE, WORK_PASSES };

/* How much a pass has to do. */
struct work {
    double samples, padded_tokens, padded_token_length;
};

/* Seconds of a pass. `property` returns the value of a name, or NULL. */
double work_seconds(enum work_pass pass, struct work work, const char *(*property)(const char *name));

/* Whether a name is a cost. */
bool work_is_property(const char *name);

#endif
