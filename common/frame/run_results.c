#include "frame/run_results.h"

#include "analysis/block_results.h"
#include "base/cores.h"
#include "base/die.h"
#include "base/interference.h"
#include "base/memory.h"
#include "card/card_file.h"
#include "collective/collective.h"
#include "device/device.h"
#include "frame/blind.h"
#include "frame/placement.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "report/guess.h"
#include "report/lanes.h"
#include "report/memory_table.h"
#include "report/operations_trace.h"
#include "report/picture.h"
#include "report/rounds_table.h"
#include "report/run_report.h"
#include "report/terminal_tables.h"
#include "report/trace.h"
#include "report/verdict_table.h"
#include "world/clocks.h"
#include "world/world.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OWN_TABLES_MOST = 12 };

static const double CLOCKS_SAID_S = 1e-6; /* clocks that agree better are not mentioned */

struct run_results {
    struct run_results_inputs of;
    struct terminal terminal;
    struct report report;
    struct file_set files; /* files of the report */
    struct csv spans_so_far;
    struct csv own_tables[OWN_TABLES_MOST]; /* tables that only this lab has */
    int own_table_count;
    double clock_error; /* largest of any block */
    struct rss_peaks memory;
    struct drift_points drift;
    struct steal_reading stolen; /* before the first block */
    double stolen_share;         /* since then */
};

