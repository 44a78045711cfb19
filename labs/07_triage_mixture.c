/* 07_triage_mixture: the case `mixture` of lab 07, a step of a given length that is made of causes in given shares, by the machine card:
 *
 *     data       the step makes its batch, whose samples sleep, or compute where the share is too small for a sleep of each; or workers
 *                make batches, one in as many steps as there are workers: what the rest of the step leaves of that is the share. So
 *                parts that take longer than the card says shorten it
 *     launches   a branch of operations on tensors of 16 floats, eager
 *     memory     a branch of large tensors, replayed: few operations and little arithmetic
 *     compute    a branch of tensors in the cache, in one loop; and the products of the model
 *     rest       work of the host
 *
 * A share is what the change of --verdict would gain, times its factor; for launches, of an eager operation, only what a replay leaves
 * out. Each part also has some of the other causes, so the sizes are found by going round: each part gets what the others leave of its
 * cause. */
#include "07_triage.h"

#include <math.h>
#include <string.h>

enum { LAUNCHES, MEMORY, COMPUTE, PARTS };

/* Branches of one unit of size: a pass, or a row of the large tensors. */
static const struct branch_settings units[PARTS] = {
    [LAUNCHES] = { .kind = BRANCH_MICRO, .blocks = 48, .rows = 1, .cols = 16 },
    [MEMORY] = { .kind = BRANCH_MICRO, .way = BRANCH_REPLAY, .blocks = 1, .rows = 4096, .cols = 1024 },
    [COMPUTE] = { .kind = BRANCH_MICRO, .way = BRANCH_FUSED, .blocks = 24, .rows = 8, .cols = 512 },
};

/* Return the seconds of a pass that the change of a cause saves, times the factor of the change. */
static double gain(struct branch_settings of, int cause, const struct card *card)
{
    struct branch_settings less = of;
    if (cause == LAUNCHES && of.way != BRANCH_EAGER)
        return 0;
    if (cause == LAUNCHES)
        less.way = BRANCH_REPLAY;
    else
        less.half = cause == MEMORY ? HALF_BYTES : HALF_FLOPS;
    return (cause == LAUNCHES ? 1 : 2) * (branch_pass(card, of) - branch_pass(card, less));
}

/* Return the seconds of a step of the model alone. */
static double model_step(const struct options *o, const struct card *card)
{
    const struct local_cost cost = card_local(card, o->run.ranks);
    return cost_at(&cost.passes, workload_work(&o->model, o->run.batch_size)) + cost.update;
}

/* Return the seconds that half the samples would save the model, doubled. */
static double model_compute(const struct options *o, const struct card *card)
{
    const struct local_cost cost = card_local(card, o->run.ranks);
    struct options half = *o;
    half.has_half_the_samples = true;
    return 2 * (cost_at(&cost.passes, workload_work(&o->model, samples_of(o))) -
                cost_at(&cost.passes, workload_work(&o->model, samples_of(&half))));
}

/* Set `size` (PARTS): passes of each unit, so that each cause has its `share` (PARTS) of a step of these seconds. */
static void solve(const struct options *o, const struct branch_settings *unit, const double *share, double step,
                  const struct card *card, double *size)
{
    enum { TURNS = 50 };
    double of[PARTS][PARTS]; /* gains: part, cause */
    for (int part = 0; part < PARTS; part++)
        for (int cause = 0; cause < PARTS; cause++)
            of[part][cause] = gain(unit[part], cause, card);
    for (int turn = 0; turn < TURNS; turn++)
        for (int part = 0; part < PARTS; part++) {
            double left = share[part] * step - (part == COMPUTE ? model_compute(o, card) : 0);
            for (int other = 0; other < PARTS; other++)
                left -= other == part ? 0 : size[other] * of[other][part];
            size[part] = of[part][part] > 0 ? fmax(0, left / of[part][part]) : 0;
        }
}

/* Set the delay of a sample so that a batch takes these seconds, as nearly as possible. If even the shortest sleeps take longer, its
 * samples compute instead: a system's sleep always lasts some hundredths of a millisecond. */
static void set_delay(struct options *o, double seconds, const struct card *card)
{
    enum { HALVINGS = 40 };
    double low = 0, high = 1e3 * seconds / o->run.batch_size, on_core;
    o->is_slow = o->mix_data > 0;
    o->stall = STALL_SLEEP;
    o->rounds = 1;
    if (!o->is_slow)
        return;
    o->sleep_ms = 0;
    if (batch_seconds(o, card, &on_core) > seconds)
        o->stall = STALL_BUSY;
    double *delay = o->stall == STALL_SLEEP ? &o->sleep_ms : &o->busy_ms;
    for (int i = 0; i < HALVINGS; i++) {
        *delay = (low + high) / 2;
        *(batch_seconds(o, card, &on_core) < seconds ? &low : &high) = *delay;
    }
}

