/* 02_rank0_host: rank 0 works on the host while all others wait. What does it cost, and what helps?
 *
 * Rank 0 logs, saves checkpoints and evaluates; the other ranks wait before they go on. Rank 0 is a straggler in another place, so
 * the formula gains a term:
 *
 *     barrier       step = max over ranks of (data + local) + T + max over ranks of host + barrier
 *     no barrier    step = max over ranks of (data + local + host) + T
 *
 *     host       rank 0's work; the others wait for it at the barrier or, without one, in the next all-reduce
 *     barrier    the barrier itself, once all ranks have arrived
 *
 * The wait moves from the all-reduce into the barrier, and the late rank's data time looks healthy. Two faults,
 * four fixes:
 *
 *                  nothing       no barrier        every k steps    beside the step    spread over ranks
 *     asleep       barrier_ws4   sleep_no_barrier  sleep_every_n    sleep_helper       sleep_spread
 *     busy         barrier_busy  busy_no_barrier   busy_every_n     busy_helper        busy_spread
 *
 * While rank 0 alone is late, deleting the barrier saves nothing. In barrier_two_late rank 1 is late, too: it sleeps as long before
 * each fetch. All ranks wait twice, at the barrier and in the all-reduce. In two_late_no_barrier both delays pass side by side.
 *
 * Guess each cell before you run; notebooks-md/02_rank0_host.md has the formula of each. barrier_ws4 repeats a case of the
 * two blog posts that README.md names; ws4 is their world size.
 *
 *     build/bin/02_rank0_host --ranks 4 --barrier-sleep-ms 20
 *
 * Look at: the lanes, the picture of one step (╱ is wait, ▒ is host), host_ms in ranks.csv (long on rank 0 alone) and wait_ms
 * (on the others), and what no_barrier saves. (The printed table has means over ranks.) What must hold: expected/02_rank0_host.csv.
 * Expect, with a core per rank: the host work lengthens every rank's step, barrier or not; with a second late rank the barrier
 * doubles the loss. A helper hides a sleep, but busy work only where a core is free. */
#include "02_rank0_host.h"

static const struct option_row rows[] = {
    { "--barrier-sleep-ms", OPTION_NUMBER, offsetof(struct options, host_ms), 0, 60000, "MS",
      "duration of rank 0's work on the host, and of rank 1's sleep in two_late" },
    { "--barrier-every", OPTION_INTEGER, offsetof(struct options, every), 1, 1000, "N",
      "steps from one host work to the next" },
    { "--seldom", OPTION_INTEGER, offsetof(struct options, seldom), 1, 1000, "N", "the fix: N times less often" },
    { 0 },
};

/* clang-format off */
static void every(struct options *o, int period) { o->run.cycle = o->period = period; } /* measured are whole periods */
static void host_work(struct options *o)  { every(o, o->every); o->has_barrier = true; }
static void sleeps(struct options *o)     { host_work(o); o->work = STALL_SLEEP; }
static void works(struct options *o)      { host_work(o); o->work = STALL_BUSY; }
static void two_late(struct options *o)   { sleeps(o); o->has_straggler = true; }

static void no_barrier(struct options *o) { o->has_barrier = false; }
static void every_n(struct options *o)    { every(o, o->every * o->seldom); }
static void in_helper(struct options *o)  { o->in_helper = true; }
static void spread(struct options *o)     { o->is_spread = true; }

