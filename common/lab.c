#include "lab.h"

#include "algorithm.h"
#include "blind.h"
#include "board.h"
#include "calibrate.h"
#include "cases.h"
#include "clocks.h"
#include "collective.h"
#include "cores.h"
#include "crews.h"
#include "device.h"
#include "gather.h"
#include "guess.h"
#include "hosts.h"
#include "job.h"
#include "lanes.h"
#include "memory.h"
#include "mode.h"
#include "patience.h"
#include "random.h"
#include "report.h"
#include "schedule.h"
#include "supervise.h"
#include "table.h"
#include "trace.h"
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OWN_TABLES_MOST = 4 };

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
    struct clocks clocks;

    /* On rank 0: */
    char *hosts;        /* hosts_told() */
    double clock_error; /* the largest of a block */
    struct terminal terminal;
    struct report report;
    struct file_set files; /* of the report */
    struct csv spans_so_far;
    struct csv own_tables[OWN_TABLES_MOST]; /* of the lab alone */
    int own_table_count;
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
    run_refuse_folder(run, error);
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
    world_allow(lab->world, patience_for_card(run_of(base), lab->story->subject));
    cases_refuse(lab->story, base);
    make_folder(lab, run_of(base));
    lab->run = *run_of(base);
    lab->folder = run_folder(&lab->run, world_platform());
    lab->base = base;
    lab->hosts = hosts_told(lab->world);
}

/* What a simulated machine's file says of it. */
static const char *about_platform(void)
{
    const char *about = world_property("about");
    return about ? about : "its file does not say what it is";
}

static const char *label_of(int ranks)
{
    return mode_label(collective_backend(), device_name(), ranks, device_gpus());
}

/* What tells this card from others: measured among other hosts it is another one. */
static char *card_key_of(const struct lab *lab)
{
    char *platform =
        lab->hosts ? memory_text("%s, %s", job_platform_key(), lab->hosts) : memory_text("%s", job_platform_key());
    char *key = mode_key(platform, label_of(lab->run.ranks), &lab->run);
    free(platform);
    return key;
}

