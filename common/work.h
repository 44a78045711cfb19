/* work: how much a pass of training has to do, and what that costs. On a machine that is only modelled the costs are
 * properties of the hosts in its platform file, or of all hosts in its outermost zone, in seconds, named PASS_TERM_s,
 * such as forward_per_sample_s; what is not named costs nothing.
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

static inline struct work work_samples(double samples)
{
    return (struct work){ .samples = samples };
}

/* Seconds per term, in the order of the names. */
enum { COST_FIXED, COST_PER_SAMPLE, COST_PER_PADDED_TOKEN, COST_PER_PADDED_TOKEN_LENGTH, COST_TERMS };
struct cost {
    double term[COST_TERMS];
};
extern const char *const cost_terms[COST_TERMS];

/* The amounts that the terms multiply: 1, samples, padded tokens, padded tokens x length. */
void work_amounts(struct work work, double amounts[COST_TERMS]);

/* Seconds of so much work, not below zero. */
double cost_at(const struct cost *cost, struct work work);

/* What a pass costs by the properties: `property` returns the value of a name, or NULL. */
struct cost work_cost(enum work_pass pass, const char *(*property)(const char *name));

/* Whether a name is a cost. */
bool work_is_property(const char *name);

#endif
