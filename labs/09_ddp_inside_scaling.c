/* 09_ddp_inside_scaling: learning.csv, scaling.csv and critical.csv of lab 09: what came of training with larger batches
 * (09_ddp_inside_learning.c), against samples and against time.
 *
 *     time until the target = steps × the step of this lab's model, with the best buckets, on as many ranks as there are, up to the
 *                             factor of the batch; the rest of the batch is accumulated
 *
 * How far larger batches help is predicted from the noise scale of × 1's gradients, and found by a fit (McCandlish et al. 2018, "An
 * Empirical Model of Large-Batch Training"):
 *
 *     samples until the target = fewest × (1 + batch / critical batch)         predicted: critical batch = noise scale */
#include "09_ddp_inside.h"

#include <math.h>
#include <stdlib.h>

static const char *const optimizer_names[] = { [STUDENT_ADAMW] = "adamw", [STUDENT_SGD] = "sgd" };
static const char *const rule_names[RULES] = { "none", "square_root", "linear" };
enum { SEEDS = SEEDS_MOST, QUICK_SEEDS = 5 }; /* odd: a median is one of them */

/* --- results ------------------------------------------------------------------------------------------------------ */

struct results {
    struct lessons of;
    double noise_scale;        /* median over the seeds */
    double median[PLANS_MOST]; /* samples until the target; INFINITY: most seeds do not meet it */
};

/* Median, least and most of a value over the seeds, INFINITY for none. */
struct spread {
    double median, low, high;
};

static struct spread spread_of(const double *values, int count)
{
    return (struct spread){ stats_lower_median(values, count), stats_quantile(values, count, 0),
                            stats_quantile(values, count, 1) };
}

static double blank_if_none(double value)
{
    return isinf(value) ? (double)NAN : value;
}

static struct spread samples_of(const struct results *r, int plan)
{
    double samples[SEEDS];
    for (int seed = 0; seed < r->of.seeds; seed++)
        samples[seed] = r->of.lesson[seed].attempt[plan].samples;
    return spread_of(samples, r->of.seeds);
}

/* Return the plan of × 1 with this plan's optimizer, without a warm-up. */
static int first_of(const struct results *r, int plan)
{
    int first = 0;
    while (r->of.plan[first].optimizer != r->of.plan[plan].optimizer || r->of.plan[first].warms_up)
        first++;
    return first;
}

static int reached(const struct results *r, int plan)
{
    int count = 0;
    for (int seed = 0; seed < r->of.seeds; seed++)
        count += !isinf(r->of.lesson[seed].attempt[plan].samples);
    return count;
}

/* Return the ratio of the samples to those of × 1, NaN unless all seeds meet the target in both: those that do are not drawn by chance. */
static struct ratio samples_ratio(const struct results *r, int plan)
{
    double logs[SEEDS];
    const int first = first_of(r, plan);
    if (reached(r, plan) < r->of.seeds || reached(r, first) < r->of.seeds)
        return (struct ratio){ (double)NAN, (double)NAN, (double)NAN };
    for (int seed = 0; seed < r->of.seeds; seed++) {
        const struct attempt *attempt = r->of.lesson[seed].attempt;
        logs[seed] = log(attempt[plan].samples / attempt[first].samples);
    }
    return stats_ratio(logs, r->of.seeds);
}

static void sum_up(struct results *r)
{
    double scales[SEEDS];
    int count = 0;
    for (int seed = 0; seed < r->of.seeds; seed++)
        if (!isnan(r->of.lesson[seed].noise_scale))
            scales[count++] = r->of.lesson[seed].noise_scale;
    r->noise_scale = stats_lower_median(scales, count);
    for (int i = 0; i < r->of.plans; i++)
        r->median[i] = samples_of(r, i).median;
}

/* --- time --------------------------------------------------------------------------------------------------------- */

/* Ranks and micro-batches that make a batch × factor of the lab's model, and the seconds of such a step. */
struct pace {
    int ranks, micro_batches;
    double step;
};

