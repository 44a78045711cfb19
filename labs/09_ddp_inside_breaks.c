/* 09_ddp_inside_breaks: jobs of lab 09 in which a rank makes a mistake that stops the others (--break). Each is a job of its own with a
 * deadline; it ends as soon as one line has named rank, group, collective, sizes and cause (common/launch/desync.h). That line comes
 * from the calls that the ranks recorded. No rank reports which mistake was planted.
 *
 *     left_out          a layer has no gradients on one rank, and its reducer leaves out the buckets that wait for them
 *     order             gradients of a layer come late on one rank, and reducers start buckets as they become ready
 *     size              one rank cuts its gradients into other buckets
 *     early_exit        one rank has fewer batches, and ends
 *     crossed_groups    two groups sum half of the gradients each; one rank calls them in the other order
 *
 * What helps against each, and its price: 09_ddp_inside_cures.c. */
#include "09_ddp_inside.h"

enum { STEPS_AFTER = 3, SPANS = 2 * BUCKETS_MOST };

/* A rank of such a job. */
struct broken {
    const struct options *o;
    struct world *world;
    struct spans spans; /* for the numbers of steps only */
    struct collective *collective;
    const struct group *group[BREAK_GROUPS];
    struct trainer *t;
    struct reducer *reducer;
    struct late_layer late;
};

bool is_break(const struct options *o)
{
    return o->broken != NO_BREAK;
}

struct reducer_settings buckets_of_break(const struct options *o)
{
    const struct options settings = with_cap(o, 1024.0 * o->bucket_kb);
    return reducer_of(&settings);
}

static struct buckets cut(const struct options *o, const struct reducer_settings *settings)
{
    return buckets_of_model(&o->model, false, settings->first, settings->most);
}

/* Return the settings for a bucket per tensor or, if the others have these, one bucket for all. */
struct reducer_settings other_buckets(const struct options *o)
{
    const struct reducer_settings usual = buckets_of_break(o);
    struct reducer_settings other = usual;
    other.first = other.most = 1;
    if (cut(o, &other).count == cut(o, &usual).count)
        other.first = other.most = workload_parameters(&o->model);
    return other;
}

int layer_of_break(const struct options *o)
{
    const struct reducer_settings settings = buckets_of_break(o);
    const struct buckets buckets = cut(o, &settings);
    return buckets.at[(buckets.count - 1) / 2].layer;
}

int layer_behind(const struct options *o, int layer)
{
    const struct reducer_settings settings = buckets_of_break(o);
    const struct buckets buckets = cut(o, &settings);
    for (int i = 0; i < buckets.count; i++)
        if (buckets.at[i].layer < layer)
            return buckets.at[i].layer;
    return -1;
}

/* The first part is a multiple of any usual number of ranks, among which a ring divides it. */
size_t part_of_group(size_t count, int group, size_t *begin)
{
    const size_t first = count / 2 / 64 * 64;
    *begin = group == 0 ? 0 : first;
    return group == 0 ? first : count - first;
}

void refuse_break(const struct options *o)
{
    if (!is_break(o)) {
        if (o->watch_only || o->is_cured)
            die(STATUS_USAGE, "%s has a meaning only with --break; add it, or leave both out",
                o->is_cured ? "--cure" : "--watch-only");
        return;
    }
    if (o->watch_only && o->is_cured)
        die(STATUS_USAGE, "--cure leaves nothing to watch for; leave out --watch-only");
    if (o->run.backend == BACKEND_SIM && !o->run.platform)
        die(STATUS_USAGE,
            "--break measures nothing, so it needs no dedicated cores; leave out --backend sim, or name a "
            "--platform");
    if (o->run.ranks < 2)
        die(STATUS_USAGE, "--break needs ranks that wait for each other, not --ranks %d; choose at least 2",
            o->run.ranks);
    if (o->break_rank >= o->run.ranks)
        die(STATUS_USAGE, "--break-rank %d, but the ranks are 0 to %d", o->break_rank, o->run.ranks - 1);
    if (o->broken == OTHER_ORDER && layer_behind(o, layer_of_break(o)) < 0)
        die(STATUS_USAGE, "--bucket-kb %d puts all layers into one bucket, which has no order; choose a smaller one",
            o->bucket_kb);
}

/* --- the mistakes --------------------------------------------------------------------------------------------------- */

/* True if this rank makes its mistake in this step. */
static bool is_now(const struct broken *b)
{
    return world_rank(b->world) == b->o->break_rank && b->spans.step == b->o->break_step;
}

static void ready(void *argument, int layer)
{
    struct late_layer *late = argument;
    if (layer == late->layer) {
        late->is_held = true;
        return;
    }
    reducer_ready(late->reducer, layer);
    if (late->is_held && layer == late->behind) {
        late->is_held = false;
        reducer_ready(late->reducer, late->layer);
    }
}

struct model_hooks late_hooks(struct late_layer *late)
{
    return (struct model_hooks){ .argument = late, .gradients_ready = ready };
}

