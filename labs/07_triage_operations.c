/* 07_triage_operations: operations.csv of lab 07: a roofline point for each operation of the branches, timed within the chain, and for
 * the product of the model's hidden layer. And operations.json, a trace of the last of these passes. */
#include "07_triage.h"

#include <math.h>
#include <stdlib.h>

enum { REPEATS = 25 };

/* Seconds of each kind of operation in a pass: forward, backward; launches included. */
struct watched {
    double of[POINTWISE_OPS][2];
};

/* Operations of a step and the events around each. */
struct watch {
    double last;
    int calls;
    struct {
        enum pointwise_op op;
        bool is_backward;
        double began, ended;
    } * call; /* room for all of a step */
};

static void note(void *context, enum pointwise_op op, bool is_backward)
{
    struct watch *watch = context;
    const double now = device_record_event();
    if (op != POINTWISE_OPS) {
        const int i = watch->calls++;
        watch->call[i].op = op;
        watch->call[i].is_backward = is_backward;
        watch->call[i].began = watch->last;
        watch->call[i].ended = now;
    }
    watch->last = device_record_event();
}

/* Return the seconds of a finished step, summed by operation. */
static struct watched add_up(const struct watch *watch)
{
    struct watched seconds = { 0 };
    for (int i = 0; i < watch->calls; i++)
        seconds.of[watch->call[i].op][watch->call[i].is_backward] +=
            events_between(watch->call[i].began, watch->call[i].ended);
    return seconds;
}

/* Return the median time between an event and the next. */
static double stamp(void)
{
    enum { STAMPS = 101 };
    double began[STAMPS], seconds[STAMPS];
    events_begin(2 * STAMPS);
    for (int i = 0; i < STAMPS; i++) {
        began[i] = device_record_event();
        seconds[i] = device_record_event();
    }
    device_wait();
    for (int i = 0; i < STAMPS; i++)
        seconds[i] = events_between(began[i], seconds[i]);
    return stats_quantile(seconds, STAMPS, 0.5);
}

/* Return the operations of a finished step, with their times since the first event. */
static struct timed_pass pass_of(const struct watch *watch)
{
    struct timed_pass pass = { .count = watch->calls, .at = memory_new((size_t)watch->calls, sizeof *pass.at) };
    const double first = watch->call[0].began;
    for (int i = 0; i < watch->calls; i++)
        pass.at[i] = (struct timed_operation){ .name = pointwise_names[watch->call[i].op],
                                               .is_backward = watch->call[i].is_backward,
                                               .began = events_between(first, watch->call[i].began),
                                               .ended = events_between(first, watch->call[i].ended) };
    return pass;
}

/* Run an unfused branch, and return medians, and the last pass in `pass`. */
static struct watched watch_branch(struct branch_settings of, int times, struct world *world, struct timed_pass *pass)
{
    times = card_times(times);
    const size_t cells = (size_t)of.rows * (size_t)of.cols;
    const int calls = 2 * of.blocks * branch_operations(of.kind);
    float *features = device_new(MEMORY_MEASURING, cells, sizeof *features);
    struct watch watch = { .call = memory_new((size_t)calls, sizeof *watch.call) };
    struct watched *all = memory_new((size_t)times, sizeof *all), median;
    double *seconds = memory_new((size_t)times, sizeof *seconds);
    struct branch *branch = branch_open(of, 0);
    const double each = stamp();
    for (int i = -2; i < times; i++) {
        watch.calls = 0;
        events_begin(2 * (calls + 2)); /* also before the first operation of each pass */
        branch_watch(branch, i < 0 ? NULL : note, &watch);
        branch_forward(branch, features, cells);
        branch_backward(branch);
        device_wait();
        if (i >= 0)
            all[i] = add_up(&watch);
        world_heartbeat(world);
    }
    *pass = pass_of(&watch);
    branch_close(branch);
    for (int op = 0; op < POINTWISE_OPS; op++)
        for (int is_backward = 0; is_backward < 2; is_backward++) {
            for (int i = 0; i < times; i++)
                seconds[i] = all[i].of[op][is_backward];
            int of_op = 0;
            for (int i = 0; i < branch_operations(of.kind); i++)
                of_op += branch_operation(of, i).of.op == (enum pointwise_op)op ? of.blocks : 0;
            median.of[op][is_backward] = fmax(0, stats_quantile(seconds, times, 0.5) - of_op * each);
        }
    device_free(features);
    free(watch.call);
    free(all);
    free(seconds);
    return median;
}

