/* 01_straggler: one rank is late. What does it cost the others, and what helps?
 *
 * Data-parallel ranks meet in the all-reduce of every step, so the slowest rank sets the pace:
 *
 *     step = max over ranks of (data + local) + transfer
 *
 * Four pathologies make one rank late in every step; up to three fixes are tried on each. The fifth, chance, delays each rank
 * with a small probability, so with more ranks fewer steps stay on time:
 *
 *                       nothing    prefetch    smaller share    every k steps
 *     sleeps (skew)     skew_ws4   …_prefetch  …_share          …_every_k
 *     busy on the host  busy       …           …                …
 *     roaming           roaming    …           (no one rank)    …
 *     slow core         slow_core  …           …                …
 *     each by chance    chance     (not tried)
 *
 * Guess each cell before you run; notebooks-md/01_straggler.md holds the table to fill in.
 *
 *     build/bin/01_straggler --ranks 4 --sleep-ms 40
 *
 * Look at: `wait` (on the ranks that are *not* late), `blamed` (the rank that arrived last and made the others wait), and formula
 * against measured. skew_ws4 is the published case.
 * Expect, with a core per rank: the stall lengthens every rank's step; prefetch hides a sleep behind the step, but no work. */
#include "frame/lab.h"
#include "frame/train.h"

#include <math.h>
#include <stdlib.h>

struct options {
    struct run run;
    int slow_rank;
    double sleep_ms; /* stall before each fetch, asleep or busy */
    int slow_factor; /* the slow core runs its passes this many times */
    int every;       /* the k of the fix */
    double chance;   /* probability of a stall per rank and step (case chance) */
    /* Set by the variants: */
    enum stall_kind stall;
    bool roams;   /* the stall hits a random rank each step */
    bool chances; /* … or it hits each rank by chance: several or none */
    int passes;   /* how often the slow rank runs forward and backward */
    int ahead;    /* batches fetched early */
    bool shares;  /* the slow rank gets fewer samples of the same global batch */
};

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

static void prefetch(struct options *o)  { o->ahead = 1; }
static void share(struct options *o)     { o->shares = true; }
static void every_k(struct options *o)   { o->run.sync_every = o->every; }

static const struct variant variants[] = {
    /* case                 pathology  fix       idea */
    { "baseline", NULL, NULL, "all ranks do the same" },
    { "skew_ws4", sleeps, NULL, "one rank sleeps before each fetch" },
    { "skew_prefetch", sleeps, prefetch, "… and fetches one batch ahead" },
    { "skew_share", sleeps, share, "… and gets fewer samples" },
    { "skew_every_k", sleeps, every_k, "… and all synchronize only every k steps" },
    { "busy", works, NULL, "one rank computes on the host before each fetch" },
    { "busy_prefetch", works, prefetch, "… and fetches one batch ahead, on the same core" },
    { "busy_share", works, share, "… and gets fewer samples" },
    { "busy_every_k", works, every_k, "… and all synchronize only every k steps" },
    { "roaming", roams, NULL, "a random rank sleeps before its fetch, a different one in each step" },
    { "roaming_prefetch", roams, prefetch, "… and all fetch one batch ahead" },
    { "roaming_every_k", roams, every_k, "… and all synchronize only every k steps" },
    { "chance", chances, NULL, "each rank sleeps with a small probability, in each step" },
    { "slow_core", slow_core, NULL, "one rank's passes take longer" },
    { "slow_core_prefetch", slow_core, prefetch, "… and all fetch one batch ahead" },
    { "slow_core_share", slow_core, share, "… and it gets fewer samples" },
    { "slow_core_every_k", slow_core, every_k, "… and all synchronize only every k steps" },
    { 0 },
};
/* clang-format on */

static void refuse(const struct options *o)
{
    if (o->slow_rank >= o->run.ranks)
        die(STATUS_USAGE, "--slow-rank %d does not exist among %d ranks; name one from 0 to %d", o->slow_rank,
            o->run.ranks, o->run.ranks - 1);
}

static double stall_seconds(const struct options *o, const struct card *card)
{
    double seconds = o->stall == STALL_NONE ? 0 : o->sleep_ms / 1e3;
    return o->stall == STALL_SLEEP ? card_sleep(card, seconds) : seconds;
}

/* Cost of a rank's step apart from its samples, and per sample. Shares and prediction are computed from it. */
struct rank_cost {
    double fetch, stall, fixed, per_sample, update; /* `fixed` includes the update */
};

