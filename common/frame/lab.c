#include "frame/lab.h"

#include "analysis/block_results.h"
#include "base/folders.h"
#include "base/hot.h"
#include "base/interference.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/rss.h"
#include "card/calibrate.h"
#include "card/card_file.h"
#include "collective/collective.h"
#include "device/device.h"
#include "frame/blind.h"
#include "frame/cases.h"
#include "frame/placement.h"
#include "frame/process_groups.h"
#include "frame/run_results.h"
#include "frame/schedule.h"
#include "frame/supervise.h"
#include "frame/timeouts.h"
#include "launch/blas_kernel.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "model/gradcheck.h"
#include "options/algorithm.h"
#include "world/clocks.h"
#include "world/hosts.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct lab {
    const struct lab_spec *spec;
    const struct option_row *tables[4];
    int argc;
    char *const *argv;
    struct run run; /* base settings, final once the world is known */
    struct options *base;
    char *folder; /* folder of this platform's results */
    struct world *world;
    struct spans spans;
    struct card card;

    struct process_groups groups;
    const struct process_group *group; /* group of the current block */

    struct cases cases;
    double expected[CASES_MOST]; /* predicted seconds per step */
    struct schedule schedule;
    struct window window;
    int step;
    struct random draws;
    struct rank_result result;
    double queued; /* queued_so_far() when the measured steps began */
    struct clocks clocks;
    struct rss_peaks memory; /* of this rank */

    /* On rank 0: */
    char *hosts;    /* hosts_text() */
    char *card_key; /* tells this card from others */
    struct run_results *results;
    struct terminal terminal;
};

/* --- opening ---------------------------------------------------------------------------------------------------- */

/* Set the rounds of a modelled run. Each round measures all steps, because they cost hardly any time. Every machine runs the same
 * number of rounds, enough for an interval if there is jitter. */
static void settle_rounds(struct run *run, enum work_model model)
{
    enum { WITH_JITTER = 20, WITHOUT = 6 };
    run->whole = true;
    if (run->rounds == 0 && !run->quick)
        run->rounds = device_costs(model).jitter > 0 ? WITH_JITTER : WITHOUT;
}

/* all: make the results folder on rank 0, the only rank that writes. Hosts of other ranks need no such folder or disk. */
static void make_folder(const struct lab *lab, const struct run *run)
{
    int error = world_rank(lab->world) == 0 ? run_make_folder(run) : 0;
    world_broadcast(lab->world, &error, sizeof error);
    file_refuse_out(run->out, error);
}

/* all: join the job and complete the settings that depend on it. */
static void join_world(struct lab *lab, struct options *base)
{
    lab->world = world_open(timeout_to_start(run_of(base)));
    int size = world_size(lab->world), rank = world_rank(lab->world);
    if (size != run_of(base)->ranks && options_name(lab->argc, lab->argv, "--ranks")) {
        int asked = run_of(base)->ranks;
        world_close(lab->world);
        die(STATUS_USAGE, "--ranks %d, but the launcher started %d; leave out --ranks or start as many", asked, size);
    }
    run_of(base)->ranks = size;
    if (hosts_count(lab->world) > 1 && strcmp(device_name(), "cuda") == 0)
        die(STATUS_CANNOT, "ranks on GPUs of several hosts were never tried; start all on one host, or on cores");
    device_open(rank, (enum precision)run_of(base)->precision);
    if (device_gpus() > 0)
        world_trains_on(lab->world, device_gpus());
    collective_begin(lab->world, run_of(base)->share_gpu, run_of(base)->deadline_s);
    run_of(base)->takes_turns = device_computes() && (world_is_simulated() || size > world_cores(lab->world));
    if (!device_computes())
        settle_rounds(run_of(base), lab->spec->workload->model);
    world_set_timeout(lab->world, timeout_for_card(run_of(base), lab->spec->workload, world_is_simulated()));
    cases_refuse(lab->spec, base);
    make_folder(lab, run_of(base));
    lab->run = *run_of(base);
    lab->folder = run_folder(&lab->run, world_platform());
    lab->base = base;
    lab->hosts = hosts_text(lab->world);
}

/* Return the key of the card. A card measured among other hosts has another key. */
static char *card_key_of(const struct lab *lab)
{
    char *platform =
        lab->hosts ? memory_text("%s, %s", job_platform_key(), lab->hosts) : memory_text("%s", job_platform_key());
    char *key = placement_key(platform, run_results_label(lab->run.ranks), &lab->run);
    free(platform);
    return key;
}

/* On rank 0: print what the numbers below were measured on. */
static void print_card(const struct lab *lab)
{
    if (world_is_simulated())
        printf("Simulated, platform %s: %s.\n", world_platform(), world_about());
    if (device_gpus() > 0)
        printf("Trained on %s; %s.\n", run_results_label(lab->run.ranks), device_about());
    if (lab->hosts)
        printf("Hosts: %s.\n", lab->hosts);
    if (collective_hides_arrivals())
        printf("Waiting and transfer are n/a: %s.\n", collective_hides_arrivals());
    card_show(stdout, &lab->card, lab->spec->workload, &lab->run);
    fflush(stdout);
}

