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

void put_point(struct csv *csv, struct roofline_point p)
{
    csv_number(csv, "bytes", p.bytes);
    csv_number(csv, "flops", p.flops);
    csv_ms(csv, "pass_ms", p.seconds);
    csv_ms(csv, "predicted_ms", p.predicted);
    csv_number(csv, "flops_per_byte", p.flops / p.bytes);
    csv_number(csv, "GFLOP_per_s", p.flops / p.seconds / 1e9);
    csv_number(csv, "GB_per_s", p.bytes / p.seconds / 1e9);
}

/* Write the row of a case that dispatches so many operations. */
static void write_point(struct csv *csv, const struct card *card, const char *of, int dispatched,
                        struct roofline_point p)
{
    do {
        csv_text(csv, "case", of);
        csv_integer(csv, "dispatched", dispatched);
        put_point(csv, p);
        csv_number(csv, "memory_GB_per_s", card_cost(card, "triad_bytes_per_s") / 1e9);
        csv_number(csv, "product_GFLOP_per_s", card_cost(card, "product_flops_per_s") / 1e9);
    } while (csv_end_row(csv));
}

/* What run_passes() trains on. */
struct training {
    struct trainer *trainer;
    const struct batch *batch;
};

static void run_passes(const void *training)
{
    const struct training *on = training;
    trainer_forward(on->trainer, on->batch);
    trainer_backward(on->trainer, on->batch);
}

/* Return the median seconds of the model's passes over one batch. */
static double time_model(struct lab *lab, const struct options *o)
{
    struct worker_loader *loader = workers_open(lab, o);
    worker_loader_restart(loader, share_even(&o->run, world_rank(lab_world(lab))), 1, plan_of(o));
    const struct training on = { lab_trainer(lab), worker_loader_next(loader) };
    const double median = repeated_call_seconds((struct call_times){ 3, REPEATS, 1 }, run_passes, &on, lab_world(lab));
    worker_loader_settle(loader);
    worker_loader_close(loader);
    return median;
}

/* Return the number of the model's matrix products in both passes over a batch, without gradients of the input, as workload_flops()
 * counts; add their bytes to `bytes`. */
static int count_products(const struct options *o, double *bytes)
{
    const int count = workload_tensors(&o->model, NULL);
    int dispatched = 0;
    struct model_tensor *tensors = memory_new((size_t)count, sizeof *tensors);
    workload_tensors(&o->model, tensors);
    for (int i = 0; i < count; i++) {
        if (tensors[i].rows == 0) /* a bias */
            continue;
        const int products = tensors[i].layer == 0 ? 2 : 3;
        const double columns = (double)(tensors[i].count / tensors[i].rows);
        dispatched += products;
        *bytes += products * product_bytes(o->run.batch_size, (double)tensors[i].rows, columns);
    }
    free(tensors);
    return dispatched;
}

/* The model: cases without a branch compute nothing else. */
static void write_model(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct options o = *base;
    variant_apply(variants, &o);
    const struct local_cost cost = card_local(lab_card(lab), o.run.ranks);
    const struct work work = workload_work(&o.model, o.run.batch_size);
    struct roofline_point p = { .flops = workload_flops(&o.model, work),
                                .seconds = time_model(lab, &o),
                                .predicted = cost_at(&cost.passes, work) };
    const int dispatched = count_products(&o, &p.bytes);
    if (csv)
        write_point(csv, lab_card(lab), variants->name, dispatched, p);
}

void write_roofline(struct lab *lab, const struct options *base, struct csv *csv)
{
    const struct card *card = lab_card(lab);
    write_model(lab, base, csv);
    for (const struct variant *v = variants; v->name; v++) {
        struct options o = *base;
        variant_apply(v, &o);
        const struct branch_settings of = o.branch[0].of;
        if (of.kind == BRANCH_NONE)
            continue;
        const double seconds = time_branch(of, of.kind == BRANCH_MICRO ? REPEATS : 3, IN_STEP, lab_world(lab)).both;
        const struct eager_count forward = branch_work(of, false), backward = branch_work(of, true);
        if (csv)
            write_point(csv, card, v->name, (int)(forward.dispatched + backward.dispatched),
                        (struct roofline_point){ forward.work.bytes + backward.work.bytes,
                                                 forward.work.flops + backward.work.flops, seconds,
                                                 branch_pass_in_step(card, of) });
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