static struct rank_cost rank_cost_of(const struct options *o, const struct card *card, int rank)
{
    struct local_cost cost = card_local(card, o->run.ranks);
    int passes = rank == o->slow_rank ? o->passes : 1;
    bool is_late = rank == o->slow_rank && !o->roams;
    return (struct rank_cost){ .fetch = cost_at(&cost.fetch, work_samples(o->run.batch_size)),
                               .stall = is_late ? stall_seconds(o, card) : 0,
                               .fixed = passes * cost.passes.term[COST_FIXED] + cost.update,
                               .per_sample = passes * cost.passes.term[COST_PER_SAMPLE],
                               .update = cost.update };
}

/* Deal out the global batch: evenly, or by the speeds on the card so that all ranks end together. */
static void deal(const struct options *o, const struct card *card, int *samples)
{
    int ranks = o->run.ranks;
    double fixed[RANKS_MOST], per_sample[RANKS_MOST];
    for (int rank = 0; rank < ranks; rank++) {
        struct rank_cost rank_cost = rank_cost_of(o, card, rank);
        double times = card_rank_slowdown(card, rank);
        fixed[rank] =
            rank_cost.stall * (o->stall == STALL_BUSY ? times : 1) + times * (rank_cost.fetch + rank_cost.fixed);
        per_sample[rank] = times * rank_cost.per_sample;
        samples[rank] = o->run.batch_size;
    }
    int grain = o->run.batch_size % 4 ? 1 : 4; /* matrix kernels work in fours; other sizes cost more per sample */
    if (o->shares)
        predict_shares(fixed, per_sample, ranks, ranks * o->run.batch_size, grain, samples);
}

/* Work of a rank per step. With prefetch, copying and a busy stall move to the async helper, which shares this core unless it has
 * its own. A sleep then runs beside the step and shows only where it is longer: max(stall, local + transfer), not their sum. The
 * helper and the passes take equal turns on the core. Helper work left after them fills a transfer that leaves the core free. */
static struct load load_of(const struct options *o, const struct card *card, int rank, int samples, double transfer)
{
    struct rank_cost rank_cost = rank_cost_of(o, card, rank);
    double averaging = 2 * mlp_gradient_bytes(&o->run) / card->copy_bandwidth; /* of parameters, every k steps */
    double local = rank_cost.fixed + rank_cost.per_sample * samples;
    local += o->run.sync_every > 1 ? averaging / o->run.sync_every : 0;
    double all = rank_cost.fetch + rank_cost.stall, on_core = rank_cost.fetch;
    if (o->stall == STALL_BUSY && !card_is_fed_by_memory(card))
        on_core = all;
    if (o->ahead && card_helper(card) == HELPER_ON_ITS_OWN)
        on_core = 0;
    struct load load = { .data = all, .local = local, .cpu = local + on_core, .laps = o->run.sync_every };
    load.after = o->run.sync_every > 1 ? 0 : rank_cost.update;
    if (o->ahead) {
        double left = fmax(0, on_core - (local - rank_cost.update));
        load.local = local + on_core - (1 - card->transfer_core) * fmin(left, transfer);
        load.data =
            on_core < all ? fmax(0, all - load.local * card_contention_slowdown(card, o->run.ranks) - transfer) : 0;
    }
    return load;
}

/* Seconds by which a roaming stall delays the rank that it hits. With prefetch, only its excess over the rest of the step shows.
 * While one rank waits, the other ranks' next fetches already run, so the next stall is hidden if it hits another rank. A step
 * with visible excess is followed by one without with probability 1 - 1/n; the reverse is certain. */
static double roaming_excess(const struct options *o, const struct card *card, const struct load *load, double transfer)
{
    double stall = o->roams ? stall_seconds(o, card) : 0;
    if (!o->ahead)
        return stall;
    double fetch = rank_cost_of(o, card, 0).fetch;
    double beside = load->local * card_contention_slowdown(card, o->run.ranks) + transfer;
    return fmax(0, stall + fetch - beside) / (2 - 1.0 / o->run.ranks);
}

