/* claims: tests the labs' results against the claims in expected/
 *
 *     claims --results results --expected expected [--only 01_straggler] [--gate] [--tables]
 *
 * A lab has up to three tables of results, one per place:
 *     RESULTS/NN_name/summary.csv                             here: measured on this machine
 *     RESULTS/platforms/dedicated-cores/NN_name/summary.csv   simulated: every rank has its own core
 *     RESULTS/platforms/blog/NN_name/summary.csv              simulated: the blog's machine; shown, never judged
 * A row of expected/NN_name.csv is one claim. It is judged for each of the first two tables that exists, from that table alone:
 *     id         name of the claim, used once
 *     case       row of summary.csv; * means every row
 *     needs      condition without which the claim cannot be tested:
 *                any | cores>=ranks | sim (the row's backend is the simulator) | gpu (the row trained on GPUs) |
 *                arrivals (arrival times at collectives are known; not for ranks that share a GPU under NCCL) |
 *                published (the run's settings are those of the lab's first row in blog.csv)
 *     quantity   numbers, `column` (of that row), `case.column`, `setting.sleep_ms` (value of --sleep-ms in that run),
 *                + - * / and parentheses
 *     relation   = |quantity - value| <= tolerance      ~ |quantity - value| <= tolerance x |value|
 *                <  <=  >  >=                           same: the column holds the text `value`
 *                extra  like ~, for milliseconds over the baseline. Also holds if `value` lies in the interval given by
 *                       vs_baseline_low and vs_baseline_high. If only that holds, and the interval is wider than a
 *                       quarter of the step on either side, the claim is too noisy to test
 *     value      like quantity
 *     tolerance  for = (blank: 0), ~ and extra
 *     kind       exact | formula | sim: must hold wherever it can be tested
 *                ratio | shape: time on real cores or GPUs, but not on a GPU shared under NCCL; a failure is shown,
 *                unless the run is too short for any interval (--quick)
 *                example: published for another machine, shown beside our value
 *     why        one sentence
 *
 * Print one table per lab, a row per case: step of the slowest rank in milliseconds, published and for each place, then the
 * verdict. The verdict lists claims that fail; else gives the reason why one could not be tested; else "as predicted" or "holds".
 * A number appears only if its ranks and batch_size equal those of the first judged place that has the case. Below the
 * table: each claim that fails, with its place; each example, for the first judged place.
 *
 * --tables also writes RESULTS/closing.csv, a row per case, and RESULTS/claims.csv, a row per claim, case and place.
 *
 * Exit status: 0 all claims that must hold do, 1 one of them fails, 2 nothing could be judged. */
#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "expression.h"
#include "judgement.h"
#include "options/options.h"

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const needs_words[] = { "any", "cores>=ranks", "sim", "gpu", "arrivals", "published", NULL };
const char *const relation_words[] = {
    [EQUAL] = "=", [NEAR] = "~",      [EXTRA] = "extra", [LESS] = "<", [AT_MOST] = "<=",
    [MORE] = ">",  [AT_LEAST] = ">=", [SAME] = "same",   NULL
};
const char *const kind_words[] = { "exact", "formula", "sim", "ratio", "shape", "example", NULL };
const char *const place_words[PLACES] = { [DEDICATED] = "simulated", [HERE] = "here" };
const char judgement_crowded[] = "more ranks than cores";

/* Folder of each place's labs, below --results. */
static const char *const folders[PLACES] = {
    [BLOG] = "platforms/blog/", [DEDICATED] = "platforms/dedicated-cores/", [HERE] = ""
};

struct totals {
    int labs, count[VERDICTS];
    int broken; /* claims that must hold and fail */
};

static bool must_hold(const struct claim *claim)
{
    return claim->kind == EXACT || claim->kind == FORMULA || claim->kind == SIM;
}

/* --- reading claims -------------------------------------------------------------------------------- */

/* End the program, naming the file's line that holds the row. */
_Noreturn static void die_at(const struct lab *lab, int row, const char *what, const char *which, const char *cure)
{
    die(STATUS_USAGE, "%s:%d: %s '%s'; %s", lab->path, lab->claims.line[row + 1], what, which, cure);
}

static const char *claim_text(const struct lab *lab, int row, const char *column)
{
    const char *text = csv_field(&lab->claims, row, column);
    if (!*text)
        die_at(lab, row, "blank column", column, "only the tolerance may be blank");
    return text;
}

