/* 09_ddp_inside_tables: four tables beside the cases of lab 09, measured and predicted. cap_sweep.csv: steps by size of buckets.
 * best.csv: the best size. overlap.csv: what the sums of each case cost and hide. buckets.csv: when the buckets of some cases are ready. */
#include "09_ddp_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Start of the sums of a step. */
enum sums { NO_SUMS, SUMS_AFTER_BACKWARD, SUMS_DURING_BACKWARD };

/* A step to measure: settings, and its times on rank 0, in seconds: lower quartiles of all turns. A disturbance only makes a step longer,
 * and sometimes affects more than half of the turns. */
struct timed {
    struct options o;
    enum sums sums;
    double passes; /* forward, backward and all sums, from the last rank's begin to the last rank's end */
    double step;   /* … with the batch before and the update behind */
};

enum { TURNS_LEAST = 5, TURNS_MOST = 30, TIMED_MOST = 64 };

/* Run a step. Give its times on rank 0. */
static void run_step(struct world *world, struct trainer *t, struct reducer *reducer, const struct timed *timed,
                     double times[2])
{
    enum { BEGIN, PASSES, SUMMED, END, STAMPS };
    const int ranks = world_size(world);
    double mine[STAMPS], last[STAMPS] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    double *all = memory_new((size_t)ranks * STAMPS, sizeof *all);
    model_hook(t->model, timed->sums == NO_SUMS ? (struct model_hooks){ 0 } : reducer_hooks(reducer));
    device_wait();
    world_barrier(world);
    mine[BEGIN] = world_now();
    const struct batch *batch = trainer_next(t, NO_STALL);
    mine[PASSES] = world_now();
    trainer_forward(t, batch);
    trainer_backward(t, batch);
    if (timed->sums != NO_SUMS)
        reducer_finish(reducer);
    device_wait();
    mine[SUMMED] = world_now();
    trainer_update(t);
    device_wait();
    mine[END] = world_now();
    model_hook(t->model, (struct model_hooks){ 0 });
    world_gather(world, mine, sizeof mine, all);
    for (int i = 0; i < ranks * STAMPS; i++)
        last[i % STAMPS] = fmax(last[i % STAMPS], all[i]);
    times[0] = last[SUMMED] - last[PASSES];
    times[1] = last[END] - last[BEGIN];
    free(all);
}

/* all: measure all steps in turns, each in another order, so that slow moments of the machine do not affect only one of them. A turn of
 * each has a step that is not measured, in which the reducer also finds the order of backward. */
