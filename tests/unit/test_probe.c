/* test_probe.c: test probes between blocks of training, under mpirun, on any number of ranks: with more than cores, rank 0 measures
 * alone. */
#include "base/memory.h"
#include "card/brief.h"
#include "card/calibrate.h"
#include "card/own_probe.h"
#include "card/probe.h"
#include "card/sweep.h"
#include "collective/collective.h"
#include "device/device.h"
#include "model/shape_bench.h"
#include "support/on_ranks.h"
#include "support/unit.h"
#include "world/world.h"

#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, BATCH = 6 };

static const struct workload workload = { .type = &mlp_type, .of.mlp = { 64, 48, 5, 3 } };

static struct run run_of_world(void)
{
    struct run run = run_published;
    run.ranks = world_size(world);
    run.batch_size = BATCH;
    return run;
}

static struct card card_of_world(void)
{
    return (struct card){ .ranks = world_size(world), .cores = world_cores(world) };
}

/* Restart, train and return the parameters on the host. */
static float *train(struct trainer *t, const struct run *run)
{
    float *parameters = memory_new(t->count, sizeof *parameters);
    trainer_restart(t, share_even(run, world_rank(world)), 0, 1.0f / BATCH);
    for (int step = 0; step < STEPS; step++) {
        const struct batch *batch = trainer_next(t, NO_STALL);
        trainer_forward(t, batch);
        trainer_backward(t, batch);
        trainer_update(t);
    }
    device_fetch(parameters, t->parameters, t->count * sizeof *parameters);
    return parameters;
}

static void count_call(void *argument, int layer)
{
    (void)layer;
    ++*(int *)argument;
}

TEST(a_probe_leaves_training_as_it_was)
{
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    struct trainer *t = trainer_open(&workload, &run, BATCH);
    struct probe *probe = probe_open(&card, world, &workload, &run, t);
    int calls = 0;
    model_hook(t->model, (struct model_hooks){ &calls, count_call, count_call });
    float *before = train(t, &run);
    const int calls_before = calls;
    for (int i = 0; i < 2; i++)
        probe_measure(probe, PROBE_VISITS);
    assert_int_equal(calls, calls_before); /* a lab's hooks do not run in a probe, */
    float *after = train(t, &run);
    assert_int_equal(calls, 2 * calls_before); /* and do afterwards */
    assert_memory_equal(before, after, t->count * sizeof *before);
    probe_close(probe);
    trainer_close(t);
    free(before);
    free(after);
}

/* The fetch that a block leaves behind may have a stall, and a busy one would share the probe's core. */
TEST(a_probe_waits_for_a_prefetch)
{
    static const struct stall stall = { STALL_SLEEP, 0.5 };
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    struct trainer *t = trainer_open(&workload, &run, BATCH);
    struct probe *probe = probe_open(&card, world, &workload, &run, t);
    trainer_restart(t, share_even(&run, world_rank(world)), 1, 1.0f / BATCH);
    const double began = world_wall();
    trainer_next(t, stall); /* the fetch after this one stalls */
    const double left = world_wall();
    probe_measure(probe, PROBE_VISITS);
    assert_true(world_wall() - began >= stall.seconds);
    assert_true(left - began < stall.seconds); /* the wait was the probe's */
    probe_close(probe);
    trainer_close(t);
}

TEST(every_rank_gets_the_means)
{
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    struct probe *probe = probe_open(&card, world, &workload, &run, NULL);
    struct card_probe mine = probe_measure(probe, PROBE_VISITS), first = mine;
    const bool is_another =
        world_size(world) > 1 && world_size(world) <= world_cores(world); /* than the usual measurement */
    assert_true(is_another ? mine.alone.passes > 0 : mine.alone.passes <= 0);
    probe_close(probe);
    world_broadcast(world, &first, sizeof first);
    assert_memory_equal(&mine, &first, sizeof mine);
    assert_true(mine.local.fetch > 0 && mine.local.passes > 0 && mine.local.update > 0);
    assert_true(world_size(world) > 1 ? mine.transfer > 0 : mine.transfer >= 0 && mine.transfer <= 0);
}

