/* Open a lab: options, ranks, machine card, results. */
#include "base/folders.h"
#include "base/ledger.h"
#include "base/memory.h"
#include "collective/collective.h"
#include "device/device.h"
#include "frame/blind.h"
#include "frame/lab_private.h"
#include "frame/placement.h"
#include "frame/rank_memory.h"
#include "frame/supervise.h"
#include "frame/timeouts.h"
#include "launch/blas_kernel.h"
#include "launch/flight_recorder.h"
#include "model/gradcheck.h"
#include "options/algorithm.h"
#include "world/hosts.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

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
        die(STATUS_CANNOT, "ranks on GPUs of several hosts are untested; start all on one host, or on cores");
    device_open(rank, (enum precision)run_of(base)->precision);
    const struct cost_scale scale = workload_scale(workload_of(base));
    device_trains(workload_costs(workload_of(base)), &scale);
    if (device_gpus() > 0)
        world_trains_on(lab->world, device_gpus());
    collective_begin(lab->world, run_of(base)->share_gpu, run_of(base)->deadline_s);
    run_of(base)->simulated = device_computes() && world_is_simulated();
    run_of(base)->takes_turns = device_computes() && (world_is_simulated() || size > world_cores(lab->world));
    if (!device_computes())
        settle_rounds(run_of(base), workload_costs(workload_of(base)));
    world_set_timeout(lab->world, timeout_for_card(run_of(base), workload_of(base), world_is_simulated()));
    cases_refuse(lab->spec, base);
    lab->run = *run_of(base);
    lab->base = base;
    if (lab_spec_has_other_job(lab->spec, base))
        return; /* it has no results */
    make_folder(lab, run_of(base));
    lab->folder = run_folder(&lab->run, world_platform());
    lab->hosts = hosts_text(lab->world);
}

/* Estimate the memory of a rank, spans included. */
static struct memory_estimate estimate_memory(const struct lab *lab)
{
    struct memory_estimate memory = rank_memory_estimate(lab->spec, lab->base, world_is_simulated());
    memory.of[MEMORY_MEASURING] += (double)lab->spans.capacity * sizeof *lab->spans.at;
    return memory;
}

/* all: open the results, which freezes the predictions before the first block. Timeouts use the predictions too. */
static void open_results(struct lab *lab)
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
                                                                      .memory = estimate_memory(lab),
                                                                      .tried = lab->tried });
    for (int i = 0; i < lab->cases.count && is_first; i++)
        lab->expected[i] = run_results_expects(lab->results, i);
    world_broadcast(lab->world, lab->expected, (size_t)lab->cases.count * sizeof *lab->expected);
}

/* Parse the command line into `base` and the lab's cases. */
static void read_options(struct lab *lab, struct options *base, int argc, char **argv)
{
    lab->tables[0] = lab->spec->rows;
    lab->tables[1] = lab->model_rows =
        options_moved(workload_options(workload_of(base)), offsetof(struct lab_options, model));
    lab->tables[2] = run_option_rows;
    job_arguments(&argc, &argv);
    blind_take_seed(&argc, &argv);
    lab->argc = argc;
    lab->argv = argv;
    cases_choose(&lab->cases, lab->spec, lab->tables, base, argc, argv);
}

/* Do what the options ask for instead of running ranks (lab_spec.h), if anything, and exit. */
static void do_instead(const struct lab_spec *spec, const struct options *base)
{
    const struct run *run = (const struct run *)base;
    const bool may_do_else = !job_is_rank() && !run->blind && !run->dry_run;
    if (!spec->instead || !spec->instead(base, may_do_else ? stdout : NULL))
        return;
    if (job_is_rank())
        die(STATUS_USAGE, "this command needs no ranks; leave out mpirun or srun");
    if (run->blind)
        die(STATUS_USAGE, "this command trains nothing that --blind could hide; leave out --blind");
    if (run->dry_run)
        die(STATUS_USAGE, "this command starts nothing that --dry-run could leave out; leave out --dry-run");
    exit(STATUS_RIGHT);
}

/* Refuse options that another job than measuring cases would ignore (lab_spec.h). */
static void refuse_with_other_job(const struct run *run)
{
    const char *ignored = run->blind               ? "--blind"
                          : run->card_only         ? "--card-only"
                          : run->verdict           ? "--verdict"
                          : run->cases.count > 0   ? "--cases"
                          : run->lesson_cases      ? "--lesson-cases"
                          : run->guesses.count > 0 ? "--guess"
                                                   : NULL;
    if (ignored)
        die(STATUS_USAGE, "this job measures no cases, so %s has no meaning; leave it out", ignored);
}

/* Refuse options for which a launcher started the ranks too early. */
static void refuse_in_ranks(const struct run *run)
{
    if (run->dry_run)
        die(STATUS_USAGE, "--dry-run starts no ranks, and these have started; leave out mpirun or srun");
    if (!job_platform() && run_simulates(run))
        die(STATUS_USAGE, "a simulated machine starts its own ranks; start the lab without mpirun or srun");
}

