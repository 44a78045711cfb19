/* 07_triage: is it the data, the launches, or a kernel?
 *
 * The first question about a slow step, before any second rank. A step trains a small MLP and, in some cases, runs an auxiliary branch
 * of pointwise operations beside it, forward and backward. Its terms:
 *
 *     step     = data + local
 *     data     = what is left of making a batch when the step asks for it: batch / workers - local, at least 0; without workers
 *                all of it
 *     local    = f + c × B + u + launches + work
 *     launches = operations × dispatch
 *     work     = for each operation arithmetic and bytes / bandwidth, which overlap in part (common/model/branch_cost.h)
 *
 *     baseline                       two workers, cheap samples, no branch
 *     data_workers0, _few, _many     each sample waits --sleep-ms, asleep, and is transformed in six rounds
 *     busy_workers0, _few, _many     … computes --busy-ms instead: workers help as far as there are cores
 *     launch_eager                   a branch of thousands of tiny operations, each dispatched, allocated and recorded
 *     launch_batch                   … with --times as many samples for the same operations
 *     launch_replay                  … the same calls from a recorded list: a captured graph
 *     launch_fused                   … all of them in one loop
 *     memory_fp32                    a branch of operations on tensors beyond the cache
 *     memory_bf16                    … stored in half the bytes
 *     memory_fused                   … row by row through the whole chain: each tensor is read and written once
 *     mixture                        several causes at once, each with a share of the step (--mix-data 45 …)
 *
 *     build/bin/07_triage --ranks 1
 *
 * Look at: `data` and `local`; median against mean step of the data cases; launch_sweep.csv (the tensor size from which arithmetic
 * outweighs dispatch), roofline.csv (every case beside the machine's ceilings) and series.csv (each step). What must hold:
 * expected/07_triage.csv.
 * Expect: with W workers a long step every W steps and short ones between them. Eager tiny operations take longer than the same calls
 * replayed; on a CPU a dispatch costs tens of nanoseconds, on a GPU microseconds, hence the many operations. */
#include "07_triage.h"

#include <math.h>

static const struct option_row rows[] = {
    { "--sleep-ms", OPTION_NUMBER, offsetof(struct options, sleep_ms), 0, 10000, "MS",
      "data cases: what a sample waits, asleep" },
    { "--busy-ms", OPTION_NUMBER, offsetof(struct options, busy_ms), 0, 10000, "MS",
      "busy cases: what a sample computes" },
    { "--transform-rounds", OPTION_INTEGER, offsetof(struct options, rounds), 0, 1000, "N",
      "data cases: rounds of the transform of a sample" },
    { "--workers-few", OPTION_INTEGER, offsetof(struct options, few), 1, WORKERS_MOST, "N",
      "workers of the cases ..._few" },
    { "--workers-many", OPTION_INTEGER, offsetof(struct options, many), 1, WORKERS_MOST, "N",
      "workers of the cases ..._many" },
    { "--launch-blocks", OPTION_INTEGER, offsetof(struct options, launch_blocks), 1, 10000, "N",
      "launch cases: blocks of six operations" },
    { "--launch-passes", OPTION_INTEGER, offsetof(struct options, launch_passes), 1, 10000, "N",
      "launch cases: forward and backward of the branch in a step" },
    { "--launch-cols", OPTION_INTEGER, offsetof(struct options, launch_cols), 1, 65536, "N",
      "launch cases: floats of a sample" },
    { "--times", OPTION_INTEGER, offsetof(struct options, times), 1, 64, "N", "launch_batch: N times the usual batch" },
    { "--mix-data", OPTION_NUMBER, offsetof(struct options, mix_data), 0, 90, "PCT",
      "mixture: % of the step for data" },
    { "--mix-launches", OPTION_NUMBER, offsetof(struct options, mix_launches), 0, 90, "PCT", "... for launches" },
    { "--mix-memory", OPTION_NUMBER, offsetof(struct options, mix_memory), 0, 90, "PCT", "... for bytes" },
    { "--mix-compute", OPTION_NUMBER, offsetof(struct options, mix_compute), 0, 90, "PCT", "... for arithmetic" },
    { "--mix-steps", OPTION_NUMBER, offsetof(struct options, mix_steps), 1, 10000, "N",
      "mixture: its step, as a multiple of the model's" },
    { "--mix-workers", OPTION_NUMBER, offsetof(struct options, mix_workers), 0, WORKERS_MOST, "N",
      "mixture: workers that make its batches, too slowly for its share of data" },
    { "--memory-blocks", OPTION_INTEGER, offsetof(struct options, memory_blocks), 1, 1000, "N",
      "memory cases: blocks of five operations" },
    { "--memory-rows", OPTION_INTEGER, offsetof(struct options, memory_rows), 1, 1 << 20, "N",
      "memory cases: rows of a tensor" },
    { "--memory-cols", OPTION_INTEGER, offsetof(struct options, memory_cols), 1, 1 << 16, "N",
      "memory cases: columns of a tensor" },
    { 0 },
};