/* Predict by the formula at the top, term by term, for any pathology and fix. */
static struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks, k = o->run.sync_every, samples[RANKS_MOST] = { 0 };
    double transfer = card_allreduce(card, ranks, mlp_gradient_bytes(&o->run));
    struct load loads[RANKS_MOST] = { 0 };
    deal(o, card, samples);
    for (int rank = 0; rank < ranks; rank++)
        loads[rank] = load_of(o, card, rank, samples[rank], transfer);
    double jitter = card_jitter(card, ranks, rank_cost_of(o, card, 0).fetch + loads[0].local) / sqrt(k);
    struct prediction spared = predict_step(card, loads, ranks, jitter, transfer / k);
    double any = o->chances ? predict_any(o->chance, ranks) : o->roams; /* share of steps with a stall */
    if (o->stall == STALL_BUSY && o->ahead && card_helper(card) == HELPER_SOMEWHERE)
        spared.data = (double)NAN; /* unknown to the formula */
    if (any == 0)
        return spared;
    /* Give the first rank the most stalls, by symmetry. Of k roaming stalls, the rank hit most often has predict_fullest(k, ranks);
     * the other ranks share the rest. Of stalls by chance, one makes the step late and any others run beside the first. */
    double roaming = roaming_excess(o, card, &loads[0], transfer);
    double all = o->chances ? ranks * o->chance / any : 1, most = o->chances ? 1 : predict_fullest(k, ranks) / k;
    for (int rank = 0; rank < ranks; rank++)
        loads[rank].data += roaming * (rank == 0 ? most : (all - most) / (ranks - 1));
    struct prediction hit = predict_step(card, loads, ranks, jitter, transfer / k);
    return predict_mixed(&spared, &hit, any);
}

/* Most samples of a rank. By shares, one rank may get nearly the whole batch. */
static int most_samples(const struct run *run)
{
    for (const struct variant *v = variants; v->name; v++)
        if (v->fix == share && (run->cases.count == 0 || option_list_has(&run->cases, v->name)))
            return run_global_batch(run);
    return run->batch_size;
}

static struct memory_estimate need(const struct options *o)
{
    return trainer_memory(&o->run, most_samples(&o->run));
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
    .workload = &workload_mlp,
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .need = need,
    .predict = predict,
    .hidden_option = "--slow-rank",
    .culprit = culprit,
    .asked = "skew_ws4",
    .event = event,
    .drawn = (const char *const[]){ "baseline", "skew_ws4", "skew_prefetch", NULL },
};

/* all: true if this rank stalls in this step. */
static bool is_late(struct lab *lab, const struct options *o)
{
    int rank = world_rank(lab_world(lab));
    if (o->chances)
        return lab_chance(lab, o->chance);
    return rank == (o->roams ? lab_draw(lab, o->run.ranks) : o->slow_rank);
}

int main(int argc, char **argv)
{
    struct options base = {
        .run = run_published, .sleep_ms = 40, .slow_factor = 2, .every = 4, .chance = 0.05, .passes = 1
    };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    int rank = world_rank(lab_world(lab)), global_batch = run_global_batch(&base.run);
    struct trainer t = trainer_open(&base.run, most_samples(&base.run));
    float *gradients = mlp_gradients(t.model); /* own gradients; after the all-reduce, the sum over ranks */

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        int samples[RANKS_MOST] = { 0 };
        deal(&o, lab_card(lab), samples);
        struct share share = { .global_batch = global_batch, .samples = samples[rank] };
        for (int before = 0; before < rank; before++)
            share.first += samples[before];
        bool meets_each_step = o.run.sync_every == 1;
        trainer_restart(&t, share, o.ahead, 1.0f / (float)(meets_each_step ? global_batch : share.samples));

        while (lab_next_step(lab)) {
            struct stall stall = { is_late(lab, &o) ? o.stall : STALL_NONE, o.sleep_ms / 1e3 };
            int passes = rank == o.slow_rank ? o.passes : 1;

            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = loader_next(t.loader, stall); /* <- the pathology: stall, then fetch */
            lab_phase(lab, SPAN_FORWARD);
            for (int pass = 0; pass < passes; pass++) /* <- the other one: a slow core repeats its passes */
                mlp_forward(t.model, batch);
            lab_phase(lab, SPAN_BACKWARD);
            for (int pass = 0; pass < passes; pass++)
                for (int layer = MLP_LAYERS; layer-- > 0;)
                    mlp_backward(t.model, batch, layer);
            if (meets_each_step) /* <- where all ranks meet */
                collective_sum(collective, WIRE_F32, gradients, gradients, t.count);
            lab_phase(lab, SPAN_UPDATE);
            adamw_update(t.optimizer, mlp_parameters(t.model), gradients);
            if (!meets_each_step && lab_every(lab, o.run.sync_every)) {
                /* Local SGD: each rank trained alone; average the parameters, weighted by samples. */
                device_scale(gradients, mlp_parameters(t.model), (float)share.samples / (float)global_batch, t.count);
                collective_sum(collective, WIRE_F32, gradients, mlp_parameters(t.model), t.count);
            }
        }
        lab_judge(lab, mlp_loss(t.model, 1), share.samples, mlp_parameters(t.model), t.count);
    }

    trainer_close(&t);
    return lab_close(lab);
}
