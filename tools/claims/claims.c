/* claims: judges the labs' results by the claims in expected/
 *
 *     claims --results results --expected expected [--only 01_straggler] [--gate] [--tables] [--undecided] [--platform blog]
 *
 * A lab has up to three sets of results, one per place:
 *     RESULTS/NN_name/                             here: measured on this machine
 *     RESULTS/platforms/dedicated-cores/NN_name/   simulated: every rank has its own core
 *     RESULTS/platforms/blog/NN_name/              simulated: the blog's machine; shown, never judged
 * With --platform NAME, RESULTS/platforms/NAME/ is the only place, and it is judged. A row of expected/NN_name.csv is one claim; a row
 * of expected/every_lab.csv is one about each lab, unless a claim of the lab has its id. It is judged for each judged place that has
 * results, from that place alone:
 *     id         name of the claim, used once
 *     case       row of summary.csv; * means every row, each for itself
 *                all, all but CASE CASE: one claim about all rows together (or without these). In each round quantity and value are
 *                summed over the rows, as far as they were measured and not disturbed. A row counts if, in the mean over these rounds,
 *                its quantity is at least a tenth of slowest_step_ms, or its value of predicted_then_ms, or the mean of both shares
 *                at least a fifteenth. Where all rounds are disturbed, its value in summary.csv decides.
 *                So a wrong or missing term of the formula is noticed where no step would be off by much; not errors that cancel.
 *     needs      condition without which the claim cannot be tested:
 *                any | cores>=ranks | ranks>1 (and cores>=ranks) | cpu (cores>=ranks, and the ranks train on cores) |
 *                real (like cpu, and these cores carry the messages: not simulated) | sim (the row's backend is the simulator) |
 *                model (and it computes nothing, so that steps have no noise) | gpu (the row trained on GPUs) |
 *                arrivals (arrival times at collectives are known; not for ranks that share a GPU under NCCL) |
 *                published (the run's settings are those of the lab's first row in blog.csv)
 *     quantity   numbers, `column` (of that row), `case.column`, `setting.sleep_ms` (value of --sleep-ms in that run),
 *                + - * / and parentheses
 *     relation   = |quantity - value| <= tolerance      ~ |quantity - value| <= tolerance x |value|
 *                <  <=  >  >=                           same: the column holds the text `value`
 *                extra  like ~, for milliseconds over the baseline
 *     value      like quantity
 *     tolerance  for = (blank: 0), ~ and extra
 *     kind       exact | formula | sim: must hold wherever it can be tested; read from summary.csv, the newest launch
 *                ratio | shape: about time on real cores or GPUs, but not on a GPU shared under NCCL; read from rounds.csv, in
 *                each round of all launches. = is for blamed_rank only: of the newest launch or, if that has too few
 *                rounds, of all
 *                example: published for another machine, shown beside our value
 *     why        one sentence
 *
 * Claims that must hold hold or fail. A claim about time gets one of four verdicts (verdict.h has the statistics):
 *     as predicted        it holds, and noise would hardly make it hold by chance
 *     wrong               it does not hold; noise alone makes 1 call of all labs in 100 show any such claim, at most
 *     too noisy to tell   neither; with the number of further rounds that would decide
 *     disturbed           other programs or the virtual machine's host had a core: no undisturbed round is left; or the claim
 *                         would be wrong, but more than a quarter of its rounds were disturbed, or the machine's speed changed by
 *                         more than a factor of 1.5 during the launches, in the middle three quarters of the lab's rounds
 * Only undisturbed rounds count. Everything below 0.0001 % is rounding of the tables. Tables of another version (the line
 * `# lockstep:`) are left out, with a warning.
 *
 * Print one table per lab, a row per case and one for all together: step of the slowest rank in milliseconds, published and for each
 * place, then the worst verdict on the row's claims. Judged places show the mean over undisturbed rounds. A number appears only if its
 * ranks and batch_size equal those of the first judged place that has the case. Below the table: each claim that fails or is wrong, with
 * its place; each example, for the first judged place. At the end one sentence counts the verdicts.
 *
 * --tables also writes RESULTS/closing.csv, with the rows of the printed tables, and RESULTS/claims.csv, a row per claim, case and
 * place. --only shows one lab. All labs are judged nevertheless, and verdicts are the same: they depend on the number of tests.
 * --undecided prints only "NAME PLACE MORE_ROUNDS…" for each lab and place where further rounds may decide claims, or would let a claim
 * about all rows notice a term that is off by a fifth: how many rounds each of these claims needs, in rising order.
 *
 * Exit status: 0 all claims that must hold do, 1 one of them fails, 2 nothing could be judged. A wrong claim about time leaves the
 * status at 0: it may be a discovery about the machine. */