void size_mixture(struct options *o, const struct card *card)
{
    enum { TURNS = 8, ROWS_MOST = 1 << 20 };
    const double share[PARTS] = { o->mix_launches / 100, o->mix_memory / 100, o->mix_compute / 100 };
    double size[PARTS] = { 0 };
    if (!o->is_mixture)
        return;
    for (int part = 0; part < PARTS; part++)
        o->branch[part].of = units[part]; /* the largest, for the memory that a dry run foresees */
    if (!card)
        return;
    o->is_sized = true;
    if (isnan(card_cost(card, "dispatch_s"))) {
        if (o->run.blind)
            die(STATUS_USAGE,
                "--blind: this platform's file lacks the costs of the branch (own_dispatch_s ...), of which "
                "mixtures are made; name cases with --cases, or choose --platform blog_gpu");
        memset(o->branch, 0, sizeof o->branch);
        return;
    }
    const double step = o->mix_steps * model_step(o, card);
    struct branch_settings unit[PARTS];
    memcpy(unit, units, sizeof unit);
    for (int turn = 0; turn < TURNS; turn++) { /* smaller tensors are in a faster cache */
        solve(o, unit, share, step, card, size);
        unit[MEMORY].rows = (int)fmin(ROWS_MOST, fmax(1, ceil(size[MEMORY] * unit[MEMORY].rows)));
    }
    for (int part = 0; part < PARTS; part++) {
        o->branch[part].of = unit[part];
        o->branch[part].passes = part == MEMORY ? share[MEMORY] > 0 : (int)lround(size[part]);
        if (o->branch[part].passes == 0)
            o->branch[part].of.kind = BRANCH_NONE;
    }
    const bool starves = o->workers > 0 && o->mix_data > 0;
    set_delay(o, starves ? o->workers * step : o->mix_data / 100 * step, card);
    struct options without = *o;
    without.from_memory = starves;
    const struct prediction rest = predict(&without, card);
    o->host_s = fmax(0, (starves ? 1 - o->mix_data / 100 : 1) * step - prediction_step(&rest));
}

/* --- what --blind draws -------------------------------------------------------------------------------------------- */

enum { CAUSES = 4 };
static const char *const flags[] = {
    "--mix-data", "--mix-launches", "--mix-memory", "--mix-compute", "--mix-steps", "--mix-workers", NULL
};
static const char *const suspects[CAUSES] = { "data", "launches", "memory", "compute" };
static const double most[CAUSES] = { 80, 45, 75,
                                     75 }; /* of operations part of the time is no launch: the rest must hold it */

static double *percent_of(struct options *o, int cause)
{
    return (double *[CAUSES]){ &o->mix_data, &o->mix_launches, &o->mix_memory, &o->mix_compute }[cause];
}

/* Draw a multiple of 5 from low to high. */
static double draw_percent(struct random *random, double low, double high)
{
    return low + 5 * random_below(random, (uint32_t)((high - low) / 5) + 1);
}

static void swap(int *cause, int i, int other)
{
    const int was = cause[i];
    cause[i] = cause[other];
    cause[other] = was;
}

/* Put the causes into a random order. */
static void shuffle(int *cause, struct random *random)
{
    for (int i = 0; i < CAUSES; i++)
        cause[i] = i;
    for (int i = CAUSES - 1; i > 0; i--)
        swap(cause, i, (int)random_below(random, (uint32_t)i + 1));
}

/* Return the leading cause of a seed. Of the seeds 1 to 4, 5 to 8 and so on each leads with another cause, in an order that a reader
 * cannot foresee: a benchmark of a few dozen seeds then has as many faults of each cause. */
static int leading(uint64_t seed)
{
    int cause[CAUSES];
    struct random random;
    random_seed(&random, UINT64_MAX - (seed + CAUSES - 1) / CAUSES); /* not the sequence from which ranks draw */
    shuffle(cause, &random);
    return cause[(seed + CAUSES - 1) % CAUSES];
}

/* Draw one to three causes, the first larger than the others by at least 15 points, a step as long as 20 to 60 of the model, and the
 * workers that make its batches: none, two or four. */
static void draw(struct options *o, struct random *random)
{
    int cause[CAUSES];
    const int lead = leading(o->run.seed);
    shuffle(cause, random);
    for (int i = 1; i < CAUSES; i++)
        if (cause[i] == lead)
            swap(cause, 0, i);
    for (int i = 0; i < CAUSES; i++)
        *percent_of(o, i) = 0;
    const double first = draw_percent(random, 35, most[cause[0]]);
    *percent_of(o, cause[0]) = first;
    double left = 80 - first * (cause[0] == 1 ? 1.5 : 1);
    const int others = (int)random_below(random, 3);
    for (int i = 1; i <= others; i++) {
        const double price = cause[i] == 1 ? 1.5 : 1, room = fmin(first - 15, floor(left / price / 5) * 5);
        if (room < 10)
            continue;
        const double percent = draw_percent(random, 10, room);
        *percent_of(o, cause[i]) = percent;
        left -= price * percent;
    }
    o->mix_steps = 20 + 10 * random_below(random, 5);
    o->mix_workers = 2 * random_below(random, 3);
}

static double share(const struct options *o, const char *suspect)
{
    struct options copy = *o;
    for (int i = 0; i < CAUSES; i++)
        if (strcmp(suspects[i], suspect) == 0)
            return *percent_of(&copy, i) / 100;
    return 0;
}

const struct lab_draw mixture_draw = { .name = "mixture", .flags = flags, .draw = draw, .share = share };
