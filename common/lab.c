#include "lab.h"

#include "calibrate.h"
#include "collective.h"
#include "device.h"
#include "die.h"
#include "guess.h"
#include "lanes.h"
#include "launch.h"
#include "memory.h"
#include "mlp.h"
#include "random.h"
#include "report.h"
#include "schedule.h"
#include "supervise.h"
#include "table.h"
#include "trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPANS_PER_STEP = 64 };

/* What each rank says after a block. */
struct verdict {
    double loss;
    uint64_t hash; /* of the parameters */
    int samples, wrong, spans;
};

struct lab {
    const struct story *story;
    const struct option_row *tables[3];
    int argc;
    char *const *argv;
    struct run run;          /* the base settings, once the world is known */
    struct options *base;
    struct world *world;
    struct collective *collective;
    struct spans spans;
    struct card card;

    int cases;
    const struct variant *variant[CASES_MOST]; /* (cases) */
    struct options *settings[CASES_MOST];      /* (cases) base and the variant's change */

    struct schedule schedule;
    bool is_running; /* a block is open */
    struct window window;
    int step;
    struct random draws;
    struct verdict verdict;

    /* On rank 0: */
    struct terminal terminal;
    struct report report;
    struct span_table span_table;
};

static struct run *run_of(struct options *options)
{
    return (struct run *)options; /* every lab's options begin with one */
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

static bool is_chosen(const struct run *run, const struct variant *variants, const struct variant *v)
{
    bool is_named = v == variants || run->cases.count == 0;
    for (int i = 0; i < run->cases.count; i++)
        is_named |= strcmp(run->cases.text[i], v->name) == 0;
    return is_named;
}

static void refuse_unknown_cases(const struct run *run, const struct variant *variants)
{
    for (int i = 0; i < run->cases.count; i++) {
        const struct variant *v = variants;
        while (v->name && strcmp(v->name, run->cases.text[i]) != 0)
            v++;
        if (!v->name)
            die(STATUS_USAGE, "--cases names no case of this lab: '%.60s'; --help lists the cases", run->cases.text[i]);
    }
}

/* Settles what can be settled before anything starts: bad usage ends here. */
static void settle(struct lab *lab, struct options *base)
{
    const struct story *story = lab->story;
    char *help = memory_text("%s", story->question);
    for (const struct variant *v = story->variants; v->name; v++) {
        char *longer = memory_text("%s%s\n  %-20s %s", help, v == story->variants ? "\n\ncases:" : "", v->name, v->idea);
        free(help);
        help = longer;
    }
    options_parse(lab->tables, base, help, lab->argc, (char **)lab->argv);
    free(help);
    refuse_unknown_cases(run_of(base), story->variants);
    const char *names[CASES_MOST + 1] = { NULL };
    for (const struct variant *v = story->variants; v->name; v++)
        if (is_chosen(run_of(base), story->variants, v)) {
            names[lab->cases] = v->name;
            lab->variant[lab->cases++] = v;
        }
    guess_refuse(&run_of(base)->guesses, names);
}

static bool names_option(int argc, char *const *argv, const char *flag)
{
    size_t length = strlen(flag);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], flag, length) == 0 && (argv[i][length] == '\0' || argv[i][length] == '='))
            return true;
    return false;
}

static void refuse(const struct lab *lab, struct options *base)
{
    if (lab->story->refuse)
        lab->story->refuse(base);
    run_refuse(run_of(base));
}

/* all */
static void join_world(struct lab *lab, struct options *base)
{
    lab->world = world_open();
    int size = world_size(lab->world);
    if (size != run_of(base)->ranks && names_option(lab->argc, lab->argv, "--ranks")) {
        int asked = run_of(base)->ranks;
        world_close(lab->world);
        die(STATUS_USAGE, "--ranks %d, but the launcher started %d; leave out --ranks or start as many", asked, size);
    }
    run_of(base)->ranks = size;
    refuse(lab, base);
    lab->run = *run_of(base);
    lab->base = base;
    device_open();
}

/* all: a fresh card from disk, or a new one. */
static void get_card(struct lab *lab)
{
    bool is_first = world_rank(lab->world) == 0;
    int is_known = is_first && !lab->run.card_only && card_read(&lab->card, &lab->run, world_cores(lab->world));
    world_broadcast(lab->world, &is_known, sizeof is_known);
    if (is_known) {
        world_broadcast(lab->world, &lab->card, sizeof lab->card);
    } else {
        calibrate(&lab->card, lab->world, &lab->run);
        if (is_first)
            card_write(&lab->card, &lab->run);
    }
    if (is_first) {
        card_show(stdout, &lab->card, &lab->run, mlp_gradient_bytes(&lab->run));
        fflush(stdout);
    }
}

