/* Move a lab through its rounds, blocks and steps. */
#include "base/hot.h"
#include "base/interference.h"
#include "collective/collective.h"
#include "device/device.h"
#include "frame/lab_private.h"
#include "frame/timeouts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Record what the block came to on this rank: loss and samples of its last step, and a hash of the parameters, which must be
 * bit-equal on all ranks. */
static void judge_block(struct lab *lab)
{
    const struct trainer *t = lab->trainer;
    lab->result.loss = trainer_loss(t, lab->micro_batches);
    lab->result.samples = lab->micro_batches * t->samples;
    lab->result.hash = device_computes() ? block_results_hash(t->parameters, t->count) : 0;
    lab->result.wrong = collective_wrong(lab->group->collective);
    lab->result.clock_error = device_clock_error();
}

/* all: gather the block on rank 0 and wake the parked ranks. */
static void finish_block(struct lab *lab)
{
    struct block block;
    if (lab->group->world)
        judge_block(lab);
    if (lab->group->world &&
        block_results_block(&block, lab->group->world, &lab->spans, &lab->clocks, &lab->result, lab->window)) {
        run_results_take(lab->results, schedule_case(&lab->schedule), lab->schedule.round, lab->window, &block);
        free(block.results);
    }
    if (lab->group->ranks < lab->run.ranks)
        world_park(lab->world);
    lab->group = NULL;
}

/* all: begin the next block; false after the last. */
static bool begin_block(struct lab *lab, struct options *options)
{
    int chosen = schedule_next(&lab->schedule, lab->world);
    if (chosen < 0)
        return false;
    int round = lab->schedule.round;
    memcpy(options, lab->cases.settings[chosen], lab->spec->options_size);
    lab->group = process_groups_find(&lab->groups, run_of(options)->ranks);
    lab->window = run_window(run_of(options), round);
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

/* Run-queue delay of this rank so far; NaN for simulated ranks, which share one thread. */
static double queued_so_far(void)
{
    return world_is_simulated() ? (double)NAN : interference_run_queue_delay();
}

HOT bool lab_next_step(struct lab *lab)
{
    lab->step++;
    lab->spans.step = lab->step;
    if (lab->step == 0) {
        clocks_begin(&lab->clocks, lab->group->world);
        world_barrier(lab->group->world); /* ranks finish the block's set-up at different times */
    }
    collective_check(lab->group->collective, check_in(lab, lab->step));
    if (lab->step == lab->window.warmup)
        lab->queued = queued_so_far();
    if (lab->step < lab->window.warmup + lab->window.measured)
        return true;
    spans_end(&lab->spans, device_record_event());
    lab->result.queued = queued_so_far() - lab->queued;
    spans_resolve(&lab->spans);
    clocks_end(&lab->clocks, lab->group->world);
    if (device_computes())
        collective_check_last(lab->group->collective);
    return false;
}
