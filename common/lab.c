#include "lab.h"

#include "account.h"
#include "algorithm.h"
#include "blind.h"
#include "board.h"
#include "calibrate.h"
#include "card_file.h"
#include "cases.h"
#include "clocks.h"
#include "collective.h"
#include "crews.h"
#include "device.h"
#include "files.h"
#include "footprint.h"
#include "gather.h"
#include "hosts.h"
#include "hot.h"
#include "interference.h"
#include "job.h"
#include "kernel.h"
#include "memory.h"
#include "mode.h"
#include "patience.h"
#include "random.h"
#include "schedule.h"
#include "supervise.h"
#include "trial.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct lab {
    const struct story *story;
    const struct option_row *tables[4];
    int argc;
    char *const *argv;
    struct run run; /* the base settings, once the world is known */
    struct options *base;
    char *folder; /* of this platform's results */
    struct world *world;
    struct spans spans;
    struct card card;

    struct crews crews;
    const struct crew *crew; /* of the block that is open */

    struct cases cases;
    double expected[CASES_MOST]; /* seconds of a step, as predicted */
    struct schedule schedule;
    struct window window;
    int step;
    struct random draws;
    struct verdict verdict;
    double queued; /* queued_so_far() as the measured steps began */
    struct clocks clocks;
    struct phases memory; /* of this rank */

    /* On rank 0: */
    char *hosts;    /* hosts_told() */
    char *card_key; /* what tells this card from others */
    struct account *account;
    struct terminal terminal;
};

/* --- opening ---------------------------------------------------------------------------------------------------- */

/* Where nothing is computed: rounds of all steps, for they cost hardly any time; and on every machine equally many, enough
 * for a band where there is jitter. */
static void settle_rounds(struct run *run, enum work_model model)
{
    enum { WITH_JITTER = 20, WITHOUT = 6 };
    run->whole = true;
    if (run->rounds == 0 && !run->quick)
        run->rounds = device_costs(model).jitter > 0 ? WITH_JITTER : WITHOUT;
}

/* all: the first rank writes, where it is; the others need not have such a folder, nor such a disk. */
static void make_folder(const struct lab *lab, const struct run *run)
{
    int error = world_rank(lab->world) == 0 ? run_make_folder(run) : 0;
    world_broadcast(lab->world, &error, sizeof error);
    file_refuse_out(run->out, error);
}

/* all */
static void join_world(struct lab *lab, struct options *base)
{
    lab->world = world_open(patience_to_start(run_of(base)));
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
        settle_rounds(run_of(base), lab->story->subject->model);
    world_allow(lab->world, patience_for_card(run_of(base), lab->story->subject, world_is_simulated()));
    cases_refuse(lab->story, base);
    make_folder(lab, run_of(base));
    lab->run = *run_of(base);
    lab->folder = run_folder(&lab->run, world_platform());
    lab->base = base;
    lab->hosts = hosts_told(lab->world);
}

/* Measured among other hosts it is another card. */
static char *card_key_of(const struct lab *lab)
{
    char *platform =
        lab->hosts ? memory_text("%s, %s", job_platform_key(), lab->hosts) : memory_text("%s", job_platform_key());
    char *key = mode_key(platform, account_label(lab->run.ranks), &lab->run);
    free(platform);
    return key;
}

/* On rank 0: what the numbers below are numbers of. */
static void tell_card(const struct lab *lab)
{
    if (world_is_simulated())
        printf("Simulated, platform %s: %s.\n", world_platform(), world_about());
    if (device_gpus() > 0)
        printf("Trained on %s; %s.\n", account_label(lab->run.ranks), device_about());
    if (lab->hosts)
        printf("Hosts: %s.\n", lab->hosts);
    if (collective_hides_arrivals())
        printf("Waiting and transfer are n/a: %s.\n", collective_hides_arrivals());
    card_show(stdout, &lab->card, lab->story->subject, &lab->run);
    fflush(stdout);
}

/* all: a fresh card from disk, or a new one. */
static void get_card(struct lab *lab)
{
    const struct subject *subject = lab->story->subject;
    double largest = story_largest_message(lab->story, lab->base);
    bool is_first = world_rank(lab->world) == 0;
    bool may_read = is_first && !lab->run.card_only && device_computes();
    lab->card_key = card_key_of(lab);
    enum card_found found = CARD_NONE;
    if (may_read)
        found = card_read(&lab->card, lab->folder, subject, &lab->run, largest, lab->card_key, world_cores(lab->world));
    world_broadcast(lab->world, &found, sizeof found);
    world_broadcast(lab->world, &lab->card, sizeof lab->card);
    if (found != CARD_NONE && !calibrate_agrees(&lab->card, lab->world, subject, &lab->run))
        found = CARD_NONE;
    if (is_first && found != CARD_WHOLE && device_computes())
        fputs("measuring the machine card, a few seconds ...\n", stderr);
    if (found == CARD_NONE)
        calibrate(&lab->card, lab->world, subject, &lab->run, largest);
    else if (found == CARD_SHORT)
        calibrate_links(&lab->card, lab->world, subject, &lab->run, largest);
    if (is_first && found != CARD_WHOLE)
        card_write(&lab->card, lab->folder, subject, &lab->run, lab->card_key);
    if (lab->hosts) {
        struct host *hosts = memory_new((size_t)world_size(lab->world), sizeof *hosts);
        hosts_list(lab->world, hosts);
        card_on_hosts(&lab->card, hosts);
        free(hosts);
    }
    if (device_gpus() > 0)
        card_on_gpus(&lab->card, device_about(), device_gpus());
    if (is_first)
        tell_card(lab);
}

