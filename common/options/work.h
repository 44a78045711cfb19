/* work: amount of work in a pass of training, and its cost. On a modelled machine, costs are properties of the hosts in the
 * platform file, in seconds. A cost is named MODEL_PASS_TERM_s, such as mlp_forward_per_sample_s. PASS_TERM_s applies to models
 * without a cost of their own for that pass and term; a missing cost is zero.
 *
 *     MODEL  mlp, transformer
 *     PASS   fetch     copying samples into a batch
 *            forward   input to loss
 *            backward  loss to gradients
 *            update    the optimizer
 *     TERM   fixed, per_sample, per_padded_token, per_padded_token_length (padded tokens x padded length as computed: attention)
 *
 * Such a host may have further properties; `jitter`, `memory_bus` and `costs_of` may have a model's name before
 * them:
 *
 *     about          description of the machine, in a phrase
 *     ranks          number of ranks on the host; 1 by default
 *     jitter         standard deviation of a rank's step time, as a share of the step time
 *     memory_bus     host that models the memory its ranks share: its speed is their total speed, its own `ranks` is 0
 *     costs_of       published: these are costs of the published model (model/workload.h), so a model of other sizes takes longer, each
 *                    term in proportion to its operations (workload_scale()). Without it, they are those of any model of this type
 *     sleep_stretch  slowdown of sleeps: actual / requested time
 *     own_NAME       a cost that a lab defines itself (card/own_cost.h): own_dispatch_s */
#ifndef LOCKSTEP_WORK_H
#define LOCKSTEP_WORK_H

#include <stdbool.h>

enum work_model { WORK_MLP, WORK_TRANSFORMER, WORK_MODELS };
enum work_pass { WORK_FETCH, WORK_FORWARD, WORK_BACKWARD, WORK_UPDATE, WORK_PASSES };
extern const char *const work_models[WORK_MODELS], *const work_passes[WORK_PASSES]; /* names */

/* Amount of work in a pass. Attention needs padded tokens x padded length; the device computes more of them, because it rounds the length
 * up (device_attention_queries()). */
struct work {
    double samples, padded_tokens, padded_token_length, computed_token_length;
};

static inline struct work work_samples(double samples)
{
    return (struct work){ .samples = samples };
}

/* Seconds per unit of each term, in the order of cost_terms. */
enum { COST_FIXED, COST_PER_SAMPLE, COST_PER_PADDED_TOKEN, COST_PER_PADDED_TOKEN_LENGTH, COST_TERMS };
struct cost {
    double term[COST_TERMS];
};
extern const char *const cost_terms[COST_TERMS];

/* Ratios of a model's costs to those of another model of its type: of each term of a pass, and of an update. */
struct cost_scale {
    double term[COST_TERMS], update;
};

/* Give the amounts that the terms multiply: 1, samples, padded tokens, padded tokens x length as computed. */
void work_amounts(struct work work, double amounts[COST_TERMS]);

/* Seconds for this work beyond the fixed term. */
double cost_beyond_fixed(const struct cost *cost, struct work work);

/* Seconds for this work, at least 0. */
double cost_at(const struct cost *cost, struct work work);

/* Return the value of property MODEL_name, or else of `name`; NULL if there is neither. `property` returns the value of a
 * property, or NULL. */
const char *work_property(enum work_model model, const char *name, const char *(*property)(const char *name));

/* Cost of a pass according to the properties. */
struct cost work_cost(enum work_model model, enum work_pass pass, const char *(*property)(const char *name));

/* True if `name` is a cost, of any model or of a particular one. */
bool work_is_cost(const char *name);

/* True if `name` is a cost that a lab defines itself: it begins with WORK_OWN_COST. */
#define WORK_OWN_COST "own_"
bool work_is_own_cost(const char *name);

/* Give the cost name nearest to a misspelled `name`, both without a model's name before them; "" if none is near. */
enum { WORK_NAME = 64 };
void work_nearest_cost(const char *name, char nearest[WORK_NAME]);

/* Return `name` without a model's name before it. */
const char *work_without_model(const char *name);

#endif