/* all: read a fresh card from disk, or measure one. */
static void get_card(struct lab *lab)
{
    const struct workload *workload = lab->spec->workload;
    double largest = lab_spec_largest_message(lab->spec, lab->base);
    bool is_first = world_rank(lab->world) == 0;
    bool may_read = is_first && !lab->run.card_only && device_computes();
    lab->card_key = card_key_of(lab);
    enum card_found found = CARD_NONE;
    if (may_read)
        found =
            card_read(&lab->card, lab->folder, workload, &lab->run, largest, lab->card_key, world_cores(lab->world));
    world_broadcast(lab->world, &found, sizeof found);
    world_broadcast(lab->world, &lab->card, sizeof lab->card);
    if (found != CARD_NONE && !calibrate_agrees(&lab->card, lab->world, workload, &lab->run))
        found = CARD_NONE;
    if (is_first && found != CARD_WHOLE && device_computes())
        fputs("measuring the machine card, a few seconds ...\n", stderr);
    if (found == CARD_NONE)
        calibrate(&lab->card, lab->world, workload, &lab->run, largest);
    else if (found == CARD_SHORT)
        calibrate_links(&lab->card, lab->world, workload, &lab->run, largest);
    if (is_first && found != CARD_WHOLE)
        card_write(&lab->card, lab->folder, workload, &lab->run, lab->card_key);
    if (lab->hosts) {
        struct host *hosts = memory_new((size_t)world_size(lab->world), sizeof *hosts);
        hosts_list(lab->world, hosts);
        card_on_hosts(&lab->card, hosts);
        free(hosts);
    }
    if (device_gpus() > 0)
        card_on_gpus(&lab->card, device_about(), device_gpus());
    if (is_first)
        print_card(lab);
}

/* all: open the results, which freezes the predictions before the first block. Timeouts use the predictions too. `tried`: checks
 * that failed before. */
static void open_results(struct lab *lab, const struct check_failures *tried)
{
    const bool is_first = world_rank(lab->world) == 0;
    if (is_first)
        lab->results = run_results_open(&(struct run_results_inputs){ .spec = lab->spec,
                                                                      .tables = lab->tables,
                                                                      .argv = lab->argv,
                                                                      .base = lab->base,
                                                                      .run = &lab->run,
                                                                      .cases = &lab->cases,
                                                                      .card = &lab->card,
                                                                      .card_key = lab->card_key,
                                                                      .folder = lab->folder,
                                                                      .hosts = lab->hosts,
                                                                      .tried = *tried });
    for (int i = 0; i < lab->cases.count && is_first; i++)
        lab->expected[i] = run_results_expects(lab->results, i);
    world_broadcast(lab->world, lab->expected, sizeof lab->expected);
}