/* all: predictions are frozen here, before the first block; patience rests on them too. `tried`: what failed before that. */
static void begin_account(struct lab *lab, const struct faults *tried)
{
    const bool is_first = world_rank(lab->world) == 0;
    if (is_first)
        lab->account = account_open(&(struct account_of){ .story = lab->story,
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
        lab->expected[i] = account_expects(lab->account, i);
    world_broadcast(lab->world, lab->expected, sizeof lab->expected);
}

struct lab *lab_open(const struct story *story, struct options *base, int argc, char **argv)
{
    struct lab *lab = memory_new(1, sizeof *lab);
    lab->story = story;
    lab->tables[0] = story->rows;
    lab->tables[1] = story->subject->rows;
    lab->tables[2] = run_option_rows;
    signal(SIGXFSZ, SIG_IGN); /* a limit on sizes is then an error that can be told */
    job_arguments(&argc, &argv);
    blind_take_seed(&argc, &argv);
    lab->argc = argc;
    lab->argv = argv;
    cases_choose(&lab->cases, story, lab->tables, base, argc, argv);
    const bool may_do_else = !job_is_rank() && !run_of(base)->blind && !run_of(base)->dry_run;
    if (story->instead && story->instead(base, may_do_else ? stdout : NULL)) {
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
        cases_refuse(story, base);
        supervise(story, base, &lab->cases, lab->tables, argv);
    }
    if (run_of(base)->dry_run)
        die(STATUS_USAGE, "--dry-run starts no ranks, and these have started; leave out mpirun or srun");
    if (!job_platform() && run_simulates(run_of(base)))
        die(STATUS_USAGE, "a simulated machine starts its own ranks; start the lab without mpirun or srun");
    mode_become(run_of(base), story->lab, argv);
    if (!job_is_watched() && strcmp(device_name(), "cpu") == 0)
        kernel_take(argv);
    join_world(lab, base);
    lab->memory.empty = footprint_here().now;
    get_card(lab);
    if (lab->run.card_only) {
        if (world_rank(lab->world) == 0)
            board_end(world_board(lab->world));
        world_close(lab->world);
        exit(STATUS_RIGHT);
    }
    cases_settle(&lab->cases, story, base);
    if (lab->run.quick && lab->run.takes_turns && lab->run.rounds == 0)
        lab->run.rounds = cases_quick_rounds(&lab->cases);
    spans_open(&lab->spans, cases_most_spans(&lab->cases, lab->story));
    const struct faults tried = trial_run(lab->world, story->subject, &lab->run);
    crews_open(&lab->crews, lab->world, &lab->cases, &lab->spans);
    begin_account(lab, &tried);
    lab->terminal = job_terminal();
    lab->memory.prepared = footprint_here().most;
    footprint_restart();
    schedule_begin(&lab->schedule, &lab->run, &lab->cases);
    return lab;
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* all: the block's record comes together, and who was parked wakes up. */
static void finish_block(struct lab *lab)
{
    struct block block;
    if (lab->crew->world &&
        gather_block(&block, lab->crew->world, &lab->spans, &lab->clocks, &lab->verdict, lab->window)) {
        account_take(lab->account, schedule_case(&lab->schedule), lab->schedule.round, lab->window, &block);
        free(block.verdicts);
    }
    if (lab->crew->ranks < lab->run.ranks)
        world_rest(lab->world);
    lab->crew = NULL;
}

/* all: settles which block is next; false when all is done. */
static bool begin_block(struct lab *lab, struct options *options)
{
    int chosen = schedule_next(&lab->schedule, lab->world);
    if (chosen < 0)
        return false;
    int round = lab->schedule.round;
    memcpy(options, lab->cases.settings[chosen], lab->story->options_size);
    lab->crew = crews_find(&lab->crews, run_of(options)->ranks);
    lab->window = run_window(run_of(options), round);
    lab->step = -1;
    lab->verdict = (struct verdict){ .loss = (double)NAN };
    random_seed(&lab->draws, (uint64_t)lab->run.seed + 7919u * (uint64_t)(round + 1));
    device_seed((uint64_t)(lab->run.noise_seed + round) * RANKS_MOST + (uint64_t)world_rank(lab->world));
    spans_restart(&lab->spans, round, chosen);
    const bool has_signs = lab->crew->world && !world_is_simulated();
    world_allow(lab->world, patience_for_block(run_of(options), lab->story->subject, lab->expected[chosen], lab->window,
                                               has_signs, world_is_simulated()));
    if (world_rank(lab->world) == 0)
        schedule_show(&lab->schedule, lab->story->lab, lab->cases.variant[chosen]->name, lab->terminal);
    return true;
}

bool lab_next_block(struct lab *lab, struct options *options)
{
    do {
        if (lab->crew)
            finish_block(lab);
        if (!begin_block(lab, options))
            return false;
    } while (!lab->crew->world);
    return true;
}

/* Sums are checked while warming up; the check's own exchange is not measured. And so is, afterwards, the last one. */
HOT static enum check check_in(const struct lab *lab, int step)
{
    if (!device_computes())
        return CHECK_NOTHING;
    if (step < lab->window.warmup)
        return CHECK_EACH;
    return step == lab->window.warmup + lab->window.measured - 1 ? CHECK_KEPT : CHECK_NOTHING;
}

/* Simulated ranks are one thread together. */
static double queued_so_far(void)
{
    return world_is_simulated() ? (double)NAN : interference_queued();
}

HOT bool lab_next_step(struct lab *lab)
{
    lab->step++;
    lab->spans.step = lab->step;
    if (lab->step == 0) {
        clocks_begin(&lab->clocks, lab->crew->world);
        world_barrier(lab->crew->world); /* set-up of the block ends at different times */
    }
    collective_check(lab->crew->collective, check_in(lab, lab->step));
    if (lab->step == lab->window.warmup)
        lab->queued = queued_so_far();
    if (lab->step < lab->window.warmup + lab->window.measured)
        return true;
    spans_end(&lab->spans, device_moment());
    lab->verdict.queued = queued_so_far() - lab->queued;
    spans_settle(&lab->spans);
    clocks_end(&lab->clocks, lab->crew->world);
    if (device_computes())
        collective_check_last(lab->crew->collective);
    return false;
}

HOT void lab_phase(struct lab *lab, enum span_kind kind)
{
    if (kind == SPAN_DATA || kind == SPAN_HOST)
        device_wait();
    spans_phase(&lab->spans, kind, device_moment());
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
    for (int rank = 0; rank < lab->crew->ranks; rank++) {
        bool hits = random_unit(&lab->draws) < p; /* below 1: never with p = 0, always with 1 */
        is_hit |= hits && rank == world_rank(lab->world);
    }
    return is_hit;
}

void lab_judge(struct lab *lab, double loss, int samples, const float *parameters, size_t count)
{
    lab->verdict.loss = loss;
    lab->verdict.samples = samples;
    lab->verdict.hash = device_computes() ? gather_hash(parameters, count) : 0;
    lab->verdict.wrong = collective_wrong(lab->crew->collective);
    lab->verdict.clock_error = device_clock_error();
}

struct world *lab_world(const struct lab *lab)
{
    return lab->world;
}

struct collective *lab_collective(const struct lab *lab)
{
    return lab->crew->collective;
}

const struct card *lab_card(const struct lab *lab)
{
    return &lab->card;
}

struct csv *lab_table(struct lab *lab, const char *name)
{
    if (world_rank(lab->world) > 0)
        return NULL;
    return account_table(lab->account, name);
}

/* --- closing ---------------------------------------------------------------------------------------------------- */

static void release(struct lab *lab)
{
    account_close(lab->account);
    cases_close(&lab->cases);
    free(lab->folder);
    free(lab->hosts);
    free(lab->card_key);
    spans_close(&lab->spans);
    crews_close(&lab->crews);
    device_close();
    world_close(lab->world);
    free(lab);
}

/* all */
static void account_for_memory(struct lab *lab)
{
    if (world_is_simulated())
        return; /* one process is all ranks */
    struct phases most = { 0 }, *all = memory_new((size_t)world_size(lab->world), sizeof *all);
    lab->memory.trained = footprint_here().most;
    world_gather(lab->world, &lab->memory, sizeof lab->memory, all);
    for (int rank = 0; rank < world_size(lab->world); rank++) {
        most.empty = fmax(most.empty, all[rank].empty);
        most.prepared = fmax(most.prepared, all[rank].prepared);
        most.trained = fmax(most.trained, all[rank].trained);
    }
    if (world_rank(lab->world) == 0)
        account_memory(lab->account, most);
    free(all);
}

int lab_close(struct lab *lab)
{
    bool is_first = world_rank(lab->world) == 0;
    account_for_memory(lab);
    size_t bytes = 0; /* of the spans, the largest table */
    if (is_first)
        bytes = account_bytes(lab->account);
    world_broadcast(lab->world, &bytes, sizeof bytes);
    world_allow(lab->world, patience_to_write(&lab->run, bytes));
    int wrong = is_first ? account_tell(lab->account, lab->schedule.began) : 0;
    if (is_first)
        board_end(world_board(lab->world)); /* the results are in place, whoever dies now, … */
    world_broadcast(lab->world, &wrong, sizeof wrong);
    board_end(world_board(lab->world)); /* … which other hosts know now too */
    release(lab);
    return wrong ? STATUS_WRONG : STATUS_RIGHT;
}