/* A short probe measures only the step, on all ranks, like a probe. */
TEST(a_short_probe_sees_the_step)
{
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    struct probe *probe = probe_open(&card, world, &workload, &run, NULL);
    const struct card_probe whole = probe_measure(probe, PROBE_VISITS);
    struct card_probe mine = { 0 };
    for (int i = 0; i < 50 && !(mine.local.passes > 0); i++) /* other programs may disturb some */
        mine = probe_local_step(probe);
    struct card_probe first = mine;
    probe_close(probe);
    world_broadcast(world, &first, sizeof first);
    assert_memory_equal(&mine, &first, sizeof mine);
    assert_true(mine.local.fetch > 0 && mine.local.passes > 0.02 * whole.local.passes && mine.local.update > 0);
    assert_true(mine.transfer <= 0 && mine.alone.passes <= 0);
}

TEST(a_card_of_another_machine_is_found_out)
{
    const struct run run = run_of_world();
    struct card card = card_of_world();
    card.reference.alone = card.reference.together = (struct local_times){ .fetch = 1, .passes = 1, .update = 1 };
    card.reference.transfer = 1;
    char why[CARD_NAME] = "";
    assert_int_equal(calibrate_again(&card, world, &workload, &run, why), CARD_OUTDATED);
    assert_non_null(strstr(why, "100 % less"));
}

/* The card keeps the measurements that a probe repeats, and the fit's predictions of them. */
TEST(a_card_has_its_reference)
{
    const struct run run = run_of_world();
    struct card_uses uses = { 0 };
    card_use(&uses, ALL_REDUCE, first_ranks(world_size(world)), 0);
    struct card card;
    const struct check_failures wrong = calibrate(&card, world, &workload, &run, &uses);
    assert_int_equal(wrong.count, 0);
    const struct card_probe usual = card_usual(&card);
    assert_true(card_is_measured(&card) && card_covers(&card, &uses));
    assert_true(usual.local.fetch > 0 && usual.local.passes > 0 && usual.local.update > 0 && card.jitter >= 0);
    assert_true((usual.transfer > 0) == (world_size(world) > 1));
    const double step = local_step(&card.alone, workload_usual(&workload, &run)),
                 measured = card.reference.alone.fetch + card.reference.alone.passes + card.reference.alone.update,
                 off = card.reference.alone_error.usual - (step / measured - 1);
    assert_true(off > -1e-9 && off < 1e-9);
}

/* Seconds of other programs that the harness sees: 0 unless a test sets them, since other tests may run meanwhile. */
static double by_others;
double __wrap_interference_by_others(void);
double __wrap_interference_by_others(void)
{
    return by_others;
}

double __wrap_interference_run_queue_delay(void);
double __wrap_interference_run_queue_delay(void)
{
    return 0;
}

/* Steal time that the harness sees: seconds between two readings. */
static double stolen_each_time;
double __wrap_interference_steal_time(const char *root);
double __wrap_interference_steal_time(const char *root)
{
    static double stolen;
    (void)root;
    return stolen += stolen_each_time;
}

/* A time of others is not taken for the machine's: predictions would be scaled by it. */
TEST(sums_that_others_disturbed_are_reported)
{
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    struct probe *probe = probe_open(&card, world, &workload, &run, NULL);
    stolen_each_time = 10;
    const struct card_probe disturbed = probe_measure(probe, PROBE_VISITS);
    stolen_each_time = 0;
    assert_true(disturbed.sums_disturbed == (world_size(world) > 1));
    const struct card_probe quiet = probe_measure(probe, PROBE_VISITS);
    assert_false(quiet.sums_disturbed);
    probe_close(probe);
}

/* Samples of the batches that passed forward: of the smallest, and of the last. */
static int smallest, last;