struct lab *lab_open(const struct lab_spec *spec, struct options *base, int argc, char **argv)
{
    struct lab *lab = memory_new(1, sizeof *lab);
    lab->spec = spec;
    lab->tables[0] = spec->rows;
    lab->tables[1] = spec->workload->rows;
    lab->tables[2] = run_option_rows;
    signal(SIGXFSZ, SIG_IGN); /* a file size limit then becomes an error that can be reported */
    job_arguments(&argc, &argv);
    blind_take_seed(&argc, &argv);
    lab->argc = argc;
    lab->argv = argv;
    cases_choose(&lab->cases, spec, lab->tables, base, argc, argv);
    const bool may_do_else = !job_is_rank() && !run_of(base)->blind && !run_of(base)->dry_run;
    if (spec->instead && spec->instead(base, may_do_else ? stdout : NULL)) {
        if (job_is_rank())
            die(STATUS_USAGE, "what was asked for needs no ranks; leave out mpirun or srun");
        if (run_of(base)->blind)
            die(STATUS_USAGE, "what was asked for trains nothing that --blind could hide; leave out --blind");
        if (run_of(base)->dry_run)
            die(STATUS_USAGE, "what was asked for starts nothing that --dry-run could leave out; leave out --dry-run");
        exit(STATUS_RIGHT);
    }
    algorithm_choose((enum algorithm)run_of(base)->algorithm);
    if (!job_is_rank()) {
        job_refuse_strangers();
        cases_refuse(spec, base);
        supervise(spec, base, &lab->cases, lab->tables, argv);
    }
    if (run_of(base)->dry_run)
        die(STATUS_USAGE, "--dry-run starts no ranks, and these have started; leave out mpirun or srun");
    if (!job_platform() && run_simulates(run_of(base)))
        die(STATUS_USAGE, "a simulated machine starts its own ranks; start the lab without mpirun or srun");
    placement_exec(run_of(base), spec->lab, argv);
    if (!job_is_watched() && strcmp(device_name(), "cpu") == 0)
        blas_kernel_use_saved(argv);
    join_world(lab, base);
    lab->memory.empty = rss_now().now;
    get_card(lab);
    if (lab->run.card_only) {
        if (world_rank(lab->world) == 0)
            flight_recorder_end(world_recorder(lab->world));
        world_exit(lab->world);
    }
    cases_settle(&lab->cases, spec, base);
    if (lab->run.quick && lab->run.takes_turns && lab->run.rounds == 0)
        lab->run.rounds = cases_quick_rounds(&lab->cases);
    spans_open(&lab->spans, cases_most_spans(&lab->cases, lab->spec));
    const struct check_failures tried = gradcheck_run(lab->world, spec->workload, &lab->run);
    process_groups_open(&lab->groups, lab->world, &lab->cases, &lab->spans);
    open_results(lab, &tried);
    lab->terminal = job_terminal();
    lab->memory.prepared = rss_now().most;
    rss_restart_peak();
    schedule_begin(&lab->schedule, &lab->run, &lab->cases);
    return lab;
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* all: gather the block on rank 0 and wake the parked ranks. */
static void finish_block(struct lab *lab)
{
    struct block block;
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
    world_set_timeout(lab->world, timeout_for_block(run_of(options), lab->spec->workload, lab->expected[chosen],
                                                    lab->window, has_signs, world_is_simulated()));
    if (world_rank(lab->world) == 0)
        schedule_show(&lab->schedule, lab->spec->lab, lab->cases.variant[chosen]->name, lab->terminal);
    return true;
}

bool lab_next_block(struct lab *lab, struct options *options)
{
    do {
        if (lab->group)
            finish_block(lab);
        if (!begin_block(lab, options))
            return false;
    } while (!lab->group->world);
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

HOT void lab_phase(struct lab *lab, enum span_kind kind)
{
    if (kind == SPAN_DATA || kind == SPAN_HOST)
        device_wait();
    spans_phase(&lab->spans, kind, device_record_event());
}

bool lab_every(const struct lab *lab, int n)
{
    return (lab->step + 1 - lab->window.warmup) % n == 0;
}

int lab_draw(struct lab *lab, int n)
{
    return (int)random_below(&lab->draws, (uint32_t)n);
}

bool lab_chance(struct lab *lab, double p)
{
    bool is_hit = false;
    for (int rank = 0; rank < lab->group->ranks; rank++) {
        bool hits = random_unit(&lab->draws) < p; /* in [0, 1): never with p = 0, always with p = 1 */
        is_hit |= hits && rank == world_rank(lab->world);
    }
    return is_hit;
}

void lab_judge(struct lab *lab, double loss, int samples, const float *parameters, size_t count)
{
    lab->result.loss = loss;
    lab->result.samples = samples;
    lab->result.hash = device_computes() ? block_results_hash(parameters, count) : 0;
    lab->result.wrong = collective_wrong(lab->group->collective);
    lab->result.clock_error = device_clock_error();
}

struct world *lab_world(const struct lab *lab)
{
    return lab->world;
}

struct collective *lab_collective(const struct lab *lab)
{
    return lab->group->collective;
}

const struct card *lab_card(const struct lab *lab)
{
    return &lab->card;
}

struct csv *lab_table(struct lab *lab, const char *name)
{
    if (world_rank(lab->world) > 0)
        return NULL;
    return run_results_table(lab->results, name);
}

/* --- closing ---------------------------------------------------------------------------------------------------- */

static void release(struct lab *lab)
{
    run_results_close(lab->results);
    cases_close(&lab->cases);
    free(lab->folder);
    free(lab->hosts);
    free(lab->card_key);
    spans_close(&lab->spans);
    process_groups_close(&lab->groups);
    device_close();
    world_close(lab->world);
    free(lab);
}

/* all: gather the largest resident memory of any rank. */
static void gather_memory(struct lab *lab)
{
    if (world_is_simulated())
        return; /* one process holds all ranks */
    struct rss_peaks most = { 0 }, *all = memory_new((size_t)world_size(lab->world), sizeof *all);
    lab->memory.trained = rss_now().most;
    world_gather(lab->world, &lab->memory, sizeof lab->memory, all);
    for (int rank = 0; rank < world_size(lab->world); rank++) {
        most.empty = fmax(most.empty, all[rank].empty);
        most.prepared = fmax(most.prepared, all[rank].prepared);
        most.trained = fmax(most.trained, all[rank].trained);
    }
    if (world_rank(lab->world) == 0)
        run_results_memory(lab->results, most);
    free(all);
}

int lab_close(struct lab *lab)
{
    bool is_first = world_rank(lab->world) == 0;
    gather_memory(lab);
    size_t bytes = 0; /* size of spans.csv, the largest table */
    if (is_first)
        bytes = run_results_bytes(lab->results);
    world_broadcast(lab->world, &bytes, sizeof bytes);
    world_set_timeout(lab->world, timeout_to_write(&lab->run, bytes));
    int wrong = is_first ? run_results_print(lab->results, lab->schedule.began) : 0;
    if (is_first)
        flight_recorder_end(world_recorder(lab->world)); /* the results are in place, even if a rank dies now */
    world_broadcast(lab->world, &wrong, sizeof wrong);
    flight_recorder_end(world_recorder(lab->world)); /* note the end on other hosts, too */
    release(lab);
    return wrong ? STATUS_WRONG : STATUS_RIGHT;
}