/* Sum each part of the gradients in its group. */
static void sum_in_groups(const struct broken *b)
{
    const bool is_crossed = is_now(b);
    for (int i = 0; i < BREAK_GROUPS; i++) {
        const int which = is_crossed ? BREAK_GROUPS - 1 - i : i; /* <- this rank begins with the other group */
        size_t begin;
        const size_t count = part_of_group(b->t->count, which, &begin);
        float *part = b->t->gradients + begin;
        collective_run(b->collective, in_group(b->group[which], all_reduce(TYPE_F32, part, part, count)));
    }
}

/* Make the mistake of this step, if any is due before it. */
static void go_wrong(struct broken *b)
{
    const bool is_odd = is_now(b);
    const int layer = layer_of_break(b->o);
    b->late.layer = -1;
    model_freeze(b->t->model, -1);
    if (!is_odd)
        return;
    world_plant_mistake(b->world);
    if (b->o->broken == LEFT_OUT)
        model_freeze(b->t->model, layer); /* <- the others train this layer */
    if (b->o->broken == OTHER_ORDER)
        b->late.layer = layer; /* <- its gradients come after those of a layer that backward computes later */
    if (b->o->broken == OTHER_SIZE) {
        const struct reducer_settings other = other_buckets(b->o);
        reducer_restart(b->reducer, b->collective, &other); /* <- not as those of the others */
    }
}

/* Train. A rank returns when its batches are used up. */
static void train(struct broken *b)
{
    for (int step = 0; step <= b->o->break_step + STEPS_AFTER; step++) {
        spans_restart(&b->spans, 0, 0);
        b->spans.step = step;
        go_wrong(b);
        if (is_now(b) && b->o->broken == EARLY_EXIT)
            return; /* <- the others go on */
        const struct batch *batch = trainer_next(b->t, NO_STALL);
        trainer_forward(b->t, batch);
        trainer_backward(b->t, batch);
        if (b->o->broken == CROSSED_GROUPS)
            sum_in_groups(b);
        else
            reducer_finish(b->reducer);
        trainer_update(b->t);
    }
}

static void open_job(struct broken *b)
{
    struct reducer_settings settings = buckets_of_break(b->o);
    const struct run *run = &b->o->run;
    const int rank = world_rank(b->world);
    settings.unused = b->o->broken == LEFT_OUT ? UNUSED_LEFT_OUT : UNUSED_STOPS;
    settings.in_any_order = b->o->broken == OTHER_ORDER;
    spans_open(&b->spans, SPANS);
    b->collective = collective_open(b->world, &b->spans);
    for (int i = 0; i < BREAK_GROUPS && b->o->broken == CROSSED_GROUPS; i++)
        b->group[i] = collective_split(b->collective, 0, rank);
    collective_compare(b->collective, !b->o->watch_only);
    b->t = trainer_open(&b->o->model, run, run->batch_size);
    trainer_restart(b->t, share_even(run, rank), 0, 1 / (float)run_global_batch(run));
    b->reducer = reducer_open(b->t->model, run->ranks);
    reducer_restart(b->reducer, b->collective, &settings);
    b->late = (struct late_layer){ b->reducer, -1, layer_behind(b->o, layer_of_break(b->o)), false };
    if (b->o->broken != CROSSED_GROUPS)
        model_hook(b->t->model, late_hooks(&b->late));
}

static void close_job(struct broken *b)
{
    reducer_close(b->reducer);
    trainer_close(b->t);
    collective_close(b->collective);
    spans_close(&b->spans);
}

/* all: train with the cures of the mistake, which then does no harm. */
static int cure_it(const struct broken *b)
{
    struct cured cured[CURES] = { 0 };
    model_hook(b->t->model, (struct model_hooks){ 0 });
    measure_cures(b->world, b->t, b->o, b->o->broken, cured);
    if (world_rank(b->world) > 0)
        return STATUS_RIGHT;
    print_cures(cured, b->o->broken);
    for (int i = 0; i < CURES; i++)
        if ((int)cures[i].against == b->o->broken && cured[i].apart > CURE_TOLERANCE)
            die(STATUS_WRONG, "%s: gradients differ from their plain sum by %.1e of the largest", cures[i].name,
                cured[i].apart);
    return STATUS_RIGHT;
}

static int break_it(struct broken *b)
{
    struct world *world = b->world;
    train(b);
    if (world_rank(world) == b->o->break_rank && b->o->broken == EARLY_EXIT)
        world_exit_early(world);
    if (world_rank(world) == 0)
        warn("no rank hangs: sums were added up that do not belong together");
    return STATUS_WRONG;
}

int run_break(struct world *world, const struct options *o)
{
    enum { DEADLINE_S = 30 };
    struct broken b = { .o = o, .world = world };
    world_set_timeout(world, o->run.deadline_s > 0 ? o->run.deadline_s : DEADLINE_S);
    open_job(&b);
    const int status = o->is_cured ? cure_it(&b) : break_it(&b);
    close_job(&b);
    return status;
}
