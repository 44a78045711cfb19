/* 05_token_skew_formula: what each case of lab 05 must cost, and why.
 *
 *     step  = mean over steps of max over ranks of (data + local) + T × (1 + growth × (padded / usual - 1))
 *     local = f + per_token × padded + per_pair × padded × length + u
 *
 * All cases have this formula. They differ in the batch schedule, which decides how much work each rank has in which step. A core computes
 * attention for 16 queries at once: there, `length` is rounded up to a multiple of 16. T is measured after a batch of `usual` tokens; where
 * cores sum, it grows with the ranks' mean of tokens (growth: 05_token_skew_costs.c). Letters: notebooks-md/symbols.md. */
#include "05_token_skew.h"

#include <math.h>

int first_step(const struct options *o)
{
    return o->run.once ? 0 : o->run.skip_first_steps;
}

int last_step(const struct options *o)
{
    return o->run.once ? o->run.once : o->run.steps;
}

struct token_count *tokens(const struct options *o)
{
    struct batch_schedule *schedule = plan_of(o);
    struct token_count *count = token_count_open(schedule, first_step(o), last_step(o));
    batch_schedule_close(schedule);
    return count;
}

/* Return how many times as long a sum takes after batches of `tokens` as after the usual ones. */
static double longer_sum(const struct options *o, const struct card *card, double tokens)
{
    const double growth = card_cost(card, SUM_GROWTH_COST);
    return isnan(growth) ? 1 : 1 + growth * (tokens / workload_usual(&o->model, &o->run).padded_tokens - 1);
}

struct prediction predict_one(const struct options *o, const struct card *card, const struct batch_schedule *schedule,
                              int step)
{
    int ranks = o->run.ranks;
    struct local_cost cost = card_local(card, ranks);
    struct load loads[RANKS_MOST] = { 0 };
    double mean = 0, tokens = 0;
    for (int rank = 0; rank < ranks; rank++) {
        struct work work = token_work(batch_schedule_batch(schedule, rank, step));
        double data = cost_at(&cost.fetch, work), local = cost_at(&cost.passes, work) + cost.update;
        loads[rank] = (struct load){ .data = data, .local = local, .cpu = data + local, .update = cost.update };
        mean += loads[rank].cpu / ranks;
        tokens += work.padded_tokens / ranks;
    }
    double transfer = card_allreduce(card, ranks, workload_gradient_bytes(&o->model));
    return predict_step(card, loads, ranks, card_jitter(card, ranks, mean), longer_sum(o, card, tokens) * transfer);
}

struct prediction predict(const struct options *o, const struct card *card)
{
    struct batch_schedule *schedule = plan_of(o);
    struct prediction mean = { 0 };
    int steps = last_step(o) - first_step(o);
    for (int step = first_step(o); step < last_step(o); step++) {
        struct prediction one = predict_one(o, card, schedule, step);
        mean.data += one.data / steps;
        mean.local += one.local / steps;
        mean.update += one.update / steps;
        mean.wait += one.wait / steps;
        mean.transfer += one.transfer / steps;
        mean.is_timeshared = one.is_timeshared;
    }
    batch_schedule_close(schedule);
    return mean;
}
