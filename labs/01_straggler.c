/* 01_straggler: one rank is late. What does it cost everybody, and what helps?
 *
 * Data-parallel ranks meet in the all-reduce of every step, so the slowest sets the pace:
 *
 *     step = max over ranks of (data + local) + transfer
 *
 * Four pathologies make one rank late in every step, three fixes are tried on each. A fifth spares steps, the fewer the
 * more ranks there are:
 *
 *                       nothing    prefetch    smaller share    every k steps
 *     sleeps (skew)     skew_ws4   …_prefetch  …_share          …_every_k
 *     busy on the host  busy       …           …                …
 *     roaming           roaming    …           (nobody's)       …
 *     slow core         slow_core  …           …                …
 *     each by chance    chance     (not tried)
 *
 * Guess each cell before you run; notebooks-md/01_straggler.md holds the table to fill in.
 *
 *     build/bin/01_straggler --ranks 4 --sleep-ms 40
 *
 * Look at: `wait` (it sits on the ranks that are *not* late), `blamed` (who arrived last and made the others wait), and
 * formula against measured. skew_ws4 is the published case. */
#include "frame/lab.h"
#include "frame/train.h"

#include <math.h>
#include <stdlib.h>

struct options {
    struct run run;
    int slow_rank;
    double sleep_ms; /* the stall before each fetch, asleep or busy */
    int slow_factor; /* the slow core does its passes so many times */
    int every;       /* the k of the fix */
    double chance;   /* of each rank in each step, where it is hit by chance */
    /* Set by the variants: */
    enum stall_kind stall;
    bool roams;   /* the stall hits a random rank each step */
    bool chances; /* … or, each by its own chance, several or none */
    int passes;   /* of the slow rank's forward and backward */
    int ahead;    /* batches fetched early */
    bool shares;  /* the slow rank gets fewer samples of the same global batch */
};