static int claim_choice(const struct lab *lab, int row, const char *column, const char *const *words)
{
    const char *text = claim_text(lab, row, column);
    int index = 0;
    while (words[index] && strcmp(words[index], text) != 0)
        index++;
    if (!words[index])
        die_at(lab, row, memory_text("unknown %s", column), text, "tools/claims/claims.c opens with the list");
    return index;
}

static struct claim read_claim(const struct lab *lab, int row)
{
    const char *tolerance = csv_field(&lab->claims, row, "tolerance");
    struct claim claim = {
        .id = claim_text(lab, row, "id"),
        .needs = (enum needs)claim_choice(lab, row, "needs", needs_words),
        .quantity = claim_text(lab, row, "quantity"),
        .relation = (enum relation)claim_choice(lab, row, "relation", relation_words),
        .value = claim_text(lab, row, "value"),
        .tolerance = *tolerance ? csv_value(&lab->claims, row, "tolerance") : 0,
        .kind = (enum kind)claim_choice(lab, row, "kind", kind_words),
        .why = claim_text(lab, row, "why"),
    };
    bool is_wrong = *tolerance ? claim.relation > EXTRA || !(claim.tolerance >= 0)
                               : claim.relation == NEAR || claim.relation == EXTRA;
    if (is_wrong)
        die_at(lab, row, "wrong tolerance", tolerance, "= may have one, ~ and extra need one, the others take none");
    for (int before = 0; before < row; before++)
        if (strcmp(csv_field(&lab->claims, before, "id"), claim.id) == 0)
            die_at(lab, row, "a second claim", claim.id, "an id is used once");
    return claim;
}

/* --- judging ------------------------------------------------------------------------------------------- */

/* True if the run has the settings of the lab's first row in blog.csv (column `settings`: "ranks=4 seed=2026"). */
static bool has_published_settings(const struct lab *lab, const struct csv_table *summary)
{
    const struct csv_table *blog = &lab->places[PUBLISHED].summary;
    const char *at = csv_field(blog, csv_find(blog, "lab", lab->name), "settings");
    if (!at || !*at)
        return false;
    for (; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        char name[EXPRESSION_TEXT], value[EXPRESSION_TEXT];
        struct reading reading = { .table = summary, .row = 0 };
        struct sides shown;
        int length = (int)strcspn(at, "= "), end = (int)strcspn(at, " ");
        snprintf(name, sizeof name, "setting.%.*s", length, at);
        snprintf(value, sizeof value, "%.*s", end > length ? end - length - 1 : 0, at + length + 1);
        if (!expression_holds(&reading, name, EQUAL, value, 0, &shown))
            return false;
    }
    return true;
}

/* Return why the claim cannot be tested on this row; NULL if it can. */
static const char *unmet_need(const struct lab *lab, const struct csv_table *summary, int row,
                              const struct claim *claim)
{
    if (csv_value(summary, row, "wrong") > 0 && strcmp(claim->quantity, "wrong") != 0)
        return "it failed its checks";
    const enum needs needs = claim->needs;
    const char *backend = csv_field(summary, row, "backend"), *device = csv_field(summary, row, "device");
    bool is_shared_gpu = device && strstr(device, "correctness only");
    if (is_shared_gpu && (needs == NEEDS_ARRIVALS || !must_hold(claim)))
        return "a shared GPU shows correctness only";
    if (needs == NEEDS_CORES && csv_value(summary, row, "oversubscribed") > 0)
        return judgement_crowded;
    if (needs == NEEDS_SIM && (!backend || strcmp(backend, "sim") != 0))
        return "needs the simulator";
    if (needs == NEEDS_PUBLISHED && !has_published_settings(lab, summary))
        return "needs the published settings";
    bool is_of_gpus = device && strncmp(device, "cuda", strlen("cuda")) == 0;
    return needs == NEEDS_GPU && !is_of_gpus ? "needs GPUs" : NULL;
}

static bool has_interval(const struct csv_table *summary, int row)
{
    return !isnan(csv_value(summary, row, "vs_baseline_low"));
}

/* True if any case of the run has an interval, or if there is nothing to compare. Without intervals the run is so short that
 * claims about time may fail by chance. */
static bool has_intervals(const struct csv_table *summary)
{
    bool has_any = summary->rows < 2 || !csv_field(summary, 0, "vs_baseline_low");
    for (int row = 0; row < summary->rows; row++)
        has_any |= has_interval(summary, row);
    return has_any;
}

/* Return why a claim about time cannot be told from noise; NULL if it can. A miss may be noise if the run has no intervals
 * (`extra`: if its row has none). An `extra` also holds by chance if its interval is very wide. */
