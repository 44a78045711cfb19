/* work: how much a pass of training has to do, and what that costs. On a machine that is only modelled the costs are
 * properties of the hosts in its platform file, in seconds, named MODEL_PASS_TERM_s, such as mlp_forward_per_sample_s, or
 * PASS_TERM_s for any model that has no cost of its own of that name; what is not named costs nothing.
 *
 *     MODEL  mlp, transformer
 *     PASS   fetch     copying a batch together
 *            forward   input to loss
 *            backward  loss to gradients
 *            update    the optimizer
 *     TERM   fixed, per_sample, per_padded_token, per_padded_token_length (padded tokens x padded length: attention)
 *
 * Beside costs such a host may have, `jitter` and `memory_bus` with or without a model's name before them:
 *
 *     about          what the machine is, in a phrase
 *     ranks          how many it takes; 1 unless said
 *     jitter         standard deviation of a rank's step, as a share of it
 *     memory_bus     the host that stands for what its ranks share: its speed is what it feeds, its own `ranks` are 0
 *     sleep_stretch  a sleep lasts so many times what was asked */
#ifndef LOCKSTEP_WORK_H
#define LOCKSTEP_WORK_H

#include <stdbool.h>

enum work_model { WORK_MLP, WORK_TRANSFORMER, WORK_MODELS };
enum work_pass { WORK_FETCH, WORK_FORWARD, WORK_BACKWARD, WORK_UPDATE, WORK_PASSES };
extern const char *const work_models[WORK_MODELS], *const work_passes[WORK_PASSES]; /* their names */

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

/* The value of a property of this name that is the model's own, MODEL_name, or else any model's; NULL for neither.
 * `property` returns the value of a name, or NULL. */
const char *work_property(enum work_model model, const char *name, const char *(*property)(const char *name));

/* What a pass costs by the properties. */
struct cost work_cost(enum work_model model, enum work_pass pass, const char *(*property)(const char *name));

/* Whether a name is a cost, of any model. */
bool work_is_cost(const char *name);

/* The name of a cost, without a model's before it, that somebody may have meant by `name`, likewise; "" for none. */
enum { WORK_NAME = 64 };
void work_nearest_cost(const char *name, char nearest[WORK_NAME]);

/* `name` without a model's name before it. */
const char *work_without_model(const char *name);

#endif