#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "judge.h"
#include "judgement.h"
#include "options/options.h"
#include "report/run_report.h"
#include "sentence.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *results, *expected, *only, *platform;
    bool gate, tables, undecided;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row option_rows[] = {
    { "--results", OPTION_TEXT, AT(results), 0, 0, "DIR", "folder of the results" },
    { "--expected", OPTION_TEXT, AT(expected), 0, 0, "DIR", "folder of the claims" },
    { "--only", OPTION_TEXT, AT(only), 0, 0, "NN_name", "show this lab only; verdicts are as with all labs" },
    { "--platform", OPTION_TEXT, AT(platform), 0, 0, "NAME", "judge the results of this simulated machine only" },
    { "--gate", OPTION_SWITCH, AT(gate), 0, 0, "", "judge only claims that must hold; no table" },
    { "--tables", OPTION_SWITCH, AT(tables), 0, 0, "", "write closing.csv and claims.csv into the results folder" },
    { "--undecided", OPTION_SWITCH, AT(undecided), 0, 0, "", "list only where further rounds may decide claims" },
    { 0 },
};
#undef AT

/* --- labs -------------------------------------------------------------------------------------------------------- */

/* All labs with results, judged together: each verdict depends on the number of tests, whatever is shown. */
struct labs {
    const char *only; /* the lab to show; NULL: all */
    struct source sources[PLACES];
    struct claim_file every_claim; /* path NULL: there are none */
    char *folder;                  /* of --platform; else NULL */
    struct place published;
    int count;
    struct lab *at; /* (count) */
};

/* True if `file` is NN_name.csv. */
static bool is_of_a_lab(const char *file)
{
    return strspn(file, "0123456789") == 2 && file[2] == '_' && strcmp(file + strcspn(file, "."), ".csv") == 0;
}

static bool is_shown(const struct labs *labs, int i)
{
    return !labs->only || strcmp(labs->only, labs->at[i].name) == 0;
}

static int count_shown(const struct labs *labs)
{
    int count = 0;
    for (int i = 0; i < labs->count; i++)
        count += is_shown(labs, i);
    return count;
}

/* Set the places. With --platform, that platform takes the place of the dedicated cores. */
static void name_sources(struct labs *labs, const char *platform)
{
    static const char consistency[] =
        "dedicated cores: agreement about transfers shows consistency, not more; links and "
        "predictions both come from this machine's all-reduces";
    static const struct source usual[PLACES] = {
        [PUBLISHED] = { NULL, "published", { "blog,", "published" }, 10, NULL },
        [BLOG] = { "platforms/blog/", "blog's machine", { "blog's machine", "(simulated)" }, 16, NULL },
        [DEDICATED] = { "platforms/dedicated-cores/",
                        "simulated",
                        { "dedicated cores", "(simulated)" },
                        17,
                        consistency },
        [HERE] = { "", "here", { "here,", "measured" }, 11, NULL },
    };
    memcpy(labs->sources, usual, sizeof usual);
    if (!platform)
        return;
    labs->folder = memory_text("platforms/%s/", platform);
    labs->sources[BLOG].folder = labs->sources[HERE].folder = NULL;
    labs->sources[DEDICATED] = (struct source){ labs->folder, platform, { platform, "(simulated)" }, 17, NULL };
}

/* True if the table tells that another version wrote it, which may have other columns. */
static bool is_of_another_version(const struct csv_table *table)
{
    char *version = csv_comment(table, "lockstep", 0);
    const bool is_another = version && strcmp(version, TABLES_VERSION) != 0;
    free(version);
    return is_another;
}

