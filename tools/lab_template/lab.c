/* @NAME@: @question@
 *
 * As an example, one rank stalls before its fetches: replace fault and fix by your own.
 *
 *     step = max over ranks of (data + local) + T
 *
 *     baseline   all ranks do the same
 *     fault      rank 0 sleeps before each fetch
 *     seldom     … only before every k-th
 *
 *     build/bin/@NAME@ --ranks 4 --stall-ms 20
 *
 * Look at: `wait` on the ranks that are not late, and `blamed`. What must hold: expected/@NAME@.csv.
 * Expect, with a core per rank: the stall lengthens the step of every rank; seldom, a k-th of it. */
#include "@NAME@.h"

static const struct option_row rows[] = {
    { "--stall-ms", OPTION_NUMBER, offsetof(struct options, stall_ms), 0, 60000, "MS", "sleep before a fetch" },
    { "--seldom", OPTION_INTEGER, offsetof(struct options, seldom), 1, 1000, "N", "the fix: N times less often" },
    { 0 },
};

/* clang-format off */
static void stalls(struct options *o) { o->every = 1; }
static void seldom(struct options *o) { o->run.cycle = o->every = o->seldom; } /* measured are whole cycles */
/* clang-format on */

static const struct variant variants[] = {
    /* case       fault   fix     idea, label */
    { "baseline", NULL, NULL, "all ranks do the same", "baseline" },
    { "fault", stalls, NULL, "rank 0 sleeps before each fetch", "rank 0 sleeps" },
    { "seldom", stalls, seldom, "… only before every k-th", "rank 0 sleeps + only seldom" },
    { 0 },
};

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

int main(int argc, char **argv)
{
    struct options base = { .run = run_published, .model = published_mlp, .stall_ms = 20, .seldom = 4 };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    int rank = world_rank(lab_world(lab));

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            bool is_late = rank == 0 && o.every > 0 && lab_every(lab, o.every);
            struct stall stall = { is_late ? STALL_SLEEP : STALL_NONE, o.stall_ms / 1e3 };
            const struct batch *batch = trainer_next(t, stall); /* <- the fault */
            lab_phase(lab, SPAN_FORWARD);
            trainer_forward(t, batch);
            lab_phase(lab, SPAN_BACKWARD);
            trainer_backward(t, batch);
            collective_run(collective, all_reduce(TYPE_F32, t->gradients, t->gradients, t->count)); /* <- where all ranks meet */
            lab_phase(lab, SPAN_UPDATE);
            trainer_update(t);
        }
    }
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static void uses(const struct options *o, struct card_uses *uses)
{
    card_use(uses, ALL_REDUCE, first_ranks(o->run.ranks), 0); /* what predict() takes from the card */
}

static int culprit(const struct options *o)
{
    return o->every > 0 ? 0 : -1;
}

static char *event(const struct options *o)
{
    return memory_text("rank 0 sleeps %g ms before every fetch", o->stall_ms);
}

static const struct lab_spec spec = {
    .lab = "@NAME@",
    .question = "@QUESTION@",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .uses = uses,
    .predict = predict,
    .culprit = culprit, /* the rank that the case delays */
    .asked = "fault",   /* the case to guess, whose fault `event` describes */
    .event = event,
    .drawn = (const char *const[]){ "baseline", "fault", "seldom", NULL }, /* as lanes */
};