void __real_trainer_forward(struct trainer *t, const struct batch *batch);
void __wrap_trainer_forward(struct trainer *t, const struct batch *batch);
void __wrap_trainer_forward(struct trainer *t, const struct batch *batch)
{
    last = batch->samples;
    smallest = last < smallest ? last : smallest;
    __real_trainer_forward(t, batch);
}

/* What a probe sums is in the caches as after a step of the run, although laps of a small batch came before. */
TEST(sums_follow_the_usual_batch)
{
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    const bool takes_small_laps = world_size(world) > 1 && world_size(world) <= world_cores(world);
    struct probe *probe = probe_open(&card, world, &workload, &run, NULL);
    smallest = BATCH;
    probe_measure(probe, PROBE_VISITS);
    assert_int_equal(last, BATCH); /* of the passes before the last sum, on several ranks */
    assert_true(takes_small_laps ? smallest < BATCH : smallest == BATCH);
    probe_close(probe);
}

/* One large sum is slow although no program took a core: the probe does not take it for the machine. */
enum { LARGER = 1 << 20 };
static int larger_sums;

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    static const double slow_s = 0.5;
    if (count == LARGER / (int)sizeof(float) && larger_sums++ == 0)
        world_sleep(slow_s);
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

TEST(one_slow_large_sum_does_not_count)
{
    const struct run run = run_of_world();
    const struct card card = card_of_world();
    struct probe *probe = probe_open(&card, world, &workload, &run, NULL);
    probe_larger(probe, LARGER);
    larger_sums = 0;
    const struct card_probe measured = probe_measure(probe, PROBE_VISITS);
    assert_true(world_size(world) == 1 || (larger_sums >= 3 && measured.larger > 0 && measured.larger < 0.2));
    probe_close(probe);
}

/* Another program has the core before every second call. */
static void disturb_every_second(void *times)
{
    by_others += (*(int *)times)++ % 2 == 0 ? 10 : 0;
}

/* A sweep makes a call again that others disturbed, if it is patient; what it came to is left out of the timeline, whose steps are
 * checked. */
TEST(a_patient_sweep_repeats_disturbed_calls)
{
    enum { REPEATS = 3 };
    const bool shows = world_size(world) <= world_cores(world) && !card_is_brief();
    const struct sweep_call call = { .kind = ALL_REDUCE, .bytes = 1024 };
    for (int is_patient = 0; is_patient < 2; is_patient++) {
        int times = 0;
        double seconds = 0;
        const struct sweep sweep = { .calls = &call,
                                     .count = 1,
                                     .repeats = REPEATS,
                                     .is_patient = is_patient,
                                     .between = disturb_every_second,
                                     .argument = &times };
        const struct check_failures wrong = sweep_measure(world, &sweep, &seconds);
        assert_int_equal(wrong.count, 0);
        assert_int_equal(times, is_patient && shows ? 2 * REPEATS : REPEATS);
        assert_true(world_rank(world) > 0 || world_size(world) == 1 || (seconds > 0 && seconds < 1));
    }
}

/* Return 100, disturbed by another program, in every second call; else 1. */
static double half_disturbed(const struct own_where *where, int which)
{
    static int times;
    (void)where, (void)which;
    const bool is_disturbed = times++ % 2 == 0;
    by_others += is_disturbed ? 10 : 0;
    return is_disturbed ? 100 : 1;
}

TEST(turns_in_which_others_had_a_core_do_not_count)
{
    static const struct own_cost list[] = { { "half_s", OWN_SECONDS, "", "", 1, 0, half_disturbed, 0 }, { 0 } };
    struct own_costs costs = { 0 };
    own_costs_measure(&costs, world, (struct own_where){ 0 }, world_size(world), list);
    if (world_rank(world) > 0 || world_size(world) > world_cores(world) || card_is_brief())
        return; /* ranks that share cores take them from each other */
    assert_true(own_costs_value(&costs, "half_s") <= 1);
}