/* clang-format off */
/* Each worker has made one batch after as many steps as there are workers, so whole multiples of that are measured. */
static void work(struct options *o, int workers) { o->workers = workers; o->run.cycle = workers > 0 ? workers : 1; }
static void usual(struct options *o)  { work(o, 2); }
static void asleep(struct options *o) { work(o, 0); o->is_slow = true; o->stall = STALL_SLEEP; }
static void busy(struct options *o)   { asleep(o); o->stall = STALL_BUSY; }
static void few(struct options *o)    { work(o, o->few); }
static void many(struct options *o)   { work(o, o->many); }

static void launch(struct options *o)
{
    usual(o);
    o->branch[0].passes = o->launch_passes;
    o->branch[0].of = (struct branch_settings){ .kind = BRANCH_MICRO, .blocks = o->launch_blocks,
                                                .rows = o->run.batch_size, .cols = o->launch_cols };
}
static void batch(struct options *o)  { o->run.batch_size *= o->times; o->branch[0].of.rows *= o->times; }
static void replay(struct options *o) { o->branch[0].of.way = BRANCH_REPLAY; }
static void fused(struct options *o)  { o->branch[0].of.way = BRANCH_FUSED; }

static void memory(struct options *o)
{
    usual(o);
    o->branch[0].passes = 1;
    o->branch[0].of = (struct branch_settings){ .kind = BRANCH_NORM, .blocks = o->memory_blocks,
                                                .rows = o->memory_rows, .cols = o->memory_cols };
}
static void mixture(struct options *o){ work(o, (int)o->mix_workers); o->is_mixture = true; }
static void bf16(struct options *o)   { o->branch[0].of.is_bf16 = true; }

const struct variant variants[] = {
    /* case            fault   fix    idea, label */
    { "baseline", usual, NULL, "two workers, cheap samples", "baseline" },
    { "data_workers0", asleep, NULL, "each sample sleeps, in the step", "slow samples" },
    { "data_few", asleep, few, "… made by a few workers", "slow samples + few workers" },
    { "data_many", asleep, many, "… by many workers", "slow samples + many workers" },
    { "busy_workers0", busy, NULL, "each sample computes, in the step", "busy samples" },
    { "busy_few", busy, few, "… on a few workers", "busy samples + few workers" },
    { "busy_many", busy, many, "… on many workers", "busy samples + many workers" },
    { "launch_eager", launch, NULL, "thousands of tiny operations, each dispatched", "tiny operations" },
    { "launch_batch", launch, batch, "… with more samples for each", "tiny operations + larger batch" },
    { "launch_replay", launch, replay, "… replayed from a list", "tiny operations + replay" },
    { "launch_fused", launch, fused, "… in one loop", "tiny operations + one loop" },
    { "memory_fp32", memory, NULL, "operations on tensors beyond the cache", "large tensors" },
    { "memory_bf16", memory, bf16, "… stored in bf16", "large tensors + bf16" },
    { "memory_fused", memory, fused, "… fused row by row", "large tensors + fused" },
    { "mixture", mixture, NULL, "slow samples and tiny operations at once", "mixture" },
    { 0 },
};
/* clang-format on */

/* --- the training step ---------------------------------------------------------------------------------------- */

static const struct lab_spec spec; /* below */

static void tell_if_branches_are_free(struct lab *lab)
{
    if (world_rank(lab_world(lab)) == 0 && isnan(card_cost(lab_card(lab), "dispatch_s")))
        puts("This platform's file lacks the costs of the branch (own_dispatch_s …): its launch and memory cases add "
             "nothing.");
}