static void measure_steps(struct lab *lab, struct timed *timed, int count)
{
    const struct run *run = &timed[0].o.run;
    const bool is_once = run->takes_turns || !device_computes() || card_is_brief();
    int turns = 1;
    uint32_t order[TIMED_MOST];
    struct random random;
    random_seed(&random, timed[0].o.run.seed); /* the same on all ranks */
    for (int i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    struct world *world = lab_world(lab);
    struct trainer *t = lab_trainer(lab);
    struct collective *collective = collective_open(world, NULL);
    struct reducer *reducer = reducer_open(t->model, world_size(world));
    double(*seconds)[2][TURNS_MOST] = memory_new((size_t)count, sizeof *seconds), times[2] = { 0 };
    const double began = world_wall();
    for (int turn = 0; turn < turns; turn++) {
        random_shuffle(&random, order, (size_t)count);
        for (int k = 0; k < count; k++) {
            const uint32_t i = order[k];
            struct reducer_settings settings = reducer_of(&timed[i].o);
            settings.waits = timed[i].sums == SUMS_AFTER_BACKWARD;
            reducer_restart(reducer, collective, &settings);
            for (int step = 0; step < 2; step++)
                run_step(world, t, reducer, &timed[i], times);
            seconds[i][0][turn] = times[0];
            seconds[i][1][turn] = times[1];
            world_heartbeat(world);
        }
        if (turn == 0 && !is_once)
            turns = lab_turns(world, run, world_wall() - began, TURNS_LEAST, TURNS_MOST);
    }
    for (int i = 0; i < count; i++) {
        timed[i].passes = stats_quantile(seconds[i][0], turns, 0.25);
        timed[i].step = stats_quantile(seconds[i][1], turns, 0.25);
    }
    free(seconds);
    reducer_close(reducer);
    collective_close(collective);
}

/* Differences of nearly equal times, in steps that all systems agree on: of a nanosecond, of a millionth. */
static double seconds_apart(double a, double b)
{
    return fabs(a - b) < 1e-9 ? 0 : a - b;
}

static double ratio_above(double a, double b)
{
    const double millionths = round(1e6 * (a / b - 1));
    return millionths == 0 ? 0 : millionths / 1e6;
}

/* --- cap_sweep.csv, best.csv ---------------------------------------------------------------------------------------- */

/* Return the index of the shortest predicted or measured step; of equal ones the last. */
static int shortest(const double *seconds, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        best = seconds[i] <= seconds[best] ? i : best;
    return best;
}

/* Return the factor between a cap and the nearest cap whose step is within 1 % of the shortest. */
static double distance(const double *caps, const double *step, int count, int from)
{
    const double limit = 1.01 * step[shortest(step, count)];
    double least = INFINITY;
    for (int i = 0; i < count; i++)
        if (step[i] <= limit)
            least = fmin(least, fmax(caps[i] / caps[from], caps[from] / caps[i]));
    return least;
}

struct sweep_result {
    int caps;
    double cap[CAPS_MOST], predicted[CAPS_MOST], step[CAPS_MOST];
    double predicted_baseline, baseline, predicted_ddp, ddp; /* steps: sums after backward in one bucket; DDP's caps */
    struct options pair;                                     /* best pair of caps */
    double step_at_pair;
};

static void write_best(struct csv *csv, const struct options *o, const struct card *card, const struct sweep_result *r)
{
    const int predicted = shortest(r->predicted, r->caps), found = shortest(r->step, r->caps);
    struct schedule *one = memory_new(1, sizeof *one);
    const struct options whole = with_cap(o, INFINITY);
    make_schedule(one, &whole, card);
    const double attainable = fmin(schedule_seconds(one), one->backward);
    do {
        csv_integer(csv, "ranks", o->run.ranks);
        csv_number(csv, "predicted_cap_bytes", round(r->cap[predicted]));
        csv_number(csv, "found_cap_bytes", round(r->cap[found]));
        csv_ratio(csv, "cap_factor",
                  distance(r->cap, r->step, r->caps, predicted)); /* 1: within 1 % of the shortest step */
        csv_ms(csv, "step_at_predicted_ms", r->step[predicted]);
        csv_ms(csv, "shortest_step_ms", r->step[found]);
        csv_ratio(csv, "over_shortest", ratio_above(r->step[predicted], r->step[found]));
        csv_ratio(csv, "ddp_regret", ratio_above(r->ddp, r->step[found]));
        csv_ratio(csv, "predicted_ddp_regret", ratio_above(r->predicted_ddp, r->predicted[predicted]));
        csv_ms(csv, "gain_ms", seconds_apart(r->baseline, r->step[predicted]));
        csv_ms(csv, "predicted_gain_ms", seconds_apart(r->predicted_baseline, r->predicted[predicted]));
        csv_ms(csv, "attainable_ms", attainable);
        csv_ratio(csv, "attainable_share", attainable / r->predicted_baseline);
        csv_number(csv, "pair_first_bytes", round(r->pair.first));
        csv_number(csv, "pair_cap_bytes", round(r->pair.most));
        csv_ms(csv, "predicted_pair_ms", predict_seconds(&r->pair, card));
        csv_ms(csv, "step_at_pair_ms", r->step_at_pair);
    } while (csv_end_row(csv));
    free(one);
    printf("Best buckets by the formula: %.3g MB. In the sweep their step is %.1f %% above the shortest (%.3g MB), "
           "DDP's %.1f %%.\n",
           r->cap[predicted] / 1e6, 100 * (r->step[predicted] / r->step[found] - 1), r->cap[found] / 1e6,
           100 * (r->ddp / r->step[found] - 1));
}

static void write_sweep(struct lab *lab, const struct options *base, struct csv *csv)
{
    const struct card *card = lab_card(lab);
    struct timed timed[CAPS_MOST + 3];
    struct sweep_result r = { 0 };
    r.caps = list_caps(base, r.cap);
    for (int i = 0; i < r.caps; i++)
        timed[i] = (struct timed){ .o = with_cap(base, r.cap[i]), .sums = SUMS_DURING_BACKWARD };
    timed[r.caps] = timed[r.caps + 1] = (struct timed){ .o = with_cap(base, DDP_MOST), .sums = SUMS_DURING_BACKWARD };
    timed[r.caps].o.first = DDP_FIRST;
    timed[r.caps + 1] = (struct timed){ .o = with_cap(base, INFINITY), .sums = SUMS_AFTER_BACKWARD };
    r.pair = with_best_pair(base, card);
    timed[r.caps + 2] = (struct timed){ .o = r.pair, .sums = SUMS_DURING_BACKWARD };
    measure_steps(lab, timed, r.caps + 3);
    struct csv *best = lab_table(lab, "best.csv");
    r.ddp = timed[r.caps].step;
    r.predicted_ddp = predict_seconds(&timed[r.caps].o, card);
    r.baseline = timed[r.caps + 1].step;
    r.step_at_pair = timed[r.caps + 2].step;
    r.predicted_baseline = predict_seconds(&timed[r.caps + 1].o, card);
    for (int i = 0; csv && i < r.caps; i++) {
        const struct reducer_settings of = reducer_of(&timed[i].o);
        r.step[i] = timed[i].step;
        r.predicted[i] = predict_seconds(&timed[i].o, card);
        do {
            csv_number(csv, "cap_bytes", round(r.cap[i]));
            csv_integer(csv, "buckets", buckets_of_model(&base->model, false, of.first, of.most).count);
            csv_ms(csv, "step_ms", r.step[i]);
            csv_ms(csv, "predicted_ms", r.predicted[i]);
        } while (csv_end_row(csv));
    }
    if (best)
        write_best(best, base, card, &r);
}

/* --- overlap.csv -------------------------------------------------------------------------------------------------- */

/* Cases with a reducer: measured without sums, with sums after backward, with sums during backward. */
static void write_overlap(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct timed timed[TIMED_MOST];
    const char *names[TIMED_MOST], *name;
    const struct options *o;
    int cases = 0;
    for (int i = 0; (o = lab_case(lab, i, &name)); i++)
        if (o->has_reducer && 3 * cases + 3 <= TIMED_MOST) {
            for (enum sums sums = NO_SUMS; sums <= SUMS_DURING_BACKWARD; sums++)
                timed[3 * cases + (int)sums] = (struct timed){ .o = *o, .sums = sums };
            names[cases++] = name;
        }
    measure_steps(lab, timed, 3 * cases);
    struct schedule *s = memory_new(1, sizeof *s);
    for (int i = 0; csv && i < cases; i++) {
        const struct timed *of = &timed[3 * i];
        make_schedule(s, &of->o, lab_card(lab));
        double bytes = s->second_bytes;
        int sums = s->count * (s->second > 0 ? 2 : 1);
        for (int k = 0; k < s->count; k++)
            bytes += s->sum[k].bytes;
        do {
            csv_text(csv, "case", names[i]);
            csv_integer(csv, "buckets", s->count);
            csv_integer(csv, "sums", sums);
            csv_number(csv, "bytes", bytes);
            csv_ms(csv, "predicted_sums_ms", schedule_seconds(s));
            csv_ms(csv, "predicted_exposed_ms", schedule_exposed(s));
            csv_ms(csv, "predicted_hidden_ms", seconds_apart(schedule_seconds(s), schedule_exposed(s)));
            csv_ms(csv, "sums_ms", seconds_apart(of[SUMS_AFTER_BACKWARD].passes, of[NO_SUMS].passes));
            csv_ms(csv, "exposed_ms", seconds_apart(of[SUMS_DURING_BACKWARD].passes, of[NO_SUMS].passes));
            csv_ms(csv, "hidden_ms", seconds_apart(of[SUMS_AFTER_BACKWARD].passes, of[SUMS_DURING_BACKWARD].passes));
        } while (csv_end_row(csv));
    }
    free(s);
    (void)base;
}

/* --- buckets.csv -------------------------------------------------------------------------------------------------- */

/* Times when backward has computed each layer's gradients, and the reducer to pass them on to. */
struct listener {
    struct reducer *reducer;
    double ready[LAYERS_MOST]; /* moments */
};

static void note_ready(void *argument, int layer)
{
    struct listener *listener = argument;
    listener->ready[layer] = device_record_event();
    reducer_ready(listener->reducer, layer);
}

/* Write a step of a case on rank 0, in ms since backward began. It follows a step whose sums end on all ranks at once. */
static void write_case(struct lab *lab, const struct options *o, const char *name, struct csv *csv)
{
    struct trainer *t = lab_trainer(lab);
    struct spans spans;
    spans_open(&spans, 4 * BUCKETS_MOST);
    struct collective *collective = collective_open(lab_world(lab), &spans);
    struct listener listener = { .reducer = reducer_open(t->model, world_size(lab_world(lab))) };
    const struct reducer_settings settings = reducer_of(o);
    reducer_restart(listener.reducer, collective, &settings);
    double begin = 0, end = 0;
    for (int step = 0; step < 2; step++) {
        spans_restart(&spans, 0, 0);
        const struct batch *batch = trainer_next(t, NO_STALL);
        trainer_forward(t, batch);
        begin = device_record_event();
        model_hook(t->model, (struct model_hooks){ .argument = &listener, .gradients_ready = note_ready });
        trainer_backward(t, batch);
        model_hook(t->model, (struct model_hooks){ 0 });
        end = device_record_event();
        reducer_finish(listener.reducer);
        device_wait();
    }
    spans_resolve(&spans);
    begin = device_event_seconds(begin);
    struct schedule *s = memory_new(1, sizeof *s);
    make_schedule(s, o, lab_card(lab));
    for (int i = 0; csv && i < s->count; i++) {
        const struct span *span = &spans.at[i];
        do {
            csv_text(csv, "case", name);
            csv_integer(csv, "bucket", i);
            csv_integer(csv, "first_tensor", s->sum[i].bucket->first_tensor);
            csv_integer(csv, "last_tensor", s->sum[i].bucket->last_tensor);
            csv_number(csv, "bytes", s->sum[i].bytes);
            csv_ms(csv, "predicted_ready_ms", s->sum[i].ready);
            csv_ms(csv, "predicted_end_ms", s->sum[i].end);
            csv_ms(csv, "ready_ms", device_event_seconds(listener.ready[s->sum[i].bucket->layer]) - begin);
            csv_ms(csv, "start_ms", span->start - begin);
            csv_ms(csv, "end_ms", span->end - begin);
            csv_ms(csv, "predicted_backward_ms", s->backward);
            csv_ms(csv, "backward_ms", device_event_seconds(end) - begin);
        } while (csv_end_row(csv));
    }
    free(s);
    reducer_close(listener.reducer);
    collective_close(collective);
    spans_close(&spans);
}

static void write_buckets(struct lab *lab, const struct options *base, struct csv *csv)
{
    static const char *const shown[] = { "small_buckets", "ddp_default", "best_bucket", "wrong_order" };
    const char *name;
    const struct options *o;
    (void)base;
    for (int i = 0; (o = lab_case(lab, i, &name)); i++)
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            if (strcmp(name, shown[k]) == 0)
                write_case(lab, o, name, csv);
}

static bool is_wanted(const struct options *base)
{
    return base->run.ranks > 1 && base->run.cases.count == 0;
}

/* Return whether replicas can differ: only on a device that computes. */
static bool may_diverge(const struct options *base)
{
    return is_wanted(base) && device_computes();
}

/* Two arrays, and two copies on the host. */
static double accumulation_bytes(const struct options *base)
{
    return 4 * workload_gradient_bytes(&base->model);
}

const struct lab_table tables[] = {
    { "buckets.csv", is_wanted, write_buckets, NULL },
    { "overlap.csv", is_wanted, write_overlap, NULL },
    { "cap_sweep.csv", is_wanted, write_sweep, NULL },
    { "accumulation.csv", is_wanted, write_accumulation, accumulation_bytes },
    { "divergence.csv", may_diverge, write_divergence, NULL },
    { "cures.csv", is_wanted, write_cures, NULL },
    { "learning.csv", is_wanted, write_learning, NULL },
    { 0 },
};
