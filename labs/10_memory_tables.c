/* 10_memory_tables: tables of lab 10: timeline.csv, what is in use in the course of a step; growth.csv, how activations grow with batch,
 * length, blocks and width; and divided.csv, how memory shrinks with ranks and precision in each stage. calculator.csv is the
 * calculator's. */
#include "10_memory.h"

#include <math.h>

static bool is_whole(const struct options *base)
{
    return base->run.cases.count == 0;
}

/* --- timeline.csv --------------------------------------------------------------------------------------------------- */

enum { EVENTS_MOST = 4096 };

/* Memory in use after each change since the step began. */
struct events {
    enum work_pass pass; /* that runs now */
    int count;
    struct event {
        enum work_pass pass;
        double at;
        size_t of[MEMORY_OWNERS];
    } event[EVENTS_MOST];
};

static void note(void *argument, enum memory_place place, const struct ledger_sums *now)
{
    struct events *events = argument;
    if (events->count == EVENTS_MOST || place != device_place())
        return;
    struct event *event = &events->event[events->count++];
    event->pass = events->pass;
    event->at = world_now();
    memcpy(event->of, now->of, sizeof event->of);
}

static const enum memory_owner drawn[] = { MEMORY_PARAMETERS, MEMORY_GRADIENTS, MEMORY_MOMENTS, MEMORY_ACTIVATIONS,
                                           MEMORY_COMMUNICATION };
enum { DRAWN = sizeof drawn / sizeof *drawn };

static void put_events(struct csv *csv, const char *name, const struct events *events, double began)
{
    for (int i = 0; i < events->count; i++)
        do {
            csv_text(csv, "case", name);
            csv_ms(csv, "at_ms", events->event[i].at - began);
            csv_text(csv, "pass", work_passes[events->event[i].pass]);
            for (int owner = 0; owner < DRAWN; owner++) {
                char *column = memory_text("%s_mb", memory_owner_names[drawn[owner]]);
                csv_number(csv, column, (double)events->event[i].of[drawn[owner]] / 1e6);
                free(column);
            }
        } while (csv_end_row(csv));
}

/* all: open the model of these settings, and begin at the first batch. */
static struct zero *begin_training(struct lab *lab, const struct options *o, struct collective *collective)
{
    struct trainer *t = lab_trainer(lab);
    trainer_restart(t, share_even(&o->run, world_rank(lab_world(lab))), 0, 1.0f / (float)run_global_batch(&o->run));
    return zero_open(&o->model, o->run.seed, t->most, o->plan, collective, NULL);
}

/* Note the memory in use when a pass begins, unless `events` is NULL. */
static void begin_pass(struct events *events, enum work_pass pass)
{
    if (!events)
        return;
    const struct ledger_sums now = ledger_now(device_place());
    events->pass = pass;
    note(events, device_place(), &now);
}

static void train_step(struct trainer *t, struct zero *zero, struct events *events)
{
    begin_pass(events, WORK_FETCH);
    const struct batch *batch = trainer_next(t, NO_STALL);
    begin_pass(events, WORK_FORWARD);
    zero_forward(zero, batch);
    begin_pass(events, WORK_BACKWARD);
    zero_backward(zero, batch);
    begin_pass(events, WORK_UPDATE);
    zero_update(zero);
    device_wait();
}

/* all: watch the second step of each case. */
static void write_timeline(struct lab *lab, const struct options *base, struct csv *csv)
{
    (void)base;
    struct events *events = memory_new(1, sizeof *events);
    struct collective *collective = collective_open(lab_world(lab), NULL);
    struct trainer *t = lab_trainer(lab);
    const char *name;
    const struct options *o;
    for (int i = 0; (o = lab_case(lab, i, &name)); i++) {
        struct zero *zero = begin_training(lab, o, collective);
        train_step(t, zero, NULL);
        events->count = 0;
        world_barrier(lab_world(lab));
        const double began = world_now();
        ledger_watch(note, events);
        train_step(t, zero, events);
        ledger_watch(NULL, NULL);
        zero_close(zero);
        if (csv)
            put_events(csv, name, events, began);
    }
    collective_close(collective);
    free(events);
}

/* --- growth.csv ------------------------------------------------------------------------------------------------------ */

/* Twice as large in one dimension. */
static const struct change {
    const char *what;
    int batch, length, blocks, width;
} changes[] = { { "nothing", 1, 1, 1, 1 },
                { "batch", 2, 1, 1, 1 },
                { "length", 1, 2, 1, 1 },
                { "blocks", 1, 1, 2, 1 },
                { "width", 1, 1, 1, 2 } };
enum { CHANGES = sizeof changes / sizeof *changes };

static struct options changed(const struct options *base, const struct change *change)
{
    struct options o = *base;
    struct transformer_settings *of = &o.model.of.transformer;
    o.run.batch_size *= change->batch;
    o.run.ranks = 1;
    o.run.steps = 1;
    of->texts.fixed_length *= change->length;
    of->num_blocks *= change->blocks;
    of->hidden_dim *= change->width;
    of->num_heads *= change->width; /* of the same width each */
    return o;
}

/* Return the bytes of activations at the peak of a step, on one rank, beyond those that the device keeps for its operations. */
static double activations(const struct options *o)
{
    const size_t before = ledger_now(device_place()).of[MEMORY_ACTIVATIONS];
    struct trainer *t = trainer_open(&o->model, &o->run, o->run.batch_size);
    trainer_restart(t, share_even(&o->run, 0), 0, 1.0f / (float)o->run.batch_size);
    ledger_restart_peak();
    const struct batch *batch = trainer_next(t, NO_STALL);
    trainer_forward(t, batch);
    trainer_backward(t, batch);
    device_wait();
    const struct ledger_peak peak = ledger_peak(device_place());
    trainer_close(t);
    return (double)(peak.sums.of[MEMORY_ACTIVATIONS] - before);
}