static const struct option_row rows[] = {
    { "--slow-rank", OPTION_INTEGER, offsetof(struct options, slow_rank), 0, 1023, "R", "the rank that is late" },
    { "--sleep-ms", OPTION_NUMBER, offsetof(struct options, sleep_ms), 0, 60000, "MS", "its stall before each fetch" },
    { "--slow-factor", OPTION_INTEGER, offsetof(struct options, slow_factor), 1, 100, "N",
      "the slow core's work, times" },
    { "--sync-every", OPTION_INTEGER, offsetof(struct options, every), 1, 1000, "K",
      "steps between meetings, as a fix" },
    { "--chance", OPTION_NUMBER, offsetof(struct options, chance), 0, 1, "P",
      "of each rank, to stall in a step (case chance)" },
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
    { "baseline", NULL, NULL, "every rank alike" },
    { "skew_ws4", sleeps, NULL, "one rank sleeps before each fetch" },
    { "skew_prefetch", sleeps, prefetch, "… and fetches one batch ahead" },
    { "skew_share", sleeps, share, "… and gets fewer samples" },
    { "skew_every_k", sleeps, every_k, "… and all meet only every k steps" },
    { "busy", works, NULL, "one rank computes on the host before each fetch" },
    { "busy_prefetch", works, prefetch, "… and fetches one batch ahead, on the same core" },
    { "busy_share", works, share, "… and gets fewer samples" },
    { "busy_every_k", works, every_k, "… and all meet only every k steps" },
    { "roaming", roams, NULL, "a random rank sleeps before its fetch, another each step" },
    { "roaming_prefetch", roams, prefetch, "… and all fetch one batch ahead" },
    { "roaming_every_k", roams, every_k, "… and all meet only every k steps" },
    { "chance", chances, NULL, "each rank sleeps with a small probability, in each step" },
    { "slow_core", slow_core, NULL, "one rank's passes take longer" },
    { "slow_core_prefetch", slow_core, prefetch, "… and all fetch one batch ahead" },
    { "slow_core_share", slow_core, share, "… and it gets fewer samples" },
    { "slow_core_every_k", slow_core, every_k, "… and all meet only every k steps" },
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

/* What a rank's step costs besides its samples, and per sample: the share is dealt and the step predicted from it. */
struct pace {
    double fetch, stall, fixed, per_sample, update; /* the update is part of what is fixed */
};

static struct pace pace_of(const struct options *o, const struct card *card, int rank)
{
    struct local_cost cost = card_local(card, o->run.ranks);
    int passes = rank == o->slow_rank ? o->passes : 1;
    bool is_late = rank == o->slow_rank && !o->roams;
    return (struct pace){ .fetch = cost_at(&cost.fetch, work_samples(o->run.batch_size)),
                          .stall = is_late ? stall_seconds(o, card) : 0,
                          .fixed = passes * cost.passes.term[COST_FIXED] + cost.update,
                          .per_sample = passes * cost.passes.term[COST_PER_SAMPLE],
                          .update = cost.update };
}

/* Deals the global batch out: evenly, or by the speeds on the card so that all ranks end together. */
static void deal(const struct options *o, const struct card *card, int *samples)
{
    int ranks = o->run.ranks;
    double fixed[RANKS_MOST], per_sample[RANKS_MOST];
    for (int rank = 0; rank < ranks; rank++) {
        struct pace pace = pace_of(o, card, rank);
        double times = card_rank_slowdown(card, rank);
        fixed[rank] = pace.stall * (o->stall == STALL_BUSY ? times : 1) + times * (pace.fetch + pace.fixed);
        per_sample[rank] = times * pace.per_sample;
        samples[rank] = o->run.batch_size;
    }
    int grain = o->run.batch_size % 4 ? 1 : 4; /* matrix kernels work in fours: odd batches cost more a sample */
    if (o->shares)
        predict_shares(fixed, per_sample, ranks, ranks * o->run.batch_size, grain, samples);
}

/* What a rank has to do per step. Fetched ahead, copying and a busy stall move onto the helper but stay on this core,
 * unless the helper has one of its own; a sleep runs beside the step and shows only as far as it is longer:
 * max(stall, local + transfer), not their sum. What is left of the helper's work after the passes, of which it takes equal
 * turns, fills a transfer that leaves the core free. */
static struct load load_of(const struct options *o, const struct card *card, int rank, int samples, double transfer)
{
    struct pace pace = pace_of(o, card, rank);
    double averaging = 2 * mlp_gradient_bytes(&o->run) / card->copy_bandwidth; /* of parameters, each k steps */
    double local = pace.fixed + pace.per_sample * samples;
    local += o->run.sync_every > 1 ? averaging / o->run.sync_every : 0;
    double all = pace.fetch + pace.stall, on_core = pace.fetch;
    if (o->stall == STALL_BUSY && !card_is_fed_by_memory(card))
        on_core = all;
    if (o->ahead && card_helper(card) == HELPER_ON_ITS_OWN)
        on_core = 0;
    struct load load = { .data = all, .local = local, .cpu = local + on_core, .laps = o->run.sync_every };
    load.after = o->run.sync_every > 1 ? 0 : pace.update;
    if (o->ahead) {
        double left = fmax(0, on_core - (local - pace.update));
        load.local = local + on_core - (1 - card->transfer_core) * fmin(left, transfer);
        load.data =
            on_core < all ? fmax(0, all - load.local * card_contention_slowdown(card, o->run.ranks) - transfer) : 0;
    }
    return load;
}

/* By how much the rank that a roaming stall hits is later. Fetched ahead, by its excess over the rest of the step; and
 * while one rank waits for that, the others' next fetch is already under way, so that a stall on another rank has the
 * less to show. The two states, excess shown or not, end with probability 1 - 1/n and 1. */
static double roaming_excess(const struct options *o, const struct card *card, const struct load *load, double transfer)
{
    double stall = o->roams ? stall_seconds(o, card) : 0;
    if (!o->ahead)
        return stall;
    double fetch = pace_of(o, card, 0).fetch;
    double beside = load->local * card_contention_slowdown(card, o->run.ranks) + transfer;
    return fmax(0, stall + fetch - beside) / (2 - 1.0 / o->run.ranks);
}

/* The formula at the top, term by term, for any mixture of pathology and fix. */
static struct prediction predict(const struct options *o, const struct card *card)
{
    int ranks = o->run.ranks, k = o->run.sync_every, samples[RANKS_MOST] = { 0 };
    double transfer = card_allreduce(card, ranks, mlp_gradient_bytes(&o->run));
    struct load loads[RANKS_MOST] = { 0 };
    deal(o, card, samples);
    for (int rank = 0; rank < ranks; rank++)
        loads[rank] = load_of(o, card, rank, samples[rank], transfer);
    double jitter = card_jitter(card, ranks, pace_of(o, card, 0).fetch + loads[0].local) / sqrt(k);
    struct prediction spared = predict_step(card, loads, ranks, jitter, transfer / k);
    double any = o->chances ? predict_any(o->chance, ranks) : o->roams; /* the share of steps that a stall hits */
    if (o->stall == STALL_BUSY && o->ahead && card_helper(card) == HELPER_SOMEWHERE)
        spared.data = (double)NAN; /* the formula does not know */
    if (any == 0)
        return spared;
    /* Of k stalls that roam, the rank hit most often has predict_fullest(k, ranks), and the others share the rest; of
     * stalls by chance, one suffices to make the step late, and more are beside it. By symmetry the first rank has it. */
    double roaming = roaming_excess(o, card, &loads[0], transfer);
    double all = o->chances ? ranks * o->chance / any : 1, most = o->chances ? 1 : predict_fullest(k, ranks) / k;
    for (int rank = 0; rank < ranks; rank++)
        loads[rank].data += roaming * (rank == 0 ? most : (all - most) / (ranks - 1));
    struct prediction hit = predict_step(card, loads, ranks, jitter, transfer / k);
    return predict_mixed(&spared, &hit, any);
}

/* Of a rank: where shares are dealt, one may get nearly all. */
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
    .question = "One rank is late. What does it cost everybody, and what helps?",
    .workload = &subject_mlp,
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .need = need,
    .predict = predict,
    .hides = "--slow-rank",
    .culprit = culprit,
    .asked = "skew_ws4",
    .event = event,
    .pictured = (const char *const[]){ "baseline", "skew_ws4", "skew_prefetch", NULL },
};