/* Each rank's own cost is measured by its function, once a turn; the card has the mean. */
static int calls;

static double rank_number(const struct own_where *where, int first)
{
    calls++;
    return first + world_rank(where->together);
}

static double not_here(const struct own_where *where, int which)
{
    (void)where, (void)which;
    return (double)NAN;
}

TEST(a_card_has_the_labs_own_costs)
{
    static const struct own_cost list[] = { { "number_s", OWN_SECONDS, "a number takes", "s", 1, 0, rank_number, 3 },
                                            { "none_s", OWN_SECONDS, "nothing takes", "s", 1, 0, not_here, 0 },
                                            { 0 } };
    const struct run run = run_of_world();
    struct card_uses uses = { .own = list };
    struct card card = card_of_world();
    calls = 0;
    const struct check_failures wrong = calibrate_uses(&card, world, &workload, &run, &uses);
    assert_int_equal(wrong.count, 0);
    const int busy = card_busy_ranks(&card);
    const int turns = card_is_brief() ? 1 : OWN_TURNS, expected = world_rank(world) < busy ? turns : 0;
    assert_int_equal(calls, expected);
    const double off = card_cost(&card, "number_s") - 2 - (1 + busy) / 2.0; /* all ranks have rank 0's mean */
    assert_true(off > -1e-12 && off < 1e-12);
    assert_true(isnan(card_cost(&card, "none_s")) && !card_covers(&card, &uses));
    calibrate_uses(&card, world, &workload, &run, &uses);
    assert_int_equal(calls, expected); /* what the card has is not measured again */
}

static int turn;

/* Bytes per second: 2 in the first turn, then 6. The harmonic mean of both is 3. */
static double rate(const struct own_where *where, int which)
{
    (void)where, (void)which;
    return turn++ % 2 ? 6 : 2;
}

/* A rate that is slow in every second turn is the mean of the seconds, not of the rates. */
TEST(a_rate_is_a_mean_of_seconds)
{
    static const struct own_cost list[] = { { "rate", OWN_RATE, "", "", 1, 0, rate, 0 }, { 0 } };
    struct own_costs costs = { 0 };
    turn = 0;
    own_costs_measure(&costs, world, (struct own_where){ 0 }, world_size(world), list);
    const double off = own_costs_value(&costs, "rate") - (card_is_brief() ? 2 : 3);
    assert_true(world_rank(world) > 0 || (off > -1e-12 && off < 1e-12));
}

static int enough_calls;

/* Takes OWN_ENOUGH_S in fewer turns than the least. */
static double takes_enough(const struct own_where *where, int which)
{
    (void)where, (void)which;
    enough_calls++;
    world_sleep(1.1 * OWN_ENOUGH_S / OWN_TURNS_LEAST);
    return 0.5;
}

/* So are those whose turns agree, and are spread: here by the long cost. */
TEST(a_long_cost_is_measured_in_fewer_turns)
{
    static const struct own_cost list[] = { { "long_s", OWN_SECONDS, "", "", 1, 0, takes_enough, 0 },
                                            { "agrees_s", OWN_SECONDS, "", "", 1, 0, rank_number, 0 },
                                            { "varies_s", OWN_SECONDS, "", "", 1, 0, rate, 0 },
                                            { 0 } };
    struct own_costs costs = { 0 };
    enough_calls = calls = turn = 0;
    own_costs_measure(&costs, world, (struct own_where){ 0 }, world_size(world), list);
    assert_int_equal(enough_calls, card_is_brief() ? 1 : OWN_TURNS_LEAST);
    assert_int_equal(calls, card_is_brief() ? 1 : OWN_TURNS_LEAST);
    assert_int_equal(turn, card_is_brief() ? 1 : OWN_TURNS);
    assert_true(world_rank(world) > 0 || own_costs_value(&costs, "long_s") == 0.5);
}

