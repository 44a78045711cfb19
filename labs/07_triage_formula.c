/* 07_triage_formula: what each case of lab 07 must cost, and why.
 *
 *     step  = data + local + T
 *     local = f + c × B + u + branch
 *
 * branch: model/branch_cost.h. data: what is left of a batch when the step asks for it, by the recurrence of card/worker_queue.h, over
 * the steps that a round measures; and the hand-over of a worker's batch. A batch costs its fetch and, for each sample, the delay and
 * the rounds of the transform; the delay of a sleep leaves the core free. Letters: notebooks-md/symbols.md. */
#include "07_triage.h"

#include <math.h>
#include <stdlib.h>

struct worker_loader_plan plan_of(const struct options *o)
{
    const double delay = o->stall == STALL_BUSY ? o->busy_ms : o->sleep_ms;
    if (o->from_memory) /* made once, before the measured steps */
        return (struct worker_loader_plan){ .per_sample = NO_STALL };
    return (struct worker_loader_plan){ .workers = o->workers,
                                        .per_sample = o->is_slow ? (struct stall){ o->stall, delay / 1e3 } : NO_STALL,
                                        .rounds = o->is_slow ? o->rounds : 1 };
}

int most_workers(const struct options *o)
{
    const int counts[] = { o->few, o->many, (int)o->mix_workers };
    int most = 2;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        most = counts[i] > most ? counts[i] : most;
    return most;
}

int most_samples(const struct options *o)
{
    return o->run.batch_size * o->times;
}

int samples_of(const struct options *o)
{
    return o->has_half_the_samples ? (o->run.batch_size + 1) / 2 : o->run.batch_size;
}

static double cost_of_card(const void *card, const char *name)
{
    return card_cost(card, name);
}

double branch_pass(const struct card *card, struct branch_settings of)
{
    return branch_seconds(of, false, cost_of_card, card) + branch_seconds(of, true, cost_of_card, card);
}

static double branch_work_seconds(const struct card *card, struct branch_settings of)
{
    return branch_terms(of, false, cost_of_card, card).work + branch_terms(of, true, cost_of_card, card).work;
}

double branch_pass_in_step(const struct card *card, struct branch_settings of)
{
    return branch_pass(card, of) + frequency_lost(card, branch_work_seconds(card, of));
}

double operation_pass(const struct card *card, struct branch_settings of, int number, bool is_backward)
{
    const struct pointwise_back call = branch_operation(of, number);
    const char *dispatch = is_backward ? "dispatch_back_s" : "dispatch_s";
    const double launch = card_cost(card, of.way == BRANCH_EAGER ? dispatch : "call_s"),
                 work = branch_operation_seconds(&call, is_backward, branch_bytes(of), cost_of_card, card);
    return card_cost(card, "is_async") > 0 ? fmax(launch, work) : launch + work;
}

/* Seconds of the transform for a feature and round. A platform file without this cost charges nothing for it. */
static double transform_cost(const struct card *card)
{
    const double cost = card_cost(card, WORKER_LOADER_TRANSFORM);
    return isnan(cost) && !card_is_measured(card) ? 0 : cost;
}

/* Seconds of taking a worker's batch; none on a modelled machine whose platform file lacks them. */
static double take_cost(const struct card *card)
{
    const double cost = card_cost(card, WORKER_LOADER_TAKE);
    return isnan(cost) && !card_is_measured(card) ? 0 : cost;
}

double batch_seconds(const struct options *o, const struct card *card, double *on_core)
{
    const struct worker_loader_plan plan = plan_of(o);
    const struct local_cost cost = card_local(card, o->run.ranks);
    const double samples = o->run.batch_size, features = o->model.of.mlp.input_dim,
                 transform = samples * plan.rounds * features * transform_cost(card), delay = plan.per_sample.seconds;
    *on_core = cost_at(&cost.fetch, workload_work(&o->model, o->run.batch_size)) + transform;
    double all = *on_core;
    if (plan.per_sample.kind == STALL_SLEEP)
        all += samples * card_sleep(card, delay);
    if (plan.per_sample.kind == STALL_BUSY)
        all = *on_core += samples * delay;
    return all;
}

static double transfer_of(const struct options *o, const struct card *card)
{
    return o->is_apart ? 0 : card_allreduce(card, o->run.ranks, workload_gradient_bytes(&o->model));
}

struct worker_queue queue_of(const struct options *o, const struct card *card)
{
    const struct local_cost cost = card_local(card, o->run.ranks);
    const double transfer = transfer_of(o, card);
    double all = 0, on_core = 0, branch = 0, work = 0;
    if (!o->from_memory)
        all = batch_seconds(o, card, &on_core);
    for (int i = 0; i < BRANCHES; i++) {
        branch += o->branch[i].passes * branch_pass(card, o->branch[i].of);
        work += o->branch[i].passes * branch_work_seconds(card, o->branch[i].of);
    }
    branch += frequency_lost(card, work);
    const double cores = card->place[0].cores > 0 ? card->place[0].cores : card->cores;
    return (struct worker_queue){ .workers = o->workers,
                                  .ahead = WORKER_QUEUE_AHEAD,
                                  .batch = all,
                                  .busy = all > 0 ? on_core / all : 0,
                                  .cores = cores / fmin(o->run.ranks, cores),
                                  .step = cost_at(&cost.passes, workload_work(&o->model, samples_of(o))) + cost.update +
                                          branch + transfer + o->host_s,
                                  .take = o->workers > 0 ? take_cost(card) : 0,
                                  .slice = card_is_simulated(card) ? 0 : WORKER_QUEUE_SLICE_S,
                                  .is_step_on_core = true };
}

struct prediction predict(const struct options *o, const struct card *card)
{
    const int ranks = o->run.ranks;
    const double transfer = transfer_of(o, card);
    const struct worker_queue queue = queue_of(o, card);
    const struct window window = run_window(&o->run);
    const int steps = window.warmup + window.measured;
    struct load load = { 0 };
    if (isnan(queue.step + queue.batch + queue.take))
        return (struct prediction){ .data = (double)NAN };
    struct queue_step *of = memory_new((size_t)steps, sizeof *of);
    worker_queue_steps(&queue, of, steps);
    for (int step = window.warmup; step < steps; step++) {
        load.data += of[step].data / window.measured;
        load.local += (of[step].rest - transfer - o->host_s) / window.measured;
    }
    free(of);
    load.host = o->host_s;
    load.cpu = load.local + load.host + (o->workers == 0 ? queue.busy * queue.batch : 0);
    load.update = card_local(card, ranks).update;
    return predict_alike(card, load, ranks, o->is_apart ? 0 : card_jitter(card, ranks, load.local), transfer);
}