static char *preamble_of(const struct lab *lab)
{
    char *echo = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&echo, &size);
    fprintf(out, "# lockstep: %s\n# lab: %s\n# command: ", LOCKSTEP_VERSION, lab->story->lab);
    fprintf(out, "%s ", lab->story->lab);
    options_echo(out, lab->tables, lab->base);
    fprintf(out, "\n# machine: %s\n# ranks: %d\n# cores: %d\n# backend: mpi (%s)\n", lab->card.cpu, lab->run.ranks,
            lab->card.cores, world_engine());
    fprintf(out, "# kernel: %s, one thread per rank\n# algorithm: %s all-reduce\n# seed: %d\n", device_kernel(),
            collective_algorithm(), lab->run.seed);
    fprintf(out, "# oversubscribed: %d\n", lab->run.ranks > lab->card.cores);
    fclose(out);
    return echo;
}

/* On rank 0: predictions are frozen here, before the first block. */
static void open_report(struct lab *lab)
{
    struct report *r = &lab->report;
    *r = (struct report){ .lab = lab->story->lab,
                          .folder = memory_text("%s/%s", lab->run.out, lab->story->lab),
                          .preamble = preamble_of(lab),
                          .backend = "mpi",
                          .ranks = lab->run.ranks,
                          .cores = lab->card.cores,
                          .is_oversubscribed = lab->run.ranks > lab->card.cores,
                          .has_intervals = !lab->run.quick && run_least_rounds(&lab->run) > 2,
                          .outcomes = memory_new((size_t)lab->cases, sizeof *r->outcomes),
                          .cases = lab->cases };
    for (int i = 0; i < lab->cases; i++) {
        struct outcome *o = &r->outcomes[i];
        *o = (struct outcome){ .name = lab->variant[i]->name,
                               .idea = lab->variant[i]->idea,
                               .run = *run_of(lab->settings[i]),
                               .prediction = lab->story->predict(lab->settings[i], &lab->card),
                               .guess = guess_of(&lab->run.guesses, lab->variant[i]->name) };
        tally_open(&o->tally, lab->run.ranks);
    }
    lab->terminal = launch_terminal();
    lab->span_table = report_begin_spans(r);
    if (r->is_oversubscribed)
        warn("%d ranks on %d cores: they share time, so this shows oversubscription more than the lab's lesson; "
             "every row is marked", r->ranks, r->cores);
}

struct lab *lab_open(const struct story *story, struct options *base, int argc, char **argv)
{
    struct lab *lab = memory_new(1, sizeof *lab);
    lab->story = story;
    lab->tables[0] = story->rows;
    lab->tables[1] = run_option_rows;
    lab->argc = argc;
    lab->argv = argv;
    settle(lab, base);
    if (!launch_is_rank()) {
        refuse(lab, base);
        supervise(story, base, argv);
    }
    join_world(lab, base);
    get_card(lab);
    if (lab->run.card_only) {
        world_close(lab->world);
        exit(STATUS_RIGHT);
    }
    int most_steps = 0;
    for (int i = 0; i < lab->cases; i++) {
        lab->settings[i] = memory_new(1, story->options_size);
        memcpy(lab->settings[i], base, story->options_size);
        if (lab->variant[i]->pathology)
            lab->variant[i]->pathology(lab->settings[i]);
        if (lab->variant[i]->fix)
            lab->variant[i]->fix(lab->settings[i]);
        struct window window = run_window(run_of(lab->settings[i]), 0);
        struct window later = run_window(run_of(lab->settings[i]), 1);
        int steps = window.warmup + window.measured, later_steps = later.warmup + later.measured;
        most_steps = steps > most_steps ? steps : most_steps;
        most_steps = later_steps > most_steps ? later_steps : most_steps;
    }
    spans_open(&lab->spans, SPANS_PER_STEP * most_steps);
    lab->collective = collective_open(lab->world, &lab->spans);
    if (world_rank(lab->world) == 0)
        open_report(lab);
    schedule_begin(&lab->schedule, &lab->run, lab->cases);
    return lab;
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* On rank 0: the spans of the finished block. */
static void take_block(struct lab *lab, const struct verdict *verdicts, struct span *spans, int most)
{
    int chosen = schedule_case(&lab->schedule);
    struct outcome *o = &lab->report.outcomes[chosen];
    struct timeline timeline = { .ranks = lab->run.ranks,
                                 .first_step = lab->window.warmup,
                                 .steps = lab->window.measured,
                                 .count = most,
                                 .spans = spans,
                                 .clock_error = 0 };
    bool is_first_round = lab->schedule.round == 0;
    for (int rank = 0; rank < lab->run.ranks; rank++) {
        const struct verdict *v = &verdicts[rank];
        o->tally.wrong += v->wrong + !isfinite(v->loss) + (v->hash != verdicts[0].hash);
        if (is_first_round) {
            o->tally.loss[rank] = v->loss;
            o->tally.samples[rank] = v->samples;
        }
    }
    tally_add(&o->tally, &timeline);
    report_add_spans(&lab->span_table, &timeline, o->name);
    if (is_first_round)
        o->picture = timeline;
    else
        free(spans);
}

/* all */
static void finish_block(struct lab *lab)
{
    int ranks = lab->run.ranks;
    bool is_first = world_rank(lab->world) == 0;
    lab->verdict.spans = lab->spans.count;
    struct verdict *verdicts = memory_new((size_t)ranks, sizeof *verdicts);
    world_gather(lab->world, &lab->verdict, sizeof lab->verdict, verdicts);
    int most = 0;
    for (int rank = 0; is_first && rank < ranks; rank++)
        most = verdicts[rank].spans > most ? verdicts[rank].spans : most;
    world_broadcast(lab->world, &most, sizeof most);
    for (int i = lab->spans.count; i < most; i++)
        lab->spans.at[i] = (struct span){ .step = -1 }; /* ranks may record different numbers of phases */
    struct span *spans = is_first ? memory_new((size_t)most * (size_t)ranks, sizeof *spans) : NULL;
    world_gather(lab->world, lab->spans.at, (size_t)most * sizeof *spans, spans);
    if (is_first)
        take_block(lab, verdicts, spans, most);
    free(verdicts);
    lab->is_running = false;
}

bool lab_next_block(struct lab *lab, struct options *options)
{
    if (lab->is_running)
        finish_block(lab);
    int chosen = schedule_next(&lab->schedule, lab->world);
    if (chosen < 0)
        return false;
    int round = lab->schedule.round;
    memcpy(options, lab->settings[chosen], lab->story->options_size);
    lab->window = run_window(run_of(options), round);
    lab->step = -1;
    lab->verdict = (struct verdict){ .loss = (double)NAN };
    lab->is_running = true;
    random_seed(&lab->draws, (uint64_t)lab->run.seed + 7919u * (uint64_t)(round + 1));
    spans_restart(&lab->spans, round, chosen);
    if (world_rank(lab->world) == 0)
        schedule_show(&lab->schedule, lab->story->lab, lab->variant[chosen]->name, lab->terminal);
    return true;
}

bool lab_next_step(struct lab *lab)
{
    lab->step++;
    lab->spans.step = lab->step;
    if (lab->step == 0)
        world_barrier(lab->world); /* set-up of the block ends at different times */
    /* Sums are checked while warming up; the check's own exchange is not measured. */
    collective_check(lab->collective, lab->step < lab->window.warmup);
    if (lab->step < lab->window.warmup + lab->window.measured)
        return true;
    spans_end(&lab->spans, world_now());
    return false;
}

void lab_phase(struct lab *lab, enum span_kind kind)
{
    spans_phase(&lab->spans, kind, world_now());
}

int lab_step(const struct lab *lab)
{
    return lab->step;
}

int lab_draw(struct lab *lab, int n)
{
    return (int)random_below(&lab->draws, (uint32_t)n);
}

/* FNV-1a over 32-bit words: equal for equal bits, and cheap. */
static uint64_t hash_of(const float *values, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
    }
    return hash;
}