/* all: whether this rank's turn has come in this step. */
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
    float *gradients = mlp_gradients(t.model); /* and, where ranks meet, the sum of all of theirs */

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
            const struct batch *batch = loader_next(t.loader, stall); /* <- the pathology: it stalls, then fetches */
            lab_phase(lab, SPAN_FORWARD);
            for (int pass = 0; pass < passes; pass++) /* <- the other one: a slow core, its passes done over */
                mlp_forward(t.model, batch);
            lab_phase(lab, SPAN_BACKWARD);
            for (int pass = 0; pass < passes; pass++)
                for (int layer = MLP_LAYERS; layer-- > 0;)
                    mlp_backward(t.model, batch, layer);
            if (meets_each_step) /* <- where everybody meets */
                collective_sum(collective, WIRE_F32, gradients, gradients, t.count);
            lab_phase(lab, SPAN_UPDATE);
            adamw_update(t.optimizer, mlp_parameters(t.model), gradients);
            if (!meets_each_step && lab_every(lab, o.run.sync_every)) {
                /* Local SGD: each rank trained alone; now their parameters are averaged, weighted by samples. */
                device_scale(gradients, mlp_parameters(t.model), (float)share.samples / (float)global_batch, t.count);
                collective_sum(collective, WIRE_F32, gradients, mlp_parameters(t.model), t.count);
            }
        }
        lab_judge(lab, mlp_loss(t.model, 1), share.samples, mlp_parameters(t.model), t.count);
    }

    trainer_close(&t);
    return lab_close(lab);
}
