/* 01_straggler: one rank is late. What does it cost the others, and what helps?
 *
 * Data-parallel ranks meet in the all-reduce of every step, so the slowest rank sets the pace:
 *
 *     step = max over ranks of (data + local) + T
 *
 *     data       fetching a batch, with a stall before it
 *     local      forward, backward, update
 *     T          transfer: the all-reduce, once all ranks have arrived; the wait for the last one is `wait`
 *
 * 01_straggler_formula.c says what each fix changes. Four faults make one rank late in every step; up to three fixes are tried on
 * each. The fifth, chance, delays each rank with a small probability, so with more ranks fewer steps stay on time:
 *
 *                       nothing    prefetch    smaller share    every k steps
 *     sleeps (skew)     skew_ws4   …_prefetch  …_share          …_every_k
 *     busy on the host  busy       …           …                …
 *     roaming           roaming    …           (no one rank)    …
 *     slow core         slow_core  …           …                …
 *     each by chance    chance     (not tried)
 *
 * Guess each cell before you run; notebooks-md/01_straggler.md has the formula of each. skew_ws4 repeats a case of the two blog
 * posts that README.md names; ws4 is their world size, and the name stays with other --ranks.
 *
 *     build/bin/01_straggler --ranks 4 --sleep-ms 40
 *
 * Look at: `blamed` (the rank that arrived last and made the others wait), formula against measured, and wait_ms in ranks.csv,
 * long on the ranks that are *not* late (printed: the mean over ranks). What must hold: expected/01_straggler.csv.
 * Expect, with a core per rank: the stall lengthens every rank's step. Prefetch hides a sleep behind the step; busy work only
 * while the core is free, as in a transfer that needs no core. Smaller shares help until the late rank has one sample left. Every
 * k steps saves transfer, but not the stall of one rank; only a roaming one costs less. */
#include "01_straggler.h"

static const struct option_row rows[] = {
    { "--slow-rank", OPTION_INTEGER, offsetof(struct options, slow_rank), 0, 1023, "R", "the rank that is late" },
    { "--sleep-ms", OPTION_NUMBER, offsetof(struct options, sleep_ms), 0, 60000, "MS", "its stall before each fetch" },
    { "--slow-factor", OPTION_INTEGER, offsetof(struct options, slow_factor), 1, 100, "N",
      "slowdown of the slow core" },
    { "--sync-every", OPTION_INTEGER, offsetof(struct options, every), 1, 1000, "K",
      "steps between all-reduces, as a fix" },
    { "--chance", OPTION_NUMBER, offsetof(struct options, chance), 0, 1, "P",
      "probability that a rank stalls in a step (case chance)" },
    { 0 },
};

/* clang-format off */
static void sleeps(struct options *o)    { o->stall = STALL_SLEEP; }
static void works(struct options *o)     { o->stall = STALL_BUSY; }
static void roams(struct options *o)     { o->stall = STALL_SLEEP; o->roams = true; }
static void chances(struct options *o)   { roams(o); o->chances = true; }
static void slow_core(struct options *o) { o->passes = o->slow_factor; }

static void prefetch(struct options *o)  { o->run.ahead = 1; }
static void share(struct options *o)     { o->shares = true; }
static void every_k(struct options *o)   { o->run.cycle = o->every; }

static const struct variant variants[] = {
    /* case                 fault      fix       idea, label */
    { "baseline", NULL, NULL, "all ranks do the same", "baseline" },
    { "skew_ws4", sleeps, NULL, "one rank sleeps before each fetch", "one rank sleeps" },
    { "skew_prefetch", sleeps, prefetch, "… and fetches one batch ahead", "one rank sleeps + prefetch" },
    { "skew_share", sleeps, share, "… and gets fewer samples", "one rank sleeps + smaller share" },
    { "skew_every_k", sleeps, every_k, "… and all synchronize only every k steps", "one rank sleeps + sync every k" },
    { "busy", works, NULL, "one rank computes on the host before each fetch", "one rank busy" },
    { "busy_prefetch", works, prefetch, "… and fetches one batch ahead, on the same core", "one rank busy + prefetch" },
    { "busy_share", works, share, "… and gets fewer samples", "one rank busy + smaller share" },
    { "busy_every_k", works, every_k, "… and all synchronize only every k steps", "one rank busy + sync every k" },
    { "roaming", roams, NULL, "a random rank sleeps before its fetch, a different one in each step", "random rank sleeps" },
    { "roaming_prefetch", roams, prefetch, "… and all fetch one batch ahead", "random rank sleeps + prefetch" },
    { "roaming_every_k", roams, every_k, "… and all synchronize only every k steps", "random rank sleeps + sync every k" },
    { "chance", chances, NULL, "each rank sleeps with a small probability, in each step", "each rank sleeps by chance" },
    { "slow_core", slow_core, NULL, "one rank's passes take longer", "slow core" },
    { "slow_core_prefetch", slow_core, prefetch, "… and all fetch one batch ahead", "slow core + prefetch" },
    { "slow_core_share", slow_core, share, "… and it gets fewer samples", "slow core + smaller share" },
    { "slow_core_every_k", slow_core, every_k, "… and all synchronize only every k steps", "slow core + sync every k" },
    { 0 },
};
/* clang-format on */

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