/* Bytes of a block's activations at 16 bit if attention stores its scores and the block is four times as wide inside (Korthikanti et al.,
 * 2022): 34 s b h + 5 a s² b. */
static double published_activations(const struct options *o)
{
    const struct transformer_settings *of = &o->model.of.transformer;
    const double s = of->texts.fixed_length, b = o->run.batch_size, h = of->hidden_dim, a = of->num_heads;
    return of->num_blocks * (34 * s * b * h + 5 * a * s * s * b);
}

static void write_growth(struct lab *lab, const struct options *base, struct csv *csv)
{
    for (int i = 0; i < CHANGES && world_rank(lab_world(lab)) == 0; i++) {
        const struct options o = changed(base, &changes[i]);
        const double predicted = model_memory(&o.model, loader_most(&o.model, o.run.batch_size)).of[MEMORY_ACTIVATIONS],
                     held = activations(&o);
        do {
            csv_text(csv, "twice", changes[i].what);
            csv_integer(csv, "batch_size", o.run.batch_size);
            csv_integer(csv, "length", o.model.of.transformer.texts.fixed_length);
            csv_integer(csv, "blocks", o.model.of.transformer.num_blocks);
            csv_integer(csv, "width", o.model.of.transformer.hidden_dim);
            csv_number(csv, "predicted_mb", predicted / 1e6);
            csv_number(csv, "held_mb", held / 1e6);
            csv_number(csv, "published_mb", published_activations(&o) / 1e6);
        } while (csv_end_row(csv));
    }
    world_park(lab_world(lab));
}

/* --- divided.csv ----------------------------------------------------------------------------------------------------- */

/* Return the memory of a rank, in floats or in mixed precision. In the latter activations and buffers have 2 bytes a number. */
static struct memory_estimate divided(const struct options *o, struct zero_plan plan, int ranks, bool is_mixed)
{
    struct memory_estimate memory = zero_memory(&o->model, loader_most(&o->model, o->run.batch_size), plan, ranks);
    const struct memory_estimate share =
        zero_share(mixed_precision((double)workload_parameters(&o->model)), plan.stage, ranks);
    for (int owner = 0; is_mixed && owner < MEMORY_OWNERS; owner++)
        memory.of[owner] = share.of[owner] > 0 ? share.of[owner] : memory.of[owner] / 2;
    return memory;
}

static void put_divided(struct csv *csv, const struct options *o, struct zero_plan plan, int ranks, bool is_mixed,
                        double held)
{
    const struct memory_estimate memory = divided(o, plan, ranks, is_mixed);
    do {
        csv_text(csv, "precision", is_mixed ? "mixed" : "fp32");
        csv_integer(csv, "stage", plan.stage);
        csv_integer(csv, "ranks", ranks);
        csv_number(csv, "model_mb", memory_estimate_model(&memory) / 1e6);
        csv_number(csv, "activations_mb", memory.of[MEMORY_ACTIVATIONS] / 1e6);
        csv_number(csv, "communication_mb", memory.of[MEMORY_COMMUNICATION] / 1e6);
        csv_number(csv, "predicted_mb", memory_estimate_sum(&memory) / 1e6);
        csv_number(csv, "held_mb", held / 1e6);
    } while (csv_end_row(csv));
}

/* all: return the bytes that this rank holds at the peak of a step in a stage, of all owners that a step has. */
static double held_in_stage(struct lab *lab, const struct options *base, struct collective *collective, int stage)
{
    const struct ledger_sums before = ledger_now(device_place());
    struct options o = *base;
    o.plan.stage = stage;
    struct zero *zero = begin_training(lab, &o, collective);
    ledger_restart_peak();
    train_step(lab_trainer(lab), zero, NULL);
    const struct ledger_peak peak = ledger_peak(device_place());
    zero_close(zero);
    double held = 0;
    for (int i = 0; i < DRAWN; i++)
        held += (double)peak.sums.of[drawn[i]] - (double)before.of[drawn[i]];
    return held;
}

/* all: predict both precisions on 1, 2, 4 … 64 ranks; train the model of floats on the ranks of the run. */
static void write_divided(struct lab *lab, const struct options *base, struct csv *csv)
{
    enum { MOST = 64 };
    const int own = base->run.ranks, last = own > MOST ? own : MOST;
    struct collective *collective = collective_open(lab_world(lab), NULL);
    double held[ZERO_STAGES];
    for (int stage = 0; stage < ZERO_STAGES; stage++)
        held[stage] = held_in_stage(lab, base, collective, stage);
    collective_close(collective);
    for (int series = 0; csv && series < 2 * ZERO_STAGES; series++) {
        const struct zero_plan plan = { .stage = series % ZERO_STAGES };
        const bool is_mixed = series >= ZERO_STAGES;
        for (int ranks = 1; ranks <= last; ranks++) {
            const bool is_there = ranks == own && !is_mixed;
            if (is_there || (ranks <= MOST && (ranks & (ranks - 1)) == 0))
                put_divided(csv, base, plan, ranks, is_mixed, is_there ? held[plan.stage] : (double)NAN);
        }
    }
}

const struct lab_table tables[] = {
    { "timeline.csv", is_whole, write_timeline, NULL },
    { "growth.csv", is_whole, write_growth, NULL },
    { "divided.csv", is_whole, write_divided, NULL },
    { "calculator.csv", is_whole, write_calculator, NULL },
    { 0 },
};