const char *run_results_label(int ranks)
{
    return placement_label(collective_backend(), device_name(), ranks, device_gpus());
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

/* Set the suspects of each case. All other changes are made in addition to the first one, if a case has it. */
static void set_suspects(struct report *r, const struct lab_change *changes, const struct cases *cases)
{
    int kinds = 0;
    while (changes[kinds].suspect)
        kinds++;
    r->suspects = memory_new((size_t)kinds * (size_t)cases->named, sizeof *r->suspects);
    for (int of = 0; of < cases->named; of++) {
        const int first = cases_changed(cases, of, &changes[0]);
        for (int kind = 0; kind < kinds; kind++)
            r->suspects[r->suspect_count++] = (struct suspect){ .name = changes[kind].suspect,
                                                                .factor = changes[kind].factor,
                                                                .of = of,
                                                                .before = kind == 0 || first < 0 ? of : first,
                                                                .after = cases_changed(cases, of, &changes[kind]) };
    }
}

/* Write the card as card_show() prints it, so that each table holds what its predictions are made from. */
static void put_card(FILE *out, const struct run_results *a)
{
    char *text = NULL;
    size_t size = 0;
    FILE *card = memory_stream(&text, &size);
    card_show(card, a->of.card, workload_of(a->of.base), a->of.run);
    fclose(card);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        fprintf(out, "# card: %s\n", line);
    free(text);
}

/* Write a header line with the options, except those of `without`. A quiz has the words that were typed. */
static void put_options(FILE *out, const struct run_results *a, const char *key, const char *const *without)
{
    fprintf(out, "# %s: %s", key, a->of.spec->lab);
    if (a->of.run->blind) {
        blind_echo(out, a->of.argv);
    } else {
        fputc(' ', out);
        options_echo(out, a->of.tables, a->of.base, without);
    }
    fputc('\n', out);
}

static char *preamble_of(const struct run_results *a)
{
    char *echo = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&echo, &size);
    fprintf(out, "# lockstep: %s\n# lab: %s\n", TABLES_VERSION, a->of.spec->lab);
    put_options(out, a, "command", NULL);
    put_options(out, a, "settings", run_launch_flags);
    char when[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(when, sizeof when, "%Y-%m-%d %H:%M", localtime_r(&now, &local));
    fprintf(out, "# when: %s", when);
    if (world_is_simulated())
        fprintf(out, "\n# simulated: platform %s, %s", world_platform(), world_about());
    if (device_gpus() > 0) {
        char cpu[CARD_NAME];
        cores_name(cpu, CARD_NAME);
        fprintf(out, "\n# machine: %s, %d cores\n# GPUs: %d, which is `cores` in the tables\n# device: %s\n", cpu,
                cores_here(), device_gpus(), device_about());
    } else {
        fprintf(out, "\n# machine: %s\n# cores: %d\n", a->of.card->cpu, a->of.card->cores);
    }
    if (a->of.hosts)
        fprintf(out, "# hosts: %s\n", a->of.hosts);
    fprintf(out, "# ranks: %d\n# backend: %s (%s)\n", a->of.run->ranks, collective_backend(), collective_library());
    if (collective_hides_arrivals())
        fprintf(out, "# wait and transfer: n/a, %s\n", collective_hides_arrivals());
    fprintf(out, "# kernel: %s\n# algorithm: %s all-reduce\n# seed: %" PRIu64 "\n", device_kernel(),
            collective_algorithm(), a->of.run->seed);
    fprintf(out, "# oversubscribed: %d\n", card_is_oversubscribed(a->of.card, a->of.run->ranks));
    if (!a->of.run->blind)
        fprintf(out, "# asked: %s\n", a->of.spec->asked);
    put_card(out, a);
    fclose(out);
    return echo;
}

/* Predict the memory of a rank in a case. A machine that computes nothing opens no data, and nothing that measures. */
static struct memory_estimate foresee_memory(const struct run_results *a, int chosen)
{
    struct memory_estimate memory = a->of.memory;
    if (a->of.spec->case_need && a->of.cases->variant[chosen] != &a->of.cases->hidden)
        memory = memory_estimate_add(memory, a->of.spec->case_need(a->of.cases->settings[chosen]));
    if (!device_computes())
        memory.of[MEMORY_DATA] = memory.of[MEMORY_MEASURING] = (double)NAN;
    return memory;
}

struct run_results *run_results_open(const struct run_results_inputs *of)
{
    struct run_results *a = memory_new(1, sizeof *a);
    a->of = *of;
    a->stolen = interference_read_steal("", world_wall());
    struct report *r = &a->report;
    const struct prediction unknown = PREDICTION_UNKNOWN;
    *r = (struct report){ .lab = a->of.spec->lab,
                          .folder = a->of.run->blind ? blind_folder(a->of.folder, a->of.spec->lab)
                                                     : memory_text("%s/%s", a->of.folder, a->of.spec->lab),
                          .files = &a->files,
                          .preamble = preamble_of(a),
                          .backend = collective_backend(),
                          .platform = world_platform(),
                          .trains_on = card_trains_on(),
                          .ranks = a->of.run->ranks,
                          .cores = a->of.card->cores,
                          .stamp_cost = a->of.card->stamp_cost,
                          .is_oversubscribed = card_is_oversubscribed(a->of.card, a->of.run->ranks),
                          .is_simulated = world_is_simulated(),
                          .keeps_rounds = a->of.run->add_rounds,
                          .is_modelled = !device_computes(),
                          .outcomes = memory_new((size_t)a->of.cases->count, sizeof *r->outcomes),
                          .cases = a->of.cases->named,
                          .changed = a->of.cases->count - a->of.cases->named };
    for (int i = 0; i < a->of.cases->count; i++) {
        struct outcome *o = &r->outcomes[i];
        bool is_hidden = a->of.cases->variant[i] == &a->of.cases->hidden;
        *o = (struct outcome){
            .name = a->of.cases->variant[i]->name,
            .idea = a->of.cases->variant[i]->idea,
            .label = a->of.cases->variant[i]->label,
            .device = run_results_label(run_of(a->of.cases->settings[i])->ranks == 1 ? 1 : a->of.run->ranks),
            .run = *run_of(a->of.cases->settings[i]),
            .shares_cores = card_is_oversubscribed(a->of.card, run_of(a->of.cases->settings[i])->ranks),
            .prediction = is_hidden ? unknown : a->of.spec->predict(a->of.cases->settings[i], a->of.card),
            .tokens = a->of.spec->tokens ? a->of.spec->tokens(a->of.cases->settings[i]) : NULL,
            .per = a->of.spec->per ? a->of.spec->per(a->of.cases->settings[i]) : NULL,
            .guess = guess_of(&a->of.run->guesses, a->of.cases->variant[i]->name)
        };
        o->foreseen = foresee_memory(a, i);
        o->memory = memory_new((size_t)o->run.ranks, sizeof *o->memory);
        case_stats_open(&o->stats, &o->run, r->is_simulated);
        o->stats.wrong = of->tried; /* a model that fails alone makes every case wrong */
    }
    if (a->of.run->verdict)
        set_suspects(r, a->of.spec->changes, a->of.cases);
    a->terminal = job_terminal();
    a->spans_so_far = report_begin_table(r, "spans.csv");
    if (r->is_oversubscribed && !r->is_simulated)
        warn("%d ranks on %d %s%s share time, so this run shows oversubscription more than the lab's effect; every row "
             "is marked",
             r->ranks, r->cores, r->trains_on, r->cores == 1 ? "" : "s");
    return a;
}

double run_results_expects(const struct run_results *a, int chosen)
{
    struct prediction prediction = a->report.outcomes[chosen].prediction;
    if (a->of.cases->variant[chosen] == &a->of.cases->hidden)
        prediction = a->of.spec->predict(a->of.cases->settings[chosen], a->of.card);
    return prediction_step(&prediction);
}

bool run_results_has_table(const struct run_results *a, const char *name)
{
    return a->report.keeps_rounds && rounds_table_has_alike(&a->report, name);
}

struct csv *run_results_table(struct run_results *a, const char *name)
{
    if (a->own_table_count == OWN_TABLES_MOST)
        die(STATUS_WRONG, "%s is one table too many; a lab adds at most %d", name, OWN_TABLES_MOST);
    struct csv *table = &a->own_tables[a->own_table_count++];
    *table = report_begin_table(&a->report, name);
    return table;
}

void run_results_trace_operations(const struct run_results *a, const struct timed_pass *passes, int count)
{
    operations_trace_write(&a->report, passes, count, device_gpus() > 0);
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* Keep the spans of this block or those of an earlier one as the picture; free the others. */
static void keep_nearer(struct outcome *o, const struct timeline *block)
{
    const bool is_nearer = picture_is_nearer(o, block);
    free((void *)(is_nearer ? o->picture.spans : block->spans));
    if (is_nearer)
        o->picture = *block;
}

void run_results_take(struct run_results *a, int chosen, int round, const struct block *block,
                      const struct conditions *conditions)
{
    struct outcome *o = &a->report.outcomes[chosen];
    a->clock_error = fmax(a->clock_error, block->timeline.clock_error);
    if (device_computes()) {
        const struct lab_change *change = a->of.cases->change[chosen];
        const int samples = o->tokens || change ? 0 : run_global_batch(&o->run); /* a change may train on fewer */
        struct check_failures wrong = block_results_wrong(block, samples, change && change->keeps_ranks_apart);
        check_failures_join(&o->stats.wrong, &wrong, "round %d, ", round + 1);
        case_stats_repeat(&o->stats, block->results[0].hash);
    }
    if (!conditions) {
        case_stats_check(&o->stats, &block->timeline);
        free((void *)block->timeline.spans);
        return;
    }
    case_stats_add(&o->stats, &block->timeline, conditions);
    for (int rank = 0; rank < o->run.ranks; rank++) {
        o->stats.queued[rank] += block->results[rank].queued;
        o->memory[rank] = block->results[rank].memory;
    }
    memory_table_take_layers(o);
    if (chosen < a->report.cases) {
        report_add_spans(&a->spans_so_far, &block->timeline, o->name);
        keep_nearer(o, &block->timeline);
    } else {
        free((void *)block->timeline.spans);
    }
    if (round == 0)
        o->stats.trained = block->results[0].trained;
    for (int rank = 0; round == 0 && rank < o->run.ranks; rank++) {
        o->stats.loss[rank] = block->results[rank].loss;
        o->stats.samples[rank] = block->results[rank].samples;
    }
}

void run_results_drift(struct run_results *a, double at, struct card_drift drift)
{
    drift_add(&a->drift, at, drift);
}

/* Predict each round of a case again, from the card scaled by the machine's speed at that time. The formula and the card are those
 * of the frozen prediction. */
static void predict_rounds(const struct run_results *a, int chosen)
{
    struct outcome *o = &a->report.outcomes[chosen];
    if (a->of.cases->variant[chosen] == &a->of.cases->hidden)
        return;
    o->then = memory_new((size_t)o->stats.rounds + 1, sizeof *o->then);
    struct card *card = memory_new(1, sizeof *card);
    for (int round = 0; round < o->stats.rounds; round++) {
        const struct card_drift drift = drift_at(&a->drift, o->stats.round[round].conditions.at);
        *card = card_drifted(a->of.card, drift);
        const struct prediction then = a->of.spec->predict(a->of.cases->settings[chosen], card);
        o->then[round] = (struct drifted){ .predicted_step = prediction_step(&then),
                                           .local = drift.local,
                                           .transfer = drift.transfer,
                                           .beyond = drift.beyond,
                                           .terms = then };
    }
    free(card);
}

/* --- closing ---------------------------------------------------------------------------------------------------- */

size_t run_results_bytes(const struct run_results *a)
{
    long bytes = ftell(a->spans_so_far.out);
    return bytes > 0 ? (size_t)bytes : 0;
}

static char *steal_text(double share)
{
    return memory_text("the host of this virtual machine used its cores for %.0f %% of the time", 100 * share);
}

/* Print the summary for the user. In a quiz print only the lanes; the supervisor prints the rest. */
static void show(const struct run_results *a, double began, int traced_steps)
{
    const struct report *r = &a->report;
    const char *const quiz_cases[] = { r->outcomes[0].name, BLIND_NAME, NULL };
    lanes_draw(stdout, r, a->of.run->blind ? quiz_cases : a->of.spec->drawn, a->terminal);
    if (a->of.run->blind)
        return;
    table_show(stdout, r, a->terminal.columns);
    table_explain(stdout, r, a->of.spec->asked);
    verdict_show(stdout, r);
    printf("\nRounds: %d in %.0f s. Tables, spans and trace: %s\n", r->outcomes[0].stats.rounds, world_wall() - began,
           r->folder);
    if (a->memory.trained > 0) {
        char *text = rss_peaks_text(&a->memory);
        printf("Memory %s.\n", text);
        free(text);
        memory_table_show(stdout, r);
    }
    if (a->clock_error >= CLOCKS_SAID_S) {
        char *text = clocks_text(a->clock_error);
        printf("Clocks %s.\n", text);
        free(text);
    }
    if (interference_is_significant(a->stolen_share)) {
        char *text = steal_text(a->stolen_share);
        printf("Disturbed: %s.\n", text);
        free(text);
    }
    if (traced_steps > 0)
        printf("The trace holds a window of each long case: %d steps or more, listed in its name.\n", traced_steps);
}

static void put_card_copy(const struct run_results *a)
{
    FILE *out = file_set_begin(a->report.files, a->report.folder, CARD_COPY);
    card_put(a->of.card, out, workload_of(a->of.base), a->of.run, a->of.card_key);
}

/* Add a header line that is known only at the end. Tables begun earlier lack it: spans.csv and the lab's own. Frees `text`. */
static void add_line(struct report *report, const char *name, char *text)
{
    char *longer = memory_text("%s# %s: %s\n", report->preamble, name, text);
    free((void *)report->preamble);
    free(text);
    report->preamble = longer;
}

void run_results_add_wrong(struct run_results *a, const struct check_failures *wrong)
{
    for (int i = 0; i < a->report.cases; i++)
        check_failures_join(&a->report.outcomes[i].stats.wrong, wrong, "after the last round, ");
}

void run_results_memory(struct run_results *a, struct rss_peaks most)
{
    a->memory = most;
}

int run_results_print(struct run_results *a, struct world *world, double began)
{
    struct report *r = &a->report;
    r->has_intervals = !a->of.run->quick && r->outcomes[0].stats.rounds > 2;
    int wrong = 0;
    const struct outcome *first = NULL; /* first case with a failed check */
    for (int i = 0; i < r->cases + r->changed; i++) {
        struct outcome *o = &r->outcomes[i];
        if (i < r->cases) {
            o->summary = case_stats_summarise(&o->stats, &r->outcomes[0].stats);
            predict_rounds(a, i);
        }
        wrong += o->stats.wrong.count;
        first = first || !o->stats.wrong.count ? first : o;
    }
    if (a->terminal.is_live)
        fputs("\r\033[K", stderr);
    if (a->clock_error >= CLOCKS_SAID_S)
        add_line(r, "clocks", clocks_text(a->clock_error));
    if (a->memory.trained > 0)
        add_line(r, "memory", rss_peaks_text(&a->memory));
    if (device_computes())
        a->stolen_share = interference_steal_share("", a->stolen, world_wall());
    if (interference_is_significant(a->stolen_share))
        add_line(r, "disturbed", steal_text(a->stolen_share));
    report_write_tables(r);
    rounds_table_write(r);
    verdict_write(r);
    memory_table_write(r);
    lanes_write(r);
    int traced_steps = trace_write(r);
    put_card_copy(a);
    guess_keep(r, a->of.run->out);
    if (flight_recorder_is_stopped(world_recorder(world)))
        world_stand_still(world);
    file_set_commit(&a->files);
    show(a, began, traced_steps);
    if (first)
        warn("%d failed checks, see the column `wrong` of %s/summary.csv; the first: %s, %s", wrong, r->folder,
             first->name, first->stats.wrong.first);
    fflush(stdout);
    return wrong;
}

void run_results_close(struct run_results *a)
{
    if (!a)
        return;
    for (int i = 0; i < a->report.cases + a->report.changed; i++) {
        case_stats_close(&a->report.outcomes[i].stats);
        free(a->report.outcomes[i].then);
        free(a->report.outcomes[i].memory);
        token_count_close(a->report.outcomes[i].tokens);
        free((void *)a->report.outcomes[i].picture.spans);
    }
    drift_close(&a->drift);
    free(a->report.outcomes);
    free(a->report.suspects);
    free((void *)a->report.folder);
    free((void *)a->report.preamble);
    free(a);
}