int main(int argc, char **argv)
{
    struct options base = { .run = run_published,
                            .model = { .type = &mlp_type, .of.mlp = { 256, 256, 100, 3 } },
                            .sleep_ms = 2,
                            .busy_ms = 2,
                            .rounds = 6,
                            .few = 4,
                            .many = 8,
                            .launch_blocks = 48,
                            .launch_passes = 40,
                            .launch_cols = 4,
                            .mix_data = 45,
                            .mix_launches = 30,
                            .mix_steps = 30,
                            .times = 4,
                            .memory_blocks = 2,
                            .memory_rows = 4096,
                            .memory_cols = 1024 };
    base.run.ranks = 1;
    base.run.batch_size = 32;
    struct lab *lab = lab_open(&spec, &base, argc, argv);
    struct trainer *t = lab_trainer(lab);
    const int rank = world_rank(lab_world(lab));
    tell_if_branches_are_free(lab);
    struct worker_loader *loader = workers_open(lab, &base);

    struct options o;
    while (lab_next_block(lab, &o)) { /* rounds x variants; o = base settings + the variant's change */
        struct collective *collective = lab_collective(lab);
        struct branches *branches = branches_open(&o);
        const struct batch *batch = NULL;
        worker_loader_restart(loader, share_even(&o.run, rank), 1.0f / (float)run_global_batch(&o.run), plan_of(&o));

        while (lab_next_step(lab)) {
            lab_phase(lab, SPAN_DATA);
            if (!batch || !o.from_memory)
                batch = worker_loader_next(loader); /* <- the data: slow samples, some workers */
            const struct batch part = part_of_batch(&o, batch);
            lab_phase(lab, SPAN_FORWARD);
            trainer_forward(t, &part);
            lab_phase(lab, SPAN_BACKWARD);
            trainer_backward(t, &part);
            branches_run(branches, batch); /* <- the launches, or the bytes */
            if (!o.is_apart)
                collective_run(collective, all_reduce(TYPE_F32, t->gradients, t->gradients, t->count));
            lab_phase(lab, SPAN_UPDATE);
            trainer_update(t);
            if (o.host_s > 0) {
                lab_phase(lab, SPAN_HOST);
                stall((struct stall){ STALL_BUSY, o.host_s });
            }
        }
        worker_loader_settle(loader);
        branches_close(branches);
    }
    worker_loader_close(loader);
    return lab_close(lab);
}

/* --- what the frame must know of this lab (common/frame/lab_spec.h) ------------------------------------------------ */

static void refuse(const struct options *o)
{
    const double sum = o->mix_data + o->mix_launches + o->mix_memory + o->mix_compute;
    if (sum > 95)
        die(STATUS_USAGE,
            "--mix-data %g, --mix-launches %g, --mix-memory %g and --mix-compute %g are %g %% of a step; "
            "choose at most 95 in all",
            o->mix_data, o->mix_launches, o->mix_memory, o->mix_compute, sum);
    if (o->mix_workers > floor(o->mix_workers))
        die(STATUS_USAGE, "--mix-workers %g: workers are whole; choose %.0f", o->mix_workers, ceil(o->mix_workers));
}

static struct batch_most own_batches(const struct options *o)
{
    return (struct batch_most){ .samples = most_samples(o) };
}

static struct memory_estimate need(const struct options *o)
{
    return worker_loader_memory(&o->model, &o->run, most_samples(o), most_workers(o), o->run.verdict);
}

static struct memory_estimate case_need(const struct options *settings)
{
    struct options sized = *settings;
    struct memory_estimate memory = { 0 };
    if (!device_computes()) /* it charges branches and opens none */
        return memory;
    if (!settings->is_sized) /* by the card, which is not there yet: the most that a mixture may take */
        size_mixture(&sized, NULL);
    for (int i = 0; i < BRANCHES; i++)
        memory = memory_estimate_add(memory, branch_memory(sized.branch[i].of));
    return memory;
}

static char *event(const struct options *o)
{
    return memory_text("each of the %d samples of a batch sleeps %g ms, and no worker makes batches ahead",
                       o->run.batch_size, o->sleep_ms);
}

/* True if the kernel counts each rank by itself: simulated ranks share one process. */
static bool has_accounts(const struct options *o)
{
    return device_computes() && !world_is_simulated() && !o->run.blind;
}

/* True if the device computes, so that arithmetic can be measured, and all cases run. */
static bool is_whole(const struct options *o)
{
    return device_computes() && o->run.cases.count == 0;
}

static const struct lab_spec spec = {
    .lab = "07_triage",
    .question = "Is it the data, the launches, or a kernel?",
    .variants = variants,
    .rows = rows,
    .options_size = sizeof(struct options),
    .refuse = refuse,
    .complete = size_mixture,
    .draw = &mixture_draw,
    .own_batches = own_batches,
    .need = need,
    .case_need = case_need,
    .predict = predict,
    .costs = costs,
    .helpers = WORKERS_MOST,
    .asked = "data_workers0",
    .event = event,
    .drawn = (const char *const[]){ "baseline", "data_workers0", "launch_eager", "memory_fp32", NULL },
    .tables = (const struct lab_table[]){ { "series.csv", is_whole, write_series, NULL },
                                          { "launch_sweep.csv", is_whole, write_launch_sweep, NULL },
                                          { "roofline.csv", is_whole, write_roofline, NULL },
                                          { "operations.csv", is_whole, write_operations, NULL },
                                          { "evidence.csv", has_accounts, write_evidence, NULL },
                                          { 0 } },
    .changes = changes,
};