/* Return true if this rank stalls in this step. Every rank must call this in every step: some answers are drawn. */
static bool is_late(struct lab *lab, const struct options *o)
{
    int rank = world_rank(lab_world(lab));
    if (o->chances)
        return lab_chance(lab, o->chance);
    return rank == (o->roams ? lab_draw(lab, o->run.ranks) : o->slow_rank);
}

int main(int argc, char **argv)
{
    struct options base = { .run = run_published,
                            .model = published_mlp,
                            .sleep_ms = 40,
                            .slow_factor = 2,
                            .every = 4,
                            .chance = 0.05,
                            .passes = 1 };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    int rank = world_rank(lab_world(lab));

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        /* The frame has restarted model and data, and given this rank its share (deal()). */
        bool meets_each_step = o.run.cycle == 1;
        if (!meets_each_step)
            trainer_average_own_samples(t);

        while (lab_next_step(lab)) {
            struct stall stall = { is_late(lab, &o) ? o.stall : STALL_NONE, o.sleep_ms / 1e3 };
            int passes = rank == o.slow_rank ? o.passes : 1;

            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = trainer_next(t, stall); /* <- the fault: stall, then fetch, here or ahead */
            lab_phase(lab, SPAN_FORWARD);
            for (int pass = 0; pass < passes; pass++) /* <- another fault: a slow core repeats its passes */
                trainer_forward(t, batch);
            lab_phase(lab, SPAN_BACKWARD);
            for (int pass = 0; pass < passes; pass++)
                trainer_backward(t, batch);
            if (meets_each_step) /* <- where all ranks meet: it counts as wait and transfer, not as local */
                collective_run(collective, all_reduce(TYPE_F32, t->gradients, t->gradients, t->count));
            lab_phase(lab, SPAN_UPDATE);
            trainer_update(t);
            if (!meets_each_step && lab_every(lab, o.run.cycle)) {
                /* Local SGD: each rank trained alone; average the parameters, weighted by samples. */
                float weight = (float)batch->samples / (float)run_global_batch(&o.run);
                device_scale(t->gradients, t->parameters, weight, t->count);
                collective_run(collective, all_reduce(TYPE_F32, t->gradients, t->parameters, t->count));
            }
        }
    }
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static void refuse(const struct options *o)
{
    if (o->slow_rank >= o->run.ranks)
        die(STATUS_USAGE, "--slow-rank %d does not exist among %d ranks; name one from 0 to %d", o->slow_rank,
            o->run.ranks, o->run.ranks - 1);
}

/* Most samples of a rank. By shares, one rank may get nearly the whole batch. */
static int most_samples(const struct options *o)
{
    const struct option_list *cases = &o->run.cases;
    for (const struct variant *v = variants; v->name; v++)
        if (v->fix == share && (cases->count == 0 || option_list_has(cases, v->name)))
            return run_global_batch(&o->run);
    return o->run.batch_size;
}

static int culprit(const struct options *o)
{
    bool is_one = (o->stall != STALL_NONE && !o->roams) || o->passes > 1;
    return is_one ? o->slow_rank : -1;
}

static char *event(const struct options *o)
{
    return memory_text("rank %d sleeps %g ms before every fetch", o->slow_rank, o->sleep_ms);
}

static const struct lab_spec spec = {
    .lab = "01_straggler",
    .question = "One rank is late. What does it cost the others, and what helps?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .most_samples = most_samples,
    .deal = deal,
    .costs = pause_costs,
    .predict = predict,
    .hidden_option = "--slow-rank",
    .culprit = culprit,  /* the rank that the case delays */
    .asked = "skew_ws4", /* the case to guess, whose fault `event` describes */
    .event = event,
    .drawn = (const char *const[]){ "baseline", "skew_ws4", "skew_prefetch", NULL }, /* as lanes */
    .lesson = (const char *const[]){ "skew_ws4", "skew_prefetch", "skew_share", "slow_core", "slow_core_share", NULL },
};