static const char *noise_reason(struct reading *reading, const struct claim *claim, bool is_true)
{
    static const double widest = 0.25; /* on either side, as a share of the step */
    const bool is_extra = claim->relation == EXTRA;
    if (reading->row < 0 || (!is_extra && (must_hold(claim) || claim->kind == EXAMPLE)))
        return NULL;
    bool has_noise = is_extra ? has_interval(reading->table, reading->row) : has_intervals(reading->table);
    if (!has_noise)
        return is_true ? NULL : "too short to tell";
    if (!is_extra || !is_true)
        return NULL;
    double low = csv_value(reading->table, reading->row, "vs_baseline_low");
    double high = csv_value(reading->table, reading->row, "vs_baseline_high");
    struct sides shown;
    bool is_near = expression_holds(reading, claim->quantity, NEAR, claim->value, claim->tolerance, &shown);
    return !is_near && high - low > widest * (high + low) ? "too noisy to tell" : NULL;
}

static struct judgement judge(const struct lab *lab, int place, int claim_row, int row)
{
    struct judgement j = { .claim = read_claim(lab, claim_row), .row = row };
    const struct claim *claim = &j.claim;
    struct reading reading = { .table = &lab->places[place].summary,
                               .row = row,
                               .trouble = row < 0 ? CASE_NOT_RUN : NO_TROUBLE };
    bool is_true =
        expression_holds(&reading, claim->quantity, claim->relation, claim->value, claim->tolerance, &j.shown);
    if (reading.trouble == MALFORMED)
        die_at(lab, claim_row, memory_text("%s (%s): in claim", reading.why, place_words[place]), claim->id,
               "correct its quantity or its value");

    const char *lacks = unmet_need(lab, reading.table, row, claim);
    snprintf(j.reason, sizeof j.reason, "%s", lacks ? lacks : reading.why);
    /* A blank cell fails a claim that must hold: the check was not made. */
    bool is_absent = reading.trouble == CASE_NOT_RUN || (reading.trouble == BLANK_CELL && !must_hold(claim));
    const char *doubt = noise_reason(&reading, claim, is_true);
    if (doubt && !lacks && !*j.reason)
        snprintf(j.reason, sizeof j.reason, "%s", doubt);
    j.verdict = lacks || is_absent || doubt ? UNTESTABLE : is_true ? HOLDS : FAILS;
    return j;
}

/* Judge all claims at one place. `gate` keeps only those that must hold, but reads all. */
static void judge_place(struct lab *lab, int at, bool gate, struct totals *totals)
{
    struct place *place = &lab->places[at];
    const struct csv_table *summary = &place->summary;
    place->judgements = memory_new((size_t)(lab->claims.rows * (summary->rows + 1)) + 1, sizeof *place->judgements);
    for (int claim_row = 0; claim_row < lab->claims.rows; claim_row++) {
        const char *name = claim_text(lab, claim_row, "case");
        bool is_every = strcmp(name, "*") == 0;
        int first = is_every ? 0 : csv_find(summary, "case", name);
        int last = is_every ? summary->rows - 1 : first;
        for (int row = first; row <= last; row++) {
            struct judgement j = judge(lab, at, claim_row, row);
            bool is_binding = must_hold(&j.claim);
            if (gate && !is_binding)
                continue;
            place->judgements[place->count++] = j;
            totals->count[j.verdict] += j.claim.kind != EXAMPLE;
            totals->broken += j.verdict == FAILS && is_binding;
        }
    }
}

/* --- main ---------------------------------------------------------------------------------------------- */