/* On rank 0: what the numbers below are numbers of. */
static void tell_card(const struct lab *lab)
{
    if (world_is_simulated())
        printf("Simulated, platform %s: %s.\n", world_platform(), about_platform());
    if (device_gpus() > 0)
        printf("Trained on %s; %s.\n", label_of(lab->run.ranks), device_about());
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
    char *key = card_key_of(lab);
    enum card_found found = CARD_NONE;
    if (may_read)
        found = card_read(&lab->card, lab->folder, subject, &lab->run, largest, key, world_cores(lab->world));
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
        card_write(&lab->card, lab->folder, subject, &lab->run, key);
    free(key);
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

/* The card in the words of card_show(), so that a table tells by itself what it was predicted from. */
static void put_card(FILE *out, const struct lab *lab)
{
    char *text = NULL;
    size_t size = 0;
    FILE *card = open_memstream(&text, &size);
    card_show(card, &lab->card, lab->story->subject, &lab->run);
    fclose(card);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        fprintf(out, "# card: %s\n", line);
    free(text);
}

static char *preamble_of(const struct lab *lab)
{
    char *echo = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&echo, &size);
    fprintf(out, "# lockstep: %s\n# lab: %s\n# command: ", LOCKSTEP_VERSION, lab->story->lab);
    fprintf(out, lab->run.blind ? "%s" : "%s ", lab->story->lab);
    if (lab->run.blind)
        blind_echo(out, lab->argv);
    else
        options_echo(out, lab->tables, lab->base);
    char when[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(when, sizeof when, "%Y-%m-%d %H:%M", localtime_r(&now, &local));
    fprintf(out, "\n# when: %s", when);
    if (world_is_simulated())
        fprintf(out, "\n# simulated: platform %s, %s", world_platform(), about_platform());
    if (device_gpus() > 0) {
        char cpu[CARD_NAME];
        cores_name(cpu, CARD_NAME);
        fprintf(out, "\n# machine: %s, %d cores\n# GPUs: %d, which is `cores` in the tables\n# device: %s\n", cpu,
                cores_here(), device_gpus(), device_about());
    } else {
        fprintf(out, "\n# machine: %s\n# cores: %d\n", lab->card.cpu, lab->card.cores);
    }
    if (lab->hosts)
        fprintf(out, "# hosts: %s\n", lab->hosts);
    fprintf(out, "# ranks: %d\n# backend: %s (%s)\n", lab->run.ranks, collective_backend(), collective_library());
    if (collective_hides_arrivals())
        fprintf(out, "# wait and transfer: n/a, %s\n", collective_hides_arrivals());
    fprintf(out, "# kernel: %s\n# algorithm: %s all-reduce\n# seed: %d\n", device_kernel(), collective_algorithm(),
            lab->run.seed);
    fprintf(out, "# oversubscribed: %d\n", card_is_crowded(&lab->card, lab->run.ranks));
    if (!lab->run.blind)
        fprintf(out, "# asked: %s\n", lab->story->asked);
    put_card(out, lab);
    fclose(out);
    return echo;
}

/* On rank 0: predictions are frozen here, before the first block. `tried`: what failed before that. */
static void open_report(struct lab *lab, const struct faults *tried)
{
    struct report *r = &lab->report;
    const struct prediction untold = { .data = NAN, .local = NAN, .host = NAN, .wait = NAN, .transfer = NAN };
    *r = (struct report){ .lab = lab->story->lab,
                          .folder = lab->run.blind ? blind_folder(lab->folder, lab->story->lab)
                                                   : memory_text("%s/%s", lab->folder, lab->story->lab),
                          .files = &lab->files,
                          .preamble = preamble_of(lab),
                          .backend = collective_backend(),
                          .platform = world_platform(),
                          .trains_on = card_trains_on(),
                          .ranks = lab->run.ranks,
                          .cores = lab->card.cores,
                          .stamp_cost = lab->card.stamp_cost,
                          .is_oversubscribed = card_is_crowded(&lab->card, lab->run.ranks),
                          .is_simulated = world_is_simulated(),
                          .is_modelled = !device_computes(),
                          .has_intervals = !lab->run.quick && run_least_rounds(&lab->run) > 2,
                          .outcomes = memory_new((size_t)lab->cases.count, sizeof *r->outcomes),
                          .cases = lab->cases.count };
    for (int i = 0; i < lab->cases.count; i++) {
        struct outcome *o = &r->outcomes[i];
        bool is_hidden = lab->cases.variant[i] == &lab->cases.hidden;
        *o = (struct outcome){ .name = lab->cases.variant[i]->name,
                               .idea = lab->cases.variant[i]->idea,
                               .device = label_of(run_of(lab->cases.settings[i])->ranks == 1 ? 1 : lab->run.ranks),
                               .run = *run_of(lab->cases.settings[i]),
                               .shares_cores = card_is_crowded(&lab->card, run_of(lab->cases.settings[i])->ranks),
                               .prediction =
                                   is_hidden ? untold : lab->story->predict(lab->cases.settings[i], &lab->card),
                               .tokens = lab->story->tokens ? lab->story->tokens(lab->cases.settings[i]) : NULL,
                               .per = lab->story->per ? lab->story->per(lab->cases.settings[i]) : NULL,
                               .guess = guess_of(&lab->run.guesses, lab->cases.variant[i]->name) };
        tally_open(&o->tally, &o->run);
        o->tally.wrong = *tried; /* of a model that fails alone no case can be right */
    }
    lab->terminal = job_terminal();
    lab->spans_so_far = report_begin_table(r, "spans.csv");
    if (r->is_oversubscribed && !r->is_simulated)
        warn("%d ranks on %d %s%s: they share time, so this shows oversubscription more than the lab's lesson; "
             "every row is marked",
             r->ranks, r->cores, r->trains_on, r->cores == 1 ? "" : "s");
}

/* all: what patience rests on, also with a case whose prediction is not told. */
static void expect(struct lab *lab)
{
    for (int i = 0; i < lab->cases.count && world_rank(lab->world) == 0; i++) {
        struct prediction prediction = lab->report.outcomes[i].prediction;
        if (lab->cases.variant[i] == &lab->cases.hidden)
            prediction = lab->story->predict(lab->cases.settings[i], &lab->card);
        lab->expected[i] = prediction_step(&prediction);
    }
    world_broadcast(lab->world, lab->expected, sizeof lab->expected);
}

struct lab *lab_open(const struct story *story, struct options *base, int argc, char **argv)
{
    struct lab *lab = memory_new(1, sizeof *lab);
    lab->story = story;
    lab->tables[0] = story->rows;
    lab->tables[1] = story->subject->rows;
    lab->tables[2] = run_option_rows;
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
    join_world(lab, base);
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
    if (world_rank(lab->world) == 0)
        open_report(lab, &tried);
    expect(lab);
    schedule_begin(&lab->schedule, &lab->run, &lab->cases);
    return lab;
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* On rank 0. */
static void take_block(struct lab *lab, struct block *block)
{
    struct outcome *o = &lab->report.outcomes[schedule_case(&lab->schedule)];
    lab->clock_error = fmax(lab->clock_error, block->timeline.clock_error);
    if (device_computes()) {
        struct faults wrong = gather_wrong(block, o->tokens ? 0 : run_global_batch(&o->run));
        faults_join(&o->tally.wrong, &wrong, "round %d, ", lab->schedule.round + 1);
        tally_repeat(&o->tally, lab->window.warmup + lab->window.measured, block->verdicts[0].hash);
    }
    tally_add(&o->tally, &block->timeline);
    report_add_spans(&lab->spans_so_far, &block->timeline, o->name);
    if (lab->schedule.round > 0) {
        free((void *)block->timeline.spans);
        return;
    }
    o->picture = block->timeline;
    for (int rank = 0; rank < o->run.ranks; rank++) {
        o->tally.loss[rank] = block->verdicts[rank].loss;
        o->tally.samples[rank] = block->verdicts[rank].samples;
    }
}

/* all: the block's record comes together, and who was parked wakes up. */
static void finish_block(struct lab *lab)
{
    struct block block;
    if (lab->crew->world &&
        gather_block(&block, lab->crew->world, &lab->spans, &lab->clocks, &lab->verdict, lab->window)) {
        take_block(lab, &block);
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
    world_allow(lab->world,
                patience_for_block(run_of(options), lab->expected[chosen], lab->window, world_is_simulated()));
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

bool lab_next_step(struct lab *lab)
{
    lab->step++;
    lab->spans.step = lab->step;
    if (lab->step == 0) {
        clocks_begin(&lab->clocks, lab->crew->world);
        world_barrier(lab->crew->world); /* set-up of the block ends at different times */
    }
    /* Sums are checked while warming up; the check's own exchange is not measured. */
    collective_check(lab->crew->collective, lab->step < lab->window.warmup && device_computes());
    if (lab->step < lab->window.warmup + lab->window.measured)
        return true;
    spans_end(&lab->spans, device_moment());
    spans_settle(&lab->spans);
    clocks_end(&lab->clocks, lab->crew->world);
    if (device_computes())
        collective_check_last(lab->crew->collective);
    return false;
}

void lab_phase(struct lab *lab, enum span_kind kind)
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
    if (lab->own_table_count == OWN_TABLES_MOST)
        die(STATUS_WRONG, "%s is one table too many; %d are the most a lab adds", name, OWN_TABLES_MOST);
    struct csv *table = &lab->own_tables[lab->own_table_count++];
    *table = report_begin_table(&lab->report, name);
    return table;
}

/* --- closing ---------------------------------------------------------------------------------------------------- */

/* The sentences for people; of a riddle only the lanes, the supervisor has the word after that. */
static void show(const struct lab *lab, int traced)
{
    const struct report *r = &lab->report;
    const char *const riddle[] = { r->outcomes[0].name, BLIND_NAME, NULL };
    lanes_draw(stdout, r, lab->run.blind ? riddle : lab->story->pictured, lab->terminal);
    if (lab->run.blind)
        return;
    table_show(stdout, r, lab->terminal.columns);
    table_explain(stdout, r, lab->story->asked);
    printf("\nRounds: %d in %.0f s. Tables, spans and trace: %s\n", r->outcomes[0].tally.rounds,
           world_wall() - lab->schedule.began, r->folder);
    if (lab->clock_error > 0) {
        char *told = clocks_told(lab->clock_error);
        printf("Clocks %s.\n", told);
        free(told);
    }
    if (traced > 0)
        printf("The trace holds a window of each long case, %d steps or more; it names them.\n", traced);
}

static void put_card_copy(const struct lab *lab)
{
    char *key = card_key_of(lab);
    FILE *out = file_set_begin(lab->report.files, lab->report.folder, CARD_COPY);
    card_put(&lab->card, out, lab->story->subject, &lab->run, key);
    free(key);
}

/* Known only now, and told in every table of the run but those that the lab began by itself. */
static void add_clocks(struct report *report, double error)
{
    char *told = clocks_told(error);
    char *longer = memory_text("%s# clocks: %s\n", report->preamble, told);
    free((void *)report->preamble);
    free(told);
    report->preamble = longer;
}

/* On rank 0. Returns the failed checks of all cases. */
static int tell(struct lab *lab)
{
    struct report *r = &lab->report;
    int wrong = 0;
    const struct outcome *first = NULL; /* that failed */
    for (int i = 0; i < r->cases; i++) {
        struct outcome *o = &r->outcomes[i];
        o->summary = tally_summarise(&o->tally, &r->outcomes[0].tally);
        wrong += o->tally.wrong.count;
        first = first || !o->tally.wrong.count ? first : o;
    }
    if (lab->terminal.is_live)
        fputs("\r\033[K", stderr);
    if (lab->clock_error > 0)
        add_clocks(r, lab->clock_error);
    report_write_tables(r);
    lanes_write(r);
    int traced = trace_write(r);
    put_card_copy(lab);
    guess_keep(r, lab->run.out);
    file_set_commit(&lab->files);
    show(lab, traced);
    if (first)
        warn("%d failed checks, see the column `wrong` of %s/summary.csv; the first: %s, %s", wrong, r->folder,
             first->name, first->tally.wrong.first);
    fflush(stdout);
    return wrong;
}

static void release(struct lab *lab)
{
    for (int i = 0; i < lab->report.cases; i++) {
        tally_close(&lab->report.outcomes[i].tally);
        token_count_close(lab->report.outcomes[i].tokens);
        free((void *)lab->report.outcomes[i].picture.spans);
    }
    cases_close(&lab->cases);
    free(lab->report.outcomes);
    free((void *)lab->report.folder);
    free((void *)lab->report.preamble);
    free(lab->folder);
    free(lab->hosts);
    spans_close(&lab->spans);
    crews_close(&lab->crews);
    device_close();
    world_close(lab->world);
    free(lab);
}

int lab_close(struct lab *lab)
{
    bool is_first = world_rank(lab->world) == 0;
    size_t bytes = 0; /* of the spans, the largest table */
    if (is_first)
        bytes = (size_t)ftell(lab->spans_so_far.out);
    world_broadcast(lab->world, &bytes, sizeof bytes);
    world_allow(lab->world, patience_to_write(&lab->run, bytes));
    int wrong = is_first ? tell(lab) : 0;
    if (is_first)
        board_end(world_board(lab->world));
    world_broadcast(lab->world, &wrong, sizeof wrong);
    release(lab);
    return wrong ? STATUS_WRONG : STATUS_RIGHT;
}