static struct pace pace_of(const struct options *base, const struct card *card, int factor)
{
    struct pace pace = { .ranks = 1 };
    while (2 * pace.ranks <= base->run.ranks && 2 * pace.ranks <= factor)
        pace.ranks *= 2;
    pace.micro_batches = factor / pace.ranks;
    struct options o = *base;
    o.run.ranks = pace.ranks;
    if (pace.ranks > 1)
        o = with_cap(&o, best_cap(&o, card));
    const struct prediction predicted = predict_accumulated(&o, card, pace.micro_batches, pace.ranks > 1 ? 1 : 0);
    pace.step = prediction_step(&predicted);
    return pace;
}

static double steps_of(const struct plan *plan, double samples)
{
    return samples / (MICRO * plan->factor);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static void put_plan(struct csv *csv, const struct plan *plan, const struct pace *pace)
{
    csv_text(csv, "optimizer", optimizer_names[plan->optimizer]);
    csv_text(csv, "rule", rule_names[plan->rule]);
    csv_integer(csv, "warm_up_samples", plan->warms_up ? WARM_UP : 0);
    csv_integer(csv, "factor", plan->factor);
    csv_integer(csv, "batch", MICRO * plan->factor);
    csv_integer(csv, "ranks", pace->ranks);
    csv_integer(csv, "micro_batches", pace->micro_batches);
}

static void put_curve(struct csv *csv, const struct results *r, int plan, const struct pace *pace)
{
    for (int point = 0; point < POINTS; point++) {
        const int samples = (point + 1) * POINT;
        const double steps = steps_of(&r->of.plan[plan], samples);
        double losses[SEEDS];
        for (int seed = 0; seed < r->of.seeds; seed++)
            losses[seed] = r->of.lesson[seed].attempt[plan].loss[point];
        const struct spread loss = spread_of(losses, r->of.seeds);
        do {
            put_plan(csv, &r->of.plan[plan], pace);
            csv_integer(csv, "samples", samples);
            csv_number(csv, "steps", steps);
            csv_ms(csv, "time_ms", steps * pace->step);
            csv_ratio(csv, "loss", blank_if_none(loss.median));
            csv_ratio(csv, "loss_low", blank_if_none(loss.low));
            csv_ratio(csv, "loss_high", blank_if_none(loss.high));
        } while (csv_end_row(csv));
    }
}

/* Return the samples of a batch × factor, as those of × 1 and the noise scale predict them if the rate suits the batch. NaN for SGD,
 * whose first rate does not, and for a warm-up. */
static double predict_samples(const struct results *r, int plan)
{
    const struct plan *of = &r->of.plan[plan];
    if (of->optimizer != STUDENT_ADAMW || of->warms_up)
        return (double)NAN;
    return blank_if_none(r->median[first_of(r, plan)]) * (1 + MICRO * of->factor / r->noise_scale) /
           (1 + MICRO / r->noise_scale);
}

static void put_scaling(struct csv *csv, const struct results *r, int plan, const struct pace *pace)
{
    const struct plan *of = &r->of.plan[plan];
    const struct spread samples = samples_of(r, plan);
    const struct ratio ratio = samples_ratio(r, plan);
    do {
        put_plan(csv, of, pace);
        csv_ratio(csv, "rate", of->rate);
        csv_integer(csv, "seeds", r->of.seeds);
        csv_integer(csv, "reached", reached(r, plan));
        csv_ratio(csv, "samples", blank_if_none(samples.median));
        csv_ratio(csv, "samples_low", blank_if_none(samples.low));
        csv_ratio(csv, "samples_high", blank_if_none(samples.high));
        csv_ratio(csv, "predicted_samples", predict_samples(r, plan));
        csv_ratio(csv, "samples_ratio", ratio.value);
        csv_ratio(csv, "ratio_low", ratio.low);
        csv_ratio(csv, "ratio_high", ratio.high);
        csv_ratio(csv, "steps", blank_if_none(steps_of(of, samples.median)));
        csv_ms(csv, "predicted_step_ms", pace->step);
        csv_ms(csv, "time_ms", blank_if_none(steps_of(of, samples.median)) * pace->step);
    } while (csv_end_row(csv));
}

/* Costs of AdamW's batches without a warm-up, each with the rule that is best for it. */
struct critical {
    int factors, best[8]; /* plans, by factor */
    double fewest,
        batch;    /* the fit; NaN if samples do not grow with the batch, or fewer than three factors meet the target */
    int quickest; /* plan of the shortest time until the target; -1: none meets it */
};

static double time_of(const struct results *r, int plan, const struct pace *paces)
{
    return steps_of(&r->of.plan[plan], r->median[plan]) * paces[plan].step;
}

static void choose_best(struct critical *c, const struct results *r, const struct pace *paces)
{
    c->quickest = -1;
    for (int i = 0; i < r->of.plans; i++) {
        const struct plan *plan = &r->of.plan[i];
        if (plan->optimizer != STUDENT_ADAMW || plan->warms_up || isinf(r->median[i]))
            continue;
        const bool is_next = c->factors == 0 || r->of.plan[c->best[c->factors - 1]].factor < plan->factor;
        if (is_next)
            c->best[c->factors++] = i;
        else if (r->median[i] < r->median[c->best[c->factors - 1]])
            c->best[c->factors - 1] = i;
        if (c->quickest < 0 || time_of(r, i, paces) < time_of(r, c->quickest, paces))
            c->quickest = i;
    }
}

static struct critical find_critical(const struct results *r, const struct pace *paces)
{
    struct critical c = { .fewest = (double)NAN, .batch = (double)NAN };
    double amounts[8][2], values[8], fit[2];
    choose_best(&c, r, paces);
    for (int i = 0; i < c.factors; i++) {
        amounts[i][0] = 1;
        amounts[i][1] = MICRO * r->of.plan[c.best[i]].factor;
        values[i] = r->median[c.best[i]];
    }
    if (c.factors < 3)
        return c;
    stats_fit(fit, amounts[0], values, c.factors, 2, 3);
    if (fit[0] > 0 && fit[1] > 0) {
        c.fewest = fit[0];
        c.batch = fit[0] / fit[1];
    }
    return c;
}

static void put_critical(struct csv *csv, const struct results *r, const struct pace *paces)
{
    const struct critical c = find_critical(r, paces);
    const struct plan *quickest = c.quickest < 0 ? NULL : &r->of.plan[c.quickest];
    do {
        csv_ratio(csv, "target_loss", TARGET);
        csv_integer(csv, "micro_batch", MICRO);
        csv_ratio(csv, "noise_scale", r->noise_scale);
        csv_ratio(csv, "predicted_factor", r->noise_scale / MICRO);
        csv_ratio(csv, "fewest_samples", c.fewest);
        csv_ratio(csv, "critical_batch", c.batch);
        csv_ratio(csv, "critical_factor", c.batch / MICRO);
        csv_index(csv, "quickest_factor", quickest ? quickest->factor : -1);
        csv_index(csv, "quickest_ranks", quickest ? paces[c.quickest].ranks : -1);
        csv_text(csv, "quickest_rule", quickest ? rule_names[quickest->rule] : "");
        csv_ms(csv, "quickest_ms", quickest ? time_of(r, c.quickest, paces) : (double)NAN);
    } while (csv_end_row(csv));
    if (quickest)
        printf("Small networks learn soonest with %d times the batch, on %d of these ranks. Critical batch: %.1f "
               "times, by the noise of "
               "the gradients %.1f.\n",
               quickest->factor, paces[c.quickest].ranks, c.batch / MICRO, r->noise_scale / MICRO);
}

void write_learning(struct lab *lab, const struct options *base, struct csv *csv)
{
    const int seeds = card_is_brief() ? 1 : base->run.quick ? QUICK_SEEDS : SEEDS;
    struct results r = { .of = train_students(lab, base->run.seed, seeds) };
    struct pace paces[PLANS_MOST];
    struct csv *scaling = lab_table(lab, "scaling.csv"), *critical = lab_table(lab, "critical.csv");
    if (!csv)
        return;
    sum_up(&r);
    for (int i = 0; i < r.of.plans; i++) {
        paces[i] = pace_of(base, lab_card(lab), r.of.plan[i].factor);
        put_curve(csv, &r, i, &paces[i]);
        put_scaling(scaling, &r, i, &paces[i]);
    }
    put_critical(critical, &r, paces);
    free(r.of.lesson);
}
