/* Move a lab through its rounds, blocks and steps. */
#include "base/hot.h"
#include "base/interference.h"
#include "base/ledger.h"
#include "collective/collective.h"
#include "device/device.h"
#include "frame/lab_private.h"
#include "frame/rank_memory.h"
#include "frame/timeouts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* all: hash the parameters that the block has trained. */
static uint64_t hash_parameters(struct lab *lab)
{
    const struct model *model = lab->model;
    if (!device_computes())
        return 0;
    if (!lab->divided)
        return block_results_hash(model->parameters, model->count);
    float *whole = device_new(MEMORY_MEASURING, model->count, sizeof *whole);
    const int count = lab->spans.count;
    zero_gather(lab->divided, whole);
    lab->spans.count = count; /* no part of a step */
    const uint64_t hash = block_results_hash(whole, model->count);
    device_free(whole);
    return hash;
}

/* all: record the block's results on this rank: its loss after as many steps as all cases make, the samples of its last step, its memory,
 * and a hash of the parameters, which must be bit-equal on all ranks. */
static void judge_block(struct lab *lab)
{
    const struct losses *losses = &lab->model->losses;
    const bool is_kept = losses->passes - lab->passes + lab->micro_batches <= LOSSES_KEPT;
    lab->result.loss = losses_mean(losses, is_kept ? lab->passes : losses->passes, lab->micro_batches);
    lab->result.trained = is_kept ? lab->compared : lab->window.warmup + lab->window.measured;
    lab->result.samples = lab->micro_batches * losses_samples(losses);
    lab->result.wrong = collective_wrong(lab->group->collective);
    lab->result.clock_error = device_clock_error();
    lab->result.memory = rank_memory_end(&lab->begun);
    lab->result.hash = hash_parameters(lab);
}

/* Return the share of the time in which others had the ranks' cores: other programs in the measured steps, at the rank with the largest
 * share; plus the virtual machine's host in the whole block, because steal is counted in ticks. If ranks share cores, only the host
 * counts, because they delay each other. */
static double taken_share(const struct lab *lab, const struct block *block)
{
    double share = 0;
    for (int rank = 0; rank < block->timeline.ranks; rank++)
        share = fmax(share, block->results[rank].taken / block->results[rank].lasted); /* without NaN */
    return share + interference_steal_share("", lab->stolen, world_wall());
}

/* On rank 0: add the block to the results. Return true if the block is repeated instead: others disturbed it. That depends on how long
 * they had the core, and never on how long the steps took. */
static bool take_block(struct lab *lab, const struct block *block)
{
    const int chosen = schedule_case(&lab->schedule);
    const double share = device_computes() ? taken_share(lab, block) : (double)NAN;
    const struct conditions conditions = { .at = lab->before.at + block->results[0].lasted / 2,
                                           .taken_share = share,
                                           .is_disturbed = interference_is_significant(share),
                                           .repetitions = lab->schedule.repetitions[chosen] };
    const bool is_repeated = conditions.is_disturbed && schedule_may_repeat(&lab->schedule);
    run_results_take(lab->results, chosen, lab->schedule.round, block, is_repeated ? NULL : &conditions);
    return is_repeated;
}

/* all: gather the block on rank 0 and wake the parked ranks. */
static void finish_block(struct lab *lab)
{
    struct block block;
    int is_repeated = 0;
    if (lab->group->world &&
        block_results_block(&block, lab->group->world, &lab->spans, &lab->clocks, &lab->result, lab->window)) {
        is_repeated = take_block(lab, &block);
        free(block.results);
    }
    if (lab->group->ranks < lab->run.ranks)
        world_park(lab->world);
    if (device_computes()) {
        world_broadcast(lab->world, &is_repeated, sizeof is_repeated);
        if (is_repeated)
            schedule_repeat(&lab->schedule);
    }
    lab->group = NULL;
}

/* all: measure the machine's speed between blocks: as a whole before the first, every few blocks, and after the last one; and the local
 * step before each block that begins a while after the last probe, because neighbouring steps share their noise (drift_series.c). */
static void follow_drift(struct lab *lab, bool is_due)
{
    enum { BLOCKS_BETWEEN = 8 };          /* a second or two of a published model */
    static const double between_s = 0.05; /* so that short blocks are most of the time */
    if (!lab->probe)
        return;
    const bool is_whole = is_due || lab->blocks++ >= BLOCKS_BETWEEN;
    const double began = world_wall();
    int is_probed = is_whole || began - lab->probed > between_s;
    world_broadcast(lab->world, &is_probed, sizeof is_probed);
    if (!is_probed)
        return;
    if (is_whole)
        lab->blocks = 1;
    struct card_drift drift;
    if (lab_probe(lab, is_whole, &drift))
        run_results_drift(lab->results, (began + world_wall()) / 2, drift);
    lab->probed = world_wall();
}