static const struct variant variants[] = {
    /* case            fault     fix         idea, label */
    { "baseline", NULL, NULL, "no work on the host, no barrier", "baseline" },
    { "barrier_ws4", sleeps, NULL, "rank 0 sleeps on the host, then a barrier", "rank 0 sleeps" },
    { "sleep_no_barrier", sleeps, no_barrier, "… without a barrier: the ranks wait in the next all-reduce", "rank 0 sleeps + no barrier" },
    { "sleep_every_n", sleeps, every_n, "… but only every k steps", "rank 0 sleeps + every k steps" },
    { "sleep_helper", sleeps, in_helper, "… in a helper thread beside the step", "rank 0 sleeps + helper thread" },
    { "sleep_spread", sleeps, spread, "… divided among all ranks", "rank 0 sleeps + spread over ranks" },
    { "barrier_busy", works, NULL, "rank 0 computes on the host, then a barrier", "rank 0 busy" },
    { "busy_no_barrier", works, no_barrier, "… without a barrier: the ranks wait in the next all-reduce", "rank 0 busy + no barrier" },
    { "busy_every_n", works, every_n, "… but only every k steps", "rank 0 busy + every k steps" },
    { "busy_helper", works, in_helper, "… in a helper thread beside the step, on the same core", "rank 0 busy + helper thread" },
    { "busy_spread", works, spread, "… divided among all ranks", "rank 0 busy + spread over ranks" },
    { "barrier_two_late", two_late, NULL, "rank 0 sleeps on the host, then a barrier; rank 1 sleeps before each fetch", "two ranks late" },
    { "two_late_no_barrier", two_late, no_barrier, "… without a barrier: both delays pass side by side", "two ranks late + no barrier" },
    { 0 },
};
/* clang-format on */

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

int main(int argc, char **argv)
{
    struct options base = {
        .run = run_published, .model = published_mlp, .host_ms = 20, .every = 1, .seldom = 4, .period = 1
    };
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    int rank = world_rank(lab_world(lab));
    struct async_stall *helper = async_stall_open();

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        struct stall late = { data_seconds(&o, rank) > 0 ? STALL_SLEEP : STALL_NONE, data_seconds(&o, rank) };
        /* Rank 0's work; spread: its n-th part, on every rank. */
        struct stall host = { host_seconds(&o, rank) > 0 ? o.work : STALL_NONE, host_seconds(&o, rank) };

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            const struct batch *batch = trainer_next(t, late); /* <- the second fault: a straggler */
            lab_phase(lab, SPAN_FORWARD);
            trainer_forward(t, batch);
            lab_phase(lab, SPAN_BACKWARD);
            trainer_backward(t, batch);
            collective_run(collective,
                           all_reduce(TYPE_F32, t->gradients, t->gradients, t->count)); /* not part of local */
            if (o.work != STALL_NONE && lab_every(lab, o.period)) {
                lab_phase(lab, SPAN_HOST);
                if (o.in_helper) {
                    async_stall_wait(helper); /* the previous one */
                    async_stall_begin(helper, host);
                } else {
                    stall(host); /* <- the fault */
                }
                if (o.has_barrier)
                    collective_run(collective, barrier()); /* <- where all ranks wait for the host work */
            }
            lab_phase(lab, SPAN_UPDATE);
            trainer_update(t);
        }
        async_stall_wait(helper);
    }

    async_stall_close(helper);
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static int culprit(const struct options *o)
{
    return o->work == STALL_NONE || o->is_spread || o->has_straggler ? -1 : 0;
}

static void uses(const struct options *o, struct card_uses *uses)
{
    card_use(uses, ALL_REDUCE, first_ranks(o->run.ranks), 0);
    if (o->has_barrier)
        card_use(uses, BARRIER, first_ranks(o->run.ranks), 0);
}

static char *event(const struct options *o)
{
    return memory_text("rank 0 sleeps %g ms on the host after %s all-reduce, then all ranks enter a barrier",
                       o->host_ms, o->every == 1 ? "every" : "some");
}

static const struct lab_spec spec = {
    .lab = "02_rank0_host",
    .question = "Rank 0 works on the host while all others wait. What does it cost, and what helps?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .uses = uses,
    .costs = pause_costs,
    .predict = predict,
    .culprit = culprit,
    .asked = "barrier_ws4",
    .event = event,
    .drawn = (const char *const[]){ "baseline", "barrier_ws4", "sleep_helper", NULL },
    .lesson = (const char *const[]){ "barrier_ws4", "sleep_no_barrier", "sleep_helper", "barrier_two_late",
                                     "two_late_no_barrier", NULL },
};