/* Read the tables of a place, unless another version wrote them. Claims about time need its rounds. */
static void open_place(struct place *place, const char *folder, const char *name, bool has_rounds)
{
    static const char *const columns[] = { "case", "ranks", "batch_size", "oversubscribed", "slowest_step_ms", NULL },
                             *const any[] = { NULL };
    char *summary = memory_text("%s/summary.csv", folder), *rounds = memory_text("%s/rounds.csv", folder);
    place->is_there = access(summary, F_OK) == 0;
    if (place->is_there)
        place->summary = csv_open(summary, any);
    if (is_of_another_version(&place->summary)) {
        warn("another version of Lockstep wrote %s; it is left out until it is measured again", folder);
        csv_free(&place->summary);
        *place = (struct place){ 0 };
    }
    if (place->is_there)
        csv_require(&place->summary, summary, columns);
    if (place->is_there && has_rounds)
        place->rounds = rounds_open(rounds, name);
    free(summary);
    free(rounds);
}

/* Read the lab's tables from all places. Return true if there is anything to judge. */
static bool open_lab(struct lab *lab, const struct options *o)
{
    for (int p = BLOG; p < PLACES; p++) {
        if (!lab->sources[p].folder)
            continue;
        char *folder = memory_text("%s/%s%s", o->results, lab->sources[p].folder, lab->name);
        open_place(&lab->places[p], folder, lab->name, p >= JUDGED && !o->gate);
        free(folder);
    }
    if (!lab->places[DEDICATED].is_there && !lab->places[HERE].is_there)
        return false;
    lab->claims = claim_file_open(memory_text("%s/%s.csv", o->expected, lab->name));
    return true;
}

/* Read the claims about every lab, if the folder has any. */
static struct claim_file open_every_claim(const char *expected)
{
    char *path = memory_text("%s/every_lab.csv", expected);
    if (access(path, F_OK) == 0)
        return claim_file_open(path);
    free(path);
    return (struct claim_file){ 0 };
}

static void close_lab(struct lab *lab)
{
    for (int p = BLOG; p < PLACES; p++) {
        csv_free(&lab->places[p].summary);
        rounds_close(&lab->places[p].rounds);
        free(lab->places[p].judgements);
    }
    claim_file_close(&lab->claims);
    free(lab->name);
}

/* Read all labs with results. `labs` must stay where it is: each lab refers to its sources. */
static void open_labs(struct labs *labs, const struct options *o)
{
    static const char *const blog_columns[] = { "lab", "case", "ranks", "batch_size", "slowest_step_ms", NULL };
    struct dirent **files;
    int file_count = scandir(o->expected, &files, NULL, alphasort);
    if (file_count < 0)
        die(STATUS_USAGE, "--expected %s cannot be read; name the folder of the claims", o->expected);
    char *blog_path = memory_text("%s/blog.csv", o->expected);
    *labs = (struct labs){ .only = o->only,
                           .published = { .is_there = true, .summary = csv_open(blog_path, blog_columns) },
                           .at = memory_new((size_t)file_count + 1, sizeof *labs->at) };
    labs->every_claim = open_every_claim(o->expected);
    name_sources(labs, o->platform);
    for (int f = 0; f < file_count; f++) {
        const char *file = files[f]->d_name;
        if (is_of_a_lab(file)) {
            struct lab *lab = &labs->at[labs->count];
            *lab = (struct lab){ .name = memory_text("%.*s", (int)strcspn(file, "."), file),
                                 .sources = labs->sources,
                                 .every_claim = labs->every_claim.path ? &labs->every_claim : NULL,
                                 .places = { [PUBLISHED] = labs->published } };
            if (open_lab(lab, o))
                labs->count++;
            else
                close_lab(lab);
        }
        free(files[f]);
    }
    free(files);
    free(blog_path);
}

static void close_labs(struct labs *labs)
{
    for (int i = 0; i < labs->count; i++)
        close_lab(&labs->at[i]);
    csv_free(&labs->published.summary);
    claim_file_close(&labs->every_claim);
    free(labs->at);
    free(labs->folder);
}

/* --- verdicts ---------------------------------------------------------------------------------------------------- */

