/* 07_triage_tables: series.csv, launch_sweep.csv and roofline.csv of lab 07. */
#include "07_triage.h"

#include <math.h>
#include <stdlib.h>

/* --- launch_sweep.csv ----------------------------------------------------------------------------------------------- */

enum { SIZES = 9, FIRST = 16, REPEATS = 25, BLOCKS = 4 }; /* few blocks: all tensors stay in the cache */

/* Return the floats of a tensor at which the seconds of a pass have doubled, between two sizes in proportion: from there on arithmetic
 * takes longer than the launches. NaN if they never do. */
static double find_doubling(const double *floats, const double *seconds)
{
    const double twice = 2 * seconds[0];
    for (int i = 1; i < SIZES; i++)
        if (seconds[i] >= twice)
            return floats[i - 1] +
                   (floats[i] - floats[i - 1]) * (twice - seconds[i - 1]) / (seconds[i] - seconds[i - 1]);
    return (double)NAN;
}

void write_launch_sweep(struct lab *lab, const struct options *o, struct csv *csv)
{
    (void)o;
    double floats[SIZES], eager[SIZES], expected[SIZES];
    for (int i = 0; i < SIZES; i++) {
        struct branch_settings of = { .kind = BRANCH_MICRO, .blocks = BLOCKS, .rows = 1, .cols = FIRST << i };
        floats[i] = of.cols;
        eager[i] = time_branch(of, REPEATS, IN_STEP, lab_world(lab)).both;
        expected[i] = branch_pass_in_step(lab_card(lab), of);
        of.way = BRANCH_REPLAY;
        const double replay = time_branch(of, REPEATS, IN_STEP, lab_world(lab)).both,
                     replay_expected = branch_pass_in_step(lab_card(lab), of);
        const double operations = 2.0 * of.blocks * branch_operations(of.kind);
        if (csv)
            do {
                csv_integer(csv, "floats", of.cols);
                csv_number(csv, "eager_ns", 1e9 * eager[i] / operations);
                csv_number(csv, "eager_predicted_ns", 1e9 * expected[i] / operations);
                csv_number(csv, "replay_ns", 1e9 * replay / operations);
                csv_number(csv, "replay_predicted_ns", 1e9 * replay_expected / operations);
            } while (csv_end_row(csv));
    }
    if (csv)
        printf("A tiny operation is bound by its launch up to %.0f floats, by the card; the sweep finds %.0f.\n",
               find_doubling(floats, expected), find_doubling(floats, eager));
}

/* --- roofline.csv ------------------------------------------------------------------------------------------------- */

void write_roofline(struct lab *lab, const struct options *base, struct csv *csv)
{
    const struct card *card = lab_card(lab);
    for (const struct variant *v = variants; v->name; v++) {
        struct options o = *base;
        variant_apply(v, &o);
        const struct branch_settings of = o.branch[0].of;
        if (of.kind == BRANCH_NONE)
            continue;
        const double seconds = time_branch(of, of.kind == BRANCH_MICRO ? REPEATS : 3, IN_STEP, lab_world(lab)).both;
        const struct eager_count forward = branch_work(of, false), backward = branch_work(of, true);
        const double bytes = forward.work.bytes + backward.work.bytes, flops = forward.work.flops + backward.work.flops;
        if (csv)
            do {
                csv_text(csv, "case", v->name);
                csv_integer(csv, "dispatched", forward.dispatched + backward.dispatched);
                csv_number(csv, "bytes", bytes);
                csv_number(csv, "flops", flops);
                csv_ms(csv, "pass_ms", seconds);
                csv_ms(csv, "predicted_ms", branch_pass_in_step(card, of));
                csv_number(csv, "flops_per_byte", flops / bytes);
                csv_number(csv, "GFLOP_per_s", flops / seconds / 1e9);
                csv_number(csv, "GB_per_s", bytes / seconds / 1e9);
                csv_number(csv, "memory_GB_per_s", card_cost(card, "triad_bytes_per_s") / 1e9);
                csv_number(csv, "product_GFLOP_per_s", card_cost(card, "product_flops_per_s") / 1e9);
            } while (csv_end_row(csv));
    }
}

/* --- series.csv ---------------------------------------------------------------------------------------------------- */

/* The first steps of a data case, as the published runs took them: workers start with step 0. */
static void write_steps(struct lab *lab, struct worker_loader *loader, const struct variant *v, const struct options *o,
                        struct csv *csv)
{
    enum { STEPS = 12 };
    struct trainer *t = lab_trainer(lab);
    struct queue_step expected[STEPS];
    double step[STEPS], data[STEPS];
    const struct worker_queue queue = queue_of(o, lab_card(lab));
    worker_queue_steps(&queue, expected, STEPS);
    worker_loader_restart(loader, share_even(&o->run, world_rank(lab_world(lab))), 1, plan_of(o));
    for (int i = 0; i < STEPS; i++) {
        const double began = world_now();
        const struct batch *batch = worker_loader_next(loader);
        data[i] = world_now() - began;
        trainer_forward(t, batch);
        trainer_backward(t, batch);
        trainer_update(t);
        device_wait();
        step[i] = world_now() - began;
        world_heartbeat(lab_world(lab));
    }
    worker_loader_settle(loader);
    for (int i = 0; csv && i < STEPS; i++)
        do {
            csv_text(csv, "case", v->name);
            csv_integer(csv, "step", i);
            csv_ms(csv, "step_ms", step[i]);
            csv_ms(csv, "data_ms", data[i]);
            csv_ms(csv, "predicted_step_ms", expected[i].data + expected[i].rest);
            csv_ms(csv, "predicted_data_ms", expected[i].data);
        } while (csv_end_row(csv));
}

void write_series(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct worker_loader *loader = workers_open(lab, base);
    for (const struct variant *v = variants; v->name; v++) {
        struct options o = *base;
        variant_apply(v, &o);
        if (o.is_slow)
            write_steps(lab, loader, v, &o, csv);
    }
    worker_loader_close(loader);
}