/* The calls of an operation in a pass. */
struct calls {
    const char *of, *name, *direction;
    double count;
    struct roofline_point point;
};

static void write_calls(struct csv *csv, const struct card *card, const struct calls *calls)
{
    do {
        csv_text(csv, "case", calls->of);
        csv_text(csv, "operation", calls->name);
        csv_text(csv, "direction", calls->direction);
        csv_number(csv, "calls", calls->count);
        put_point(csv, calls->point);
        csv_number(csv, "copy_GB_per_s", card->copy_bandwidth / 1e9);
        csv_number(csv, "memory_GB_per_s", card_cost(card, "triad_bytes_per_s") / 1e9);
        csv_number(csv, "cache_GB_per_s", card_cost(card, "triad_8m_bytes_per_s") / 1e9);
        csv_number(csv, "product_GFLOP_per_s", card_cost(card, "product_flops_per_s") / 1e9);
        csv_number(csv, "dispatch_ns", 1e9 * card_cost(card, "dispatch_s"));
    } while (csv_end_row(csv));
}

/* Write a row for each kind of operation of a branch, forward and backward. Return its last pass. */
static struct timed_pass write_branch(struct lab *lab, const char *name, struct branch_settings of, struct csv *csv)
{
    struct timed_pass pass;
    const struct watched watched = watch_branch(of, of.kind == BRANCH_MICRO ? REPEATS : 5, lab_world(lab), &pass);
    for (int op = 0; csv && op < POINTWISE_OPS; op++)
        for (int is_backward = 0; is_backward < 2; is_backward++) {
            struct calls calls = { name,
                                   pointwise_names[op],
                                   is_backward ? "backward" : "forward",
                                   0,
                                   { .seconds = watched.of[op][is_backward] } };
            for (int i = 0; i < branch_operations(of.kind); i++) {
                const struct pointwise_back call = branch_operation(of, i);
                const struct pointwise_count count =
                    is_backward ? pointwise_count_backward(&call) : pointwise_count_forward(&call.of);
                if (call.of.op != (enum pointwise_op)op)
                    continue;
                calls.count += of.blocks;
                calls.point.bytes += of.blocks * count.bytes;
                calls.point.flops += of.blocks * count.flops;
                calls.point.predicted += of.blocks * operation_pass(lab_card(lab), of, i, is_backward);
            }
            if (calls.count > 0 && calls.point.seconds > 0)
                write_calls(csv, lab_card(lab), &calls);
        }
    pass.of = name;
    return pass;
}

/* Write a row for the product of the model's hidden layer: (samples, width) x (width, width). */
static void write_product(struct lab *lab, const struct options *o, struct csv *csv)
{
    const int rows = o->run.batch_size, width = o->model.of.mlp.hidden_dim;
    const double seconds = product_seconds(rows, width, REPEATS, lab_world(lab));
    const double flops = 2.0 * rows * width * width;
    if (csv)
        write_calls(csv, lab_card(lab),
                    &(struct calls){ "baseline",
                                     "product",
                                     "forward",
                                     1,
                                     { product_bytes(rows, width, width), flops, seconds,
                                       flops / card_cost(lab_card(lab), "product_flops_per_s") } });
}

void write_operations(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct timed_pass *passes = NULL;
    int count = 0;
    write_product(lab, base, csv);
    for (const struct variant *v = variants; v->name; v++) {
        struct options o = *base;
        variant_apply(v, &o);
        if (o.branch[0].of.kind == BRANCH_NONE || o.branch[0].of.way == BRANCH_FUSED)
            continue;
        passes = memory_grow(passes, ((size_t)count + 1) * sizeof *passes);
        passes[count++] = write_branch(lab, v->name, o.branch[0].of, csv);
    }
    lab_trace_operations(lab, passes, count);
    for (int i = 0; i < count; i++)
        free(passes[i].at);
    free(passes);
}