/* Judge all labs and count the verdicts of those that are shown. */
static void judge_all(struct labs *labs, bool gate, struct verdict_counts *counts)
{
    int tests = 0;
    for (int i = 0; i < labs->count; i++)
        for (int p = JUDGED; p < PLACES; p++)
            if (labs->at[i].places[p].is_there) {
                judge_place(&labs->at[i], p, gate);
                tests += judge_count_tests(&labs->at[i].places[p]);
            }
    for (int i = 0; i < labs->count; i++)
        for (int p = JUDGED; p < PLACES; p++) {
            struct place *place = &labs->at[i].places[p];
            judge_decide(place, tests);
            for (int n = 0; n < place->count; n++) {
                const struct judgement *j = &place->judgements[n];
                if (is_shown(labs, i) && j->claim.kind != EXAMPLE)
                    verdict_count(counts, j->verdict, j->evidence.rounds, j->rounds_to_notice);
            }
        }
}

static void show(const struct labs *labs, bool gate)
{
    for (int i = 0, shown = 0; i < labs->count; i++) {
        if (!is_shown(labs, i))
            continue;
        if (!gate && shown++ > 0)
            putchar('\n'); /* between one lab's failures and the next lab's table */
        if (!gate)
            judgement_show_table(&labs->at[i]);
        judgement_show_claims(&labs->at[i]);
    }
}

static void write_tables(const struct labs *labs, const char *folder)
{
    struct file_set files = { 0 };
    struct csv closing = { .out = file_set_begin(&files, folder, "closing.csv") };
    struct csv claims = { .out = file_set_begin(&files, folder, "claims.csv") };
    for (int i = 0; i < labs->count; i++)
        judgement_write(&closing, &claims, &labs->at[i]);
    file_set_commit(&files);
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Return the further rounds that the claim needs; 0: none. */
static int rounds_needed(const struct judgement *j)
{
    return j->more_rounds > 0 ? j->more_rounds : j->rounds_to_notice;
}

/* Print a line for a place that has claims which need further rounds, and no more than are possible: how many, in rising order. */
static void list_place(const char *lab, const char *word, const struct place *place)
{
    int *more = memory_new((size_t)place->count + 1, sizeof *more), count = 0;
    for (int i = 0; i < place->count; i++) {
        const int needed = rounds_needed(&place->judgements[i]);
        if (needed > 0 && needed <= VERDICT_ROUNDS_MOST)
            more[count++] = needed;
    }
    qsort(more, (size_t)count, sizeof *more, compare_ints);
    if (count > 0)
        printf("%s %s", lab, word);
    for (int i = 0; i < count; i++)
        printf(" %d%s", more[i], i + 1 == count ? "\n" : "");
    free(more);
}

static void list_undecided(const struct labs *labs)
{
    for (int i = 0; i < labs->count; i++)
        for (int p = JUDGED; is_shown(labs, i) && p < PLACES; p++)
            list_place(labs->at[i].name, labs->sources[p].word, &labs->at[i].places[p]);
}

/* --- main -------------------------------------------------------------------------------------------------------- */

static void refuse_combinations(const struct options *o)
{
    const char *not_with_tables = o->only ? "--only" : o->gate ? "--gate" : o->platform ? "--platform" : NULL;
    if (o->tables && not_with_tables)
        die(STATUS_USAGE, "--tables writes the verdicts of all labs; leave out %s", not_with_tables);
    if (o->undecided && (o->tables || o->gate))
        die(STATUS_USAGE, "--undecided only lists; leave out %s", o->tables ? "--tables" : "--gate");
}

int main(int argc, char **argv)
{
    struct options o = { .results = "results", .expected = "expected" };
    const struct option_row *const tables[] = { option_rows, NULL };
    options_parse(tables, &o, "claims: do the results agree with the claims?", argc, argv);
    refuse_combinations(&o);
    struct labs labs;
    open_labs(&labs, &o);
    if (count_shown(&labs) == 0)
        die(STATUS_USAGE, "--results %s holds no lab with claims in %s; run one first", o.results, o.expected);
    struct verdict_counts counts = { .once = 0 };
    judge_all(&labs, o.gate, &counts);
    if (o.undecided) {
        list_undecided(&labs);
    } else {
        show(&labs, o.gate);
        char *sentence = sentence_of(&counts);
        printf("\n%s\n", sentence);
        free(sentence);
    }
    if (o.tables)
        write_tables(&labs, o.results);
    close_labs(&labs);
    return counts.of[FAILS] > 0 ? STATUS_WRONG : STATUS_RIGHT;
}