/* all: do another job than measuring cases, and exit. */
_Noreturn static void do_other_job(const struct lab *lab)
{
    const int status = lab->spec->other_job(lab->world, lab->base);
    if (status == STATUS_RIGHT && world_rank(lab->world) == 0)
        flight_recorder_end(world_recorder(lab->world));
    world_exit(lab->world, status);
}

/* all: rank 0 decides which cases have brief steps, because hosts may compute the last digits of a prediction differently. None have in a
 * short look, and none on a modelled machine, whose first steps are like the others. */
static void lengthen_brief(struct lab *lab)
{
    bool brief[CASES_MOST] = { false };
    if (lab->run.quick || !device_computes())
        return;
    if (world_rank(lab->world) == 0)
        cases_find_brief(&lab->cases, lab->spec, &lab->card, brief);
    world_broadcast(lab->world, brief, (size_t)lab->cases.count * sizeof *brief);
    cases_lengthen(&lab->cases, brief);
}

/* all: prepare all that blocks need: cases, gradient check, process groups, results. */
static void prepare_blocks(struct lab *lab)
{
    cases_settle(&lab->cases, lab->spec, lab->base, &lab->card);
    lengthen_brief(lab);
    if (lab->run.quick && lab->run.takes_turns && lab->run.rounds == 0)
        lab->run.rounds = cases_quick_rounds(&lab->cases);
    spans_open(&lab->spans, cases_most_spans(&lab->cases, lab->spec));
    const struct check_failures tried = gradcheck_run(lab->world, workload_of(lab->base), &lab->run);
    check_failures_join(&lab->tried, &tried, "%s", "");
    process_groups_open(&lab->groups, lab->world, &lab->cases, &lab->spans);
    open_results(lab);
    lab->terminal = job_terminal();
}

/* Open what this rank trains, with buffers for all blocks. */
static struct trainer *open_trainer(const struct lab *lab)
{
    const struct workload *workload = workload_of(lab->base);
    const int most = lab_spec_most_samples(lab->spec, lab->base);
    if (lab->spec->own_batches)
        return trainer_open_for(workload, &lab->run, lab_spec_batches(lab->spec, lab->base));
    if (!lab->spec->opens_models)
        return trainer_open(workload, &lab->run, most);
    struct loader *loader = loader_open(workload, &lab->run, most);
    ledger_override_owner(MEMORY_MEASURING);
    struct trainer *trainer = trainer_open_for(workload, &lab->run, loader_most(workload, most));
    ledger_override_owner(MEMORY_OWNERS);
    trainer->loader = loader;
    return trainer;
}

struct lab *lab_open(const struct lab_spec *spec, struct options *base, int argc, char **argv)
{
    struct lab *lab = memory_new(1, sizeof *lab);
    lab->spec = spec;
    signal(SIGXFSZ, SIG_IGN); /* a file size limit then becomes an error that can be reported */
    read_options(lab, base, argc, argv);
    do_instead(spec, base);
    if (lab_spec_has_other_job(spec, base))
        refuse_with_other_job(run_of(base));
    algorithm_choose((enum algorithm)run_of(base)->algorithm);
    if (!job_is_rank()) {
        job_refuse_strangers();
        cases_refuse(spec, base);
        supervise(spec, base, &lab->cases, lab->tables, lab->argv);
    }
    refuse_in_ranks(run_of(base));
    placement_exec(run_of(base), spec->lab, lab->argv);
    if (!job_is_watched() && strcmp(device_name(), "cpu") == 0)
        blas_kernel_use_saved(lab->argv);
    join_world(lab, base);
    if (lab_spec_has_other_job(spec, base))
        do_other_job(lab);
    lab->memory.empty = rss_now().now;
    ledger_override_owner(MEMORY_MEASURING); /* models that only measure this machine */
    lab_get_card(lab);
    if (lab->run.card_only) {
        if (lab->tried.count > 0)
            die(STATUS_WRONG, "%d failed checks; the first: %s", lab->tried.count, lab->tried.first);
        if (world_rank(lab->world) == 0)
            flight_recorder_end(world_recorder(lab->world));
        world_exit(lab->world, STATUS_RIGHT);
    }
    prepare_blocks(lab);
    ledger_override_owner(MEMORY_OWNERS);
    lab->memory.prepared = rss_now().most;
    rss_restart_peak();
    lab->begun = rank_memory_begin();
    schedule_begin(&lab->schedule, &lab->run, &lab->cases);
    lab->compared = cases_common_steps(&lab->cases);
    lab->trainer = open_trainer(lab);
    ledger_override_owner(MEMORY_MEASURING);
    lab->probe = probe_open(&lab->card, lab->world, workload_of(base), &lab->run, lab->trainer);
    const struct card_uses uses = lab_spec_uses(spec, base);
    const double larger = probe_larger_bytes(&uses, workload_of(base), lab->run.ranks, world_is_simulated());
    probe_larger(lab->probe, larger);
    if (spec->own_batches || spec->opens_models || larger > 0)
        probe_warm_up(lab->probe);
    lab->own_probe = own_probe_open(spec->costs, lab->world,
                                    (struct own_where){ NULL, workload_of(base), &lab->run, probe_steps(lab->probe) },
                                    card_busy_ranks(&lab->card));
    ledger_override_owner(MEMORY_OWNERS);
    return lab;
}
