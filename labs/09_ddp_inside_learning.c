/* 09_ddp_inside_learning: what more ranks do to the meaning of a step: small networks learn with larger and larger batches.
 *
 * A student learns its teacher's function (common/model/student.h) with batches of MICRO samples × 1, 2, 4, 8, 16, as that many ranks would
 * have. However a batch is reached, its gradient is the same sum (accumulation.csv), so one process computes it. The learning rate of a
 * batch × factor follows a rule:
 *
 *     none            the rate of × 1
 *     square_root     … × √factor: keeps the noise of AdamW's steps (Malladi et al. 2022, "On the SDEs and Scaling Rules for Adaptive
 *                     Gradient Algorithms")
 *     linear          … × factor: what SGD needs (Goyal et al. 2017, "Accurate, Large Minibatch SGD")
 *
 * With a warm-up the rate first grows from 0, over WARM_UP samples. */
#include "09_ddp_inside.h"

#include <math.h>
#include <stdlib.h>

static const double LOST = 1e3; /* loss from which no student recovers */

/* Rates of × 1. AdamW's is its quickest there, of powers of √2, by the median of 25 seeds. SGD's is a third of its quickest one, because
 * the linear rule needs room: at twice the quickest SGD diverges, whatever the batch. */
static const double first_rates[] = { [STUDENT_ADAMW] = 0.02, [STUDENT_SGD] = 0.05 };

static int list_plans(struct plan *plans)
{
    int count = 0;
    for (int which = 0; which < 3; which++) /* AdamW, AdamW with a warm-up, SGD */
        for (int factor = 1; factor <= MOST_FACTOR; factor *= 2)
            for (int rule = 0; rule < (factor == 1 ? 1 : RULES); rule++) {
                struct plan *plan = &plans[count++];
                *plan = (struct plan){ .optimizer = which == 2 ? STUDENT_SGD : STUDENT_ADAMW,
                                       .rule = (enum rule)rule,
                                       .warms_up = which == 1,
                                       .factor = factor };
                const double times[RULES] = { 1, sqrt(factor), factor };
                plan->rate = first_rates[plan->optimizer] * times[rule];
            }
    return count;
}

/* --- training ----------------------------------------------------------------------------------------------------- */

/* Return the number of samples until the target: linear interpolation between two looks at the loss. */
static double samples_at(double target, int before, double loss_before, int now, double loss)
{
    return before + (now - before) * (loss_before - target) / (loss_before - loss);
}

/* Train until the target has been met and all points are passed. `noise_scale` gets that of × 1, unless it is NULL. */
static struct attempt train(const struct student_task *task, const struct plan *plan, double *noise_scale)
{
    struct attempt attempt = { .samples = INFINITY };
    struct student student;
    const int batch = MICRO * plan->factor;
    double before = 1, scales[SAMPLES / POINT];
    int scale_count = 0;
    for (int i = 0; i < POINTS; i++)
        attempt.loss[i] = INFINITY;
    student_begin(&student, task, plan->optimizer);
    for (int done = batch; done <= SAMPLES && (isinf(attempt.samples) || done <= POINTS * POINT); done += batch) {
        const double warmth = plan->warms_up && done < WARM_UP ? (double)done / WARM_UP : 1;
        student_step(&student, task, done - batch, batch, warmth * plan->rate);
        if (done % LOOK > 0)
            continue;
        const double loss = student_loss(&student, task);
        if (!(loss < LOST))
            break;
        if (noise_scale && done % POINT == 0 && isinf(attempt.samples))
            scales[scale_count++] = student_noise_scale(&student, task);
        if (isinf(attempt.samples) && loss <= TARGET)
            attempt.samples = samples_at(TARGET, done - LOOK, before, done, loss);
        if (done % POINT == 0 && done <= POINTS * POINT)
            attempt.loss[done / POINT - 1] = loss;
        before = loss;
    }
    if (noise_scale)
        *noise_scale = stats_lower_median(scales, scale_count);
    return attempt;
}

static struct lesson train_all(uint64_t seed, const struct plan *plans, int count)
{
    struct lesson lesson = { 0 };
    struct student_task *task = student_task_open(seed, SAMPLES);
    for (int i = 0; i < count; i++)
        lesson.attempt[i] = train(task, &plans[i], i == 0 ? &lesson.noise_scale : NULL); /* the first is AdamW × 1 */
    student_task_close(task);
    return lesson;
}

struct lessons train_students(struct lab *lab, uint64_t seed, int seeds)
{
    struct lessons lessons = { .seeds = seeds };
    struct world *world = lab_world(lab);
    const int rank = world_rank(world), ranks = world_size(world), each = (seeds + ranks - 1) / ranks;
    struct lesson *mine = memory_new((size_t)each, sizeof *mine), *all = NULL;
    lessons.plans = list_plans(lessons.plan);
    if (rank == 0)
        all = memory_new((size_t)(each * ranks), sizeof *all);
    for (int i = 0; i < each; i++) {
        if (rank * each + i < seeds)
            mine[i] = train_all(seed + (uint64_t)(rank * each + i), lessons.plan, lessons.plans);
        world_heartbeat(world);
    }
    world_gather(world, mine, (size_t)each * sizeof *mine, all); /* in the order of the seeds */
    free(mine);
    lessons.lesson = all;
    return lessons;
}