/* all: begin the next block; false after the last. */
static bool begin_block(struct lab *lab, struct options *options)
{
    int chosen = schedule_next(&lab->schedule, lab->world);
    follow_drift(lab, chosen < 0 || (lab->schedule.round == 0 && lab->schedule.turn == 0));
    if (chosen < 0)
        return false;
    int round = lab->schedule.round;
    memcpy(options, lab->cases.settings[chosen], lab->spec->options_size);
    lab->group = process_groups_find(&lab->groups, run_of(options)->ranks);
    lab->window = run_window(run_of(options));
    lab->step = -1;
    lab->result = (struct rank_result){ .loss = (double)NAN };
    random_seed(&lab->draws, lab->run.seed + 7919u * (uint64_t)(round + 1));
    device_seed((uint64_t)(lab->run.noise_seed + round) * RANKS_MOST + (uint64_t)world_rank(lab->world));
    spans_restart(&lab->spans, round, chosen);
    const bool has_signs = lab->group->world && !world_is_simulated();
    world_set_timeout(lab->world, timeout_for_block(run_of(options), workload_of(options), lab->expected[chosen],
                                                    lab->window, has_signs, world_is_simulated()));
    if (world_rank(lab->world) == 0)
        schedule_show(&lab->schedule, lab->spec->lab, lab->cases.variant[chosen]->name, lab->terminal);
    return true;
}

/* Restart the trainer with this rank's share of each global batch, and gradients whose sum over ranks is the global batch's mean. */
static void restart_trainer(struct lab *lab, const struct options *options)
{
    const struct run *run = (const struct run *)options;
    const int rank = world_rank(lab->world);
    struct share share = share_even(run, rank);
    if (lab->spec->deal) {
        int samples[RANKS_MOST] = { 0 };
        lab->spec->deal(options, &lab->card, samples);
        share = share_dealt(samples, run->ranks, rank);
    }
    lab->micro_batches = run->accumulate;
    lab->model = lab->trainer->model;
    lab->divided = NULL;
    trainer_restart(lab->trainer, share, run->ahead, 1.0f / (float)run_global_batch(run));
}

bool lab_next_block(struct lab *lab, struct options *options)
{
    do {
        if (lab->group)
            finish_block(lab);
        if (!begin_block(lab, options))
            return false;
    } while (!lab->group->world);
    restart_trainer(lab, options);
    return true;
}

/* Return the check of a step's sums: every sum in the warm-up, the last sum after the measured steps. Checks are not timed. */
HOT static enum check check_in(const struct lab *lab, int step)
{
    if (!device_computes())
        return CHECK_NOTHING;
    if (step < lab->window.warmup)
        return CHECK_EACH;
    return step == lab->window.warmup + lab->window.measured - 1 ? CHECK_KEPT : CHECK_NOTHING;
}

/* Return the run-queue delay of this rank so far; NaN for a simulated one. */
static double queued_now(void)
{
    return world_is_simulated() ? (double)NAN : interference_run_queue_delay();
}

/* Return the interruptions of this rank so far. Simulated ranks share one thread, so only rank 0 looks, for all of them; the
 * delay of each is unknown. Real ranks without a core each delay one another. */
static struct interruptions interruptions_now(const struct lab *lab)
{
    const bool is_first = world_rank(lab->world) == 0;
    const bool shows_others = world_is_simulated() ? is_first : !card_is_oversubscribed(&lab->card, lab->group->ranks);
    return (struct interruptions){ .taken = shows_others ? interference_by_others() : (double)NAN, .at = world_wall() };
}

/* Begin to note the interruptions of this rank. The run-queue delay is read last here, and first at the end: what delays a rank while it
 * reads these numbers delays no step, and may last longer than all steps of a small model. */
static void begin_interruptions(struct lab *lab)
{
    lab->before = interruptions_now(lab);
    lab->before.queued = queued_now();
}

/* Note the interruptions of this rank in the measured steps. */
static void note_interruptions(struct lab *lab)
{
    const double queued = queued_now();
    const struct interruptions now = interruptions_now(lab);
    lab->result.queued = queued - lab->before.queued;
    lab->result.taken = now.taken - lab->before.taken;
    lab->result.lasted = now.at - lab->before.at;
}

HOT bool lab_next_step(struct lab *lab)
{
    lab->step++;
    lab->spans.step = lab->step;
    if (lab->step == lab->compared)
        lab->passes = lab->model->losses.passes;
    if (lab->step == 0) {
        ledger_restart_peak(); /* after what the lab opened for the block */
        if (world_rank(lab->world) == 0)
            lab->stolen = interference_read_steal("", world_wall());
        clocks_begin(&lab->clocks, lab->group->world);
        world_barrier(lab->group->world); /* ranks finish the block's set-up at different times */
    }
    collective_check(lab->group->collective, check_in(lab, lab->step));
    if (lab->step == lab->window.warmup)
        begin_interruptions(lab);
    if (lab->step < lab->window.warmup + lab->window.measured)
        return true;
    spans_end(&lab->spans, device_record_event());
    note_interruptions(lab);
    spans_resolve(&lab->spans);
    clocks_end(&lab->clocks, lab->group->world);
    if (device_computes())
        collective_check_last(lab->group->collective);
    judge_block(lab);
    return false;
}