void lab_judge(struct lab *lab, double loss, int samples, const float *parameters, size_t count)
{
    lab->verdict.loss = loss;
    lab->verdict.samples = samples;
    lab->verdict.hash = hash_of(parameters, count);
    lab->verdict.wrong = collective_wrong(lab->collective);
}

struct world *lab_world(const struct lab *lab)
{
    return lab->world;
}

struct collective *lab_collective(const struct lab *lab)
{
    return lab->collective;
}

const struct card *lab_card(const struct lab *lab)
{
    return &lab->card;
}

/* --- closing ---------------------------------------------------------------------------------------------------- */

/* On rank 0. Returns the failed checks of all cases. */
static int tell(struct lab *lab)
{
    struct report *r = &lab->report;
    int wrong = 0;
    for (int i = 0; i < r->cases; i++) {
        r->outcomes[i].summary = tally_summarise(&r->outcomes[i].tally, &r->outcomes[0].tally);
        wrong += r->outcomes[i].tally.wrong;
    }
    if (lab->terminal.is_live)
        fputs("\r\033[K", stderr);
    file_commit(&lab->span_table.file);
    report_write_tables(r);
    lanes_write(r);
    trace_write(r);
    guess_keep(r, lab->run.out);
    lanes_draw(stdout, r, lab->story->pictured, lab->terminal);
    table_show(stdout, r);
    table_explain(stdout, r, lab->story->asked);
    printf("\nRounds: %d in %.0f s. Tables, spans and trace: %s\n", r->outcomes[0].tally.rounds, world_now() - lab->schedule.began,
           r->folder);
    if (wrong)
        warn("%d failed checks; see the column `wrong` of %s/summary.csv", wrong, r->folder);
    fflush(stdout);
    return wrong;
}

static void release(struct lab *lab)
{
    for (int i = 0; i < lab->cases; i++) {
        free(lab->settings[i]);
        if (lab->report.outcomes) {
            tally_close(&lab->report.outcomes[i].tally);
            free((void *)lab->report.outcomes[i].picture.spans);
        }
    }
    free(lab->report.outcomes);
    free((void *)lab->report.folder);
    free((void *)lab->report.preamble);
    spans_close(&lab->spans);
    collective_close(lab->collective);
    world_close(lab->world);
    free(lab);
}

int lab_close(struct lab *lab)
{
    int wrong = world_rank(lab->world) == 0 ? tell(lab) : 0;
    world_broadcast(lab->world, &wrong, sizeof wrong);
    release(lab);
    return wrong ? STATUS_WRONG : STATUS_RIGHT;
}