struct options {
    const char *results, *expected, *only;
    bool gate, tables;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row option_rows[] = {
    { "--results", OPTION_TEXT, AT(results), 0, 0, "DIR", "folder of the results" },
    { "--expected", OPTION_TEXT, AT(expected), 0, 0, "DIR", "folder of the claims" },
    { "--only", OPTION_TEXT, AT(only), 0, 0, "NN_name", "judge this lab only" },
    { "--gate", OPTION_SWITCH, AT(gate), 0, 0, "", "judge only claims that must hold; no table" },
    { "--tables", OPTION_SWITCH, AT(tables), 0, 0, "", "write closing.csv and claims.csv into the results folder" },
    { 0 },
};
#undef AT

static const char *const claim_columns[] = { "id",    "case",      "needs", "quantity", "relation",
                                             "value", "tolerance", "kind",  "why",      NULL };
static const char *const summary_columns[] = {
    "case", "ranks", "batch_size", "oversubscribed", "slowest_step_ms", NULL
};
static const char *const blog_columns[] = { "lab", "case", "ranks", "batch_size", "slowest_step_ms", NULL };

/* True if `file` is NN_name.csv and matches `only` (NULL: any). */
static bool is_wanted(const char *file, const char *only)
{
    size_t stem = strcspn(file, ".");
    if (strspn(file, "0123456789") != 2 || file[2] != '_' || strcmp(file + stem, ".csv") != 0)
        return false;
    return !only || (strlen(only) == stem && strncmp(file, only, stem) == 0);
}

/* Read the lab's tables from all places. Return true if there is anything to judge. */
static bool open_lab(struct lab *lab, const struct options *o)
{
    for (int p = BLOG; p < PLACES; p++) {
        struct place *place = &lab->places[p];
        char *path = memory_text("%s/%s%s/summary.csv", o->results, folders[p], lab->name);
        place->is_there = access(path, F_OK) == 0;
        if (place->is_there)
            place->summary = csv_open(path, summary_columns);
        free(path);
    }
    if (!lab->places[DEDICATED].is_there && !lab->places[HERE].is_there)
        return false;
    lab->claims = csv_open(lab->path, claim_columns);
    return true;
}

static void close_lab(struct lab *lab)
{
    for (int p = BLOG; p < PLACES; p++) {
        csv_free(&lab->places[p].summary);
        free(lab->places[p].judgements);
    }
    csv_free(&lab->claims);
    free(lab->path);
    free(lab->name);
}

/* Output tables, filled lab by lab; closing.out is NULL without --tables. */
struct tables {
    struct file_set files;
    struct csv closing, claims;
};

static void judge_and_show(struct lab *lab, bool gate, struct tables *tables, struct totals *totals)
{
    for (int p = JUDGED; p < PLACES; p++)
        if (lab->places[p].is_there)
            judge_place(lab, p, gate, totals);
    if (!gate && totals->labs > 0)
        putchar('\n'); /* between one lab's failures and the next lab's table */
    if (!gate)
        judgement_show_table(lab);
    judgement_show_claims(lab);
    if (tables->closing.out)
        judgement_write(&tables->closing, &tables->claims, lab);
    totals->labs++;
}

static struct tables begin_tables(const char *folder)
{
    struct tables tables = { 0 };
    tables.closing.out = file_set_begin(&tables.files, folder, "closing.csv");
    tables.claims.out = file_set_begin(&tables.files, folder, "claims.csv");
    return tables;
}

static struct totals judge_all(const struct options *o)
{
    struct dirent **files;
    int file_count = scandir(o->expected, &files, NULL, alphasort);
    if (file_count < 0)
        die(STATUS_USAGE, "--expected %s cannot be read; name the folder of the claims", o->expected);
    char *blog_path = memory_text("%s/blog.csv", o->expected);
    struct place published = { .is_there = true, .summary = csv_open(blog_path, blog_columns) };
    struct totals totals = { 0 };
    struct tables tables = { 0 };
    if (o->tables)
        tables = begin_tables(o->results);
    for (int f = 0; f < file_count; f++) {
        const char *file = files[f]->d_name;
        if (is_wanted(file, o->only)) {
            struct lab lab = { .name = memory_text("%.*s", (int)strcspn(file, "."), file),
                               .path = memory_text("%s/%s", o->expected, file),
                               .places = { [PUBLISHED] = published } };
            if (open_lab(&lab, o))
                judge_and_show(&lab, o->gate, &tables, &totals);
            close_lab(&lab);
        }
        free(files[f]);
    }
    (totals.labs > 0 ? file_set_commit : file_set_drop)(&tables.files);
    free(files);
    csv_free(&published.summary);
    free(blog_path);
    return totals;
}

int main(int argc, char **argv)
{
    struct options o = { .results = "results", .expected = "expected" };
    const struct option_row *const tables[] = { option_rows, NULL };
    options_parse(tables, &o, "claims: do the results agree with the claims?", argc, argv);
    if (o.tables && (o.only || o.gate))
        die(STATUS_USAGE, "--tables writes the verdicts of all labs; leave out %s", o.only ? "--only" : "--gate");
    struct totals totals = judge_all(&o);
    if (totals.labs == 0)
        die(STATUS_USAGE, "--results %s holds no lab with claims in %s; run one first", o.results, o.expected);
    printf("\n%d claims hold, %d fail, %d not testable here\n", totals.count[HOLDS], totals.count[FAILS],
           totals.count[UNTESTABLE]);
    return totals.broken ? STATUS_WRONG : STATUS_RIGHT;
}
