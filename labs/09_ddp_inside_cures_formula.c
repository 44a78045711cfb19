/* 09_ddp_inside_cures_formula: what the cures of 09_ddp_inside_cures.c must cost. Sums travel one after another, each when its bucket
 * is ready (09_ddp_inside_formula.c); a bucket is ready with the last of its layers.
 *
 *     cure             price in a step in which all is well     with the cause, a late or unused layer
 *     zero_fill        0                                        it is ready at the end of backward, and so are all buckets behind it
 *     find_unused      T(4 B × tensors) behind the other sums   … and it is ready before backward
 *     static_graph     0                                        it is ready before backward
 *     static_order     0                                        it is ready with the layer behind which it comes
 *     shared_buckets   0, and a broadcast when they are built   0
 *     join             T(4 B × ranks) before the step           the same
 *     one_order        0                                        0
 *     started_ahead    two started sums for two blocking ones   the same
 *
 * Walking over the tensors and filling in zeros count as nothing. */
#include "09_ddp_inside.h"

#include <math.h>
#include <stdlib.h>

/* Write the time when each layer's gradients are ready, in seconds since backward began. */
static void layers_ready(const struct options *o, double backward, double *ready)
{
    const struct work work = workload_usual(&o->model, &o->run);
    double share = 0, all = 0;
    for (int layer = 0; layer < workload_layers(&o->model); layer++)
        all += workload_backward_share(&o->model, work, layer);
    for (int layer = workload_layers(&o->model) - 1; layer >= 0; layer--) {
        share += workload_backward_share(&o->model, work, layer);
        ready[layer] = backward * share / all;
    }
}

/* Change these times as the cause and the cure do. */
static void apply_cause(const struct options *o, const struct cure *cure, double backward, double *ready)
{
    const int layer = layer_of_break(o), behind = layer_behind(o, layer);
    if (cure->against == LEFT_OUT)
        ready[layer] = cure->unused == UNUSED_ZEROS ? backward : 0;
    if (cure->against == OTHER_ORDER && behind >= 0)
        ready[layer] = ready[behind];
}

/* Return the time when all sums are done, in seconds after the end of backward. */
static double exposed_of(const struct options *o, const struct card *card, const struct schedule *s,
                         const double *layer_ready, double last_sum)
{
    struct model_tensor *tensors = memory_new((size_t)workload_tensors(&o->model, NULL), sizeof *tensors);
    workload_tensors(&o->model, tensors);
    double done = 0, ready = 0;
    for (int i = 0; i < s->count; i++) {
        for (int tensor = s->sum[i].bucket->first_tensor; tensor <= s->sum[i].bucket->last_tensor; tensor++)
            ready = fmax(ready, layer_ready[tensors[tensor].layer]);
        done = fmax(done, s->backward - (s->backward - ready) * (1 - card->transfer_core)) + s->sum[i].seconds;
    }
    free(tensors);
    return fmax(done, s->backward) + last_sum - s->backward;
}

static double groups_price(const struct options *o, const struct card *card)
{
    double price = 0;
    for (int i = 0; i < BREAK_GROUPS; i++) {
        size_t begin;
        const double bytes = (double)(part_of_group(workload_parameters(&o->model), i, &begin) * sizeof(float));
        price += started_seconds(card, o->run.ranks, bytes) - card_allreduce(card, o->run.ranks, bytes);
    }
    return price;
}

double predict_cure(const struct options *base, const struct card *card, const struct cure *cure, int condition)
{
    if (condition == CAUSED &&
        (cure->against == NO_BREAK || (cure->against == OTHER_ORDER && layer_behind(base, layer_of_break(base)) < 0)))
        return (double)NAN;
    if (cure->has_groups)
        return cure->is_ahead ? groups_price(base, card) : 0;
    const struct options o = with_cap(base, 1024.0 * base->bucket_kb);
    const int ranks = o.run.ranks;
    const double users = 4.0 * ((workload_tensors(&o.model, NULL) + ranks - 1) / ranks * ranks), flags = 4.0 * ranks;
    struct schedule *s = memory_new(1, sizeof *s);
    double ready[LAYERS_MOST];
    make_schedule(s, &o, card);
    layers_ready(&o, s->backward, ready);
    const double plain = exposed_of(&o, card, s, ready, 0);
    if (condition == CAUSED)
        apply_cause(&o, cure, s->backward, ready);
    double price =
        exposed_of(&o, card, s, ready, cure->unused == UNUSED_FOUND ? started_seconds(card, o.run.ranks, users) : 0) -
        plain;
    if (cure->joins)
        price += card_allreduce(card, ranks, flags);
    free(s);
    return price;
}