static int long_calls;

/* Longer than all that a probe spends. */
static double takes_long(const struct own_where *where, int which)
{
    (void)where, (void)which;
    long_calls++;
    world_sleep(2.5 * OWN_PROBE_S);
    return 0.5;
}

static double stays(const struct own_where *where, int which)
{
    (void)where, (void)which;
    assert_true(false);
    return 0;
}

/* Brief costs are in each probe, one that takes longer only once its time is saved up, one that stays never. */
TEST(own_probes_measure_what_they_have_time_for)
{
    enum { PROBES = 7 };
    static const struct own_cost list[] = { { "long", OWN_RATE, "", "", 1, 0, takes_long, 0 },
                                            { "number_s", OWN_SECONDS, "", "", 1, 0, rank_number, 3 },
                                            { "none_s", OWN_SECONDS, "", "", 1, 0, not_here, 0 },
                                            { "stays_s", OWN_STAYS, "", "", 1, 0, stays, 0 },
                                            { 0 } };
    struct own_costs costs = { 0 };
    own_costs_make_room(&costs, list);
    struct own_probe *probe = own_probe_open(list, world, (struct own_where){ 0 }, world_size(world));
    struct own_now now[PROBES] = { 0 };
    long_calls = calls = 0;
    for (int i = 0; i < PROBES; i++)
        own_probe_measure(probe, &costs, (struct own_pace){ 4, 1 }, &now[i]);
    own_probe_close(probe);
    assert_true(long_calls >= 1 && (card_is_brief() || (long_calls <= 3 && calls >= 2 && calls < PROBES)));
    double longs = 0, numbers = 0;
    for (int i = 0; i < PROBES; i++) {
        longs += now[i].at[0].weight;
        numbers += now[i].at[1].weight;
        /* 2 s at a pace of 4 */
        assert_true(now[i].at[0].weight <= 0 || (now[i].at[0].seconds > 0.4999 && now[i].at[0].seconds < 0.5001));
        assert_true(now[i].at[2].weight <= 0 && now[i].at[3].weight <= 0);
    }
    assert_true(world_rank(world) > 0 || (longs == long_calls && numbers == calls));
}

/* What a probe finds while local steps are disturbed tells nothing. */
TEST(own_costs_without_a_pace_are_not_measured)
{
    static const struct own_cost list[] = { { "number_s", OWN_SECONDS, "", "", 1, 0, rank_number, 3 }, { 0 } };
    struct own_costs costs = { 0 };
    own_costs_make_room(&costs, list);
    struct own_probe *probe = own_probe_open(list, world, (struct own_where){ 0 }, world_size(world));
    struct own_now now = { 0 };
    own_probe_measure(probe, &costs, (struct own_pace){ 0, 1 }, &now);
    own_probe_close(probe);
    assert_true(now.at[0].weight <= 0);
}

/* --- a host with less memory -------------------------------------------------------------------------------------- */

static bool has_hosts; /* each rank is on a host of its own, with less memory than the one before */

int __real_hosts_count(const struct world *of);
int __wrap_hosts_count(const struct world *of);
int __wrap_hosts_count(const struct world *of)
{
    return has_hosts ? world_size(of) : __real_hosts_count(of);
}

double __real_memory_available(void);
double __wrap_memory_available(void);
double __wrap_memory_available(void)
{
    return has_hosts ? 1e9 * (world_size(world) - world_rank(world)) : __real_memory_available();
}

/* All ranks make calls of the same sizes, so the host with the least memory decides. */
TEST(the_largest_call_fits_into_the_smallest_host)
{
    has_hosts = true;
    const double largest = sweep_largest(world);
    has_hosts = false;
    assert_true(fabs(largest - 1e9 / 4 / world_size(world)) < 1);
}

static void open_patient_ranks(void)
{
    open_ranks();
    world_set_timeout(world, 60);
}

AROUND_TESTS(open_patient_ranks, close_ranks)
