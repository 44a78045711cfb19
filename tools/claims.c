/* claims: do the results say what they must?
 *
 *     claims --results results --expected expected [--only 01_straggler] [--gate]
 *
 * A row of expected/NN_name.csv is a claim about results/NN_name/summary.csv:
 *     id         its name, used once
 *     case       the row of summary.csv that is meant; * for every row
 *     needs      any | cores>=ranks | sim | gpu; elsewhere it cannot be tested
 *     quantity   numbers, `column` (of that row), `case.column`, `setting.sleep_ms` (what --sleep-ms was in that run),
 *                + - * / and parentheses
 *     relation   = |quantity - value| <= tolerance      ~ |quantity - value| <= tolerance x |value|
 *                <  <=  >  >=                           same: the column holds the text `value`
 *                extra  like ~, for milliseconds over the baseline: it also holds where `value` lies in the interval
 *                       that vs_baseline_low and _high give them
 *     value      like quantity
 *     tolerance  of = (blank: 0), ~ and extra
 *     kind       exact | formula | sim: must hold wherever it can be tested;   ratio | shape: about time on real
 *                cores, shown when it fails;   example: published for another machine, shown beside ours
 *     why        one sentence
 *
 * Exit status: 0 what must hold holds, 1 it does not, 2 nothing could be judged. */
#include "csv.h"
#include "die.h"
#include "memory.h"
#include "options.h"

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MOST = 160 };

enum needs { NEEDS_ANY, NEEDS_CORES, NEEDS_SIM, NEEDS_GPU };
enum relation { EQUAL, NEAR, EXTRA, LESS, AT_MOST, MORE, AT_LEAST, SAME };
enum kind { EXACT, FORMULA, SIM, RATIO, SHAPE, EXAMPLE };
static const char *const needs_words[] = { "any", "cores>=ranks", "sim", "gpu", NULL };
static const char *const relation_words[] = { "=", "~", "extra", "<", "<=", ">", ">=", "same", NULL };
static const char *const kind_words[] = { "exact", "formula", "sim", "ratio", "shape", "example", NULL };

struct claim {
    const char *id, *case_name, *quantity, *value, *why;
    enum needs needs;
    enum relation relation;
    enum kind kind;
    double tolerance;
};

enum verdict { HOLDS, FAILS, UNTESTABLE, VERDICTS };

struct judgement { /* of one claim about one case */
    struct claim claim;
    int row; /* of the case in summary.csv; -1 when it was not run */
    enum verdict verdict;
    char quantity[TEXT_MOST], value[TEXT_MOST]; /* what both sides came to */
    char reason[TEXT_MOST];                     /* why one of them came to nothing, or cannot be tested */
};

struct lab {
    char *name, *path; /* path: of its claims */
    struct csv_table claims, summary;
    struct judgement *judgements;
    int count;
};

static bool must_hold(const struct claim *claim)
{
    return claim->kind == EXACT || claim->kind == FORMULA || claim->kind == SIM;
}

static bool has_column(const struct csv_table *table, const char *name)
{
    for (int column = 0; column < table->columns; column++)
        if (strcmp(table->cell[column], name) == 0)
            return true;
    return false;
}

static int find_case(const struct csv_table *summary, const char *name)
{
    for (int row = 0; row < summary->rows; row++)
        if (strcmp(csv_field(summary, row, "case"), name) == 0)
            return row;
    return -1;
}

/* --- expressions --------------------------------------------------------------------------------------- */

/* Why an expression has no value; of several reasons the gravest is kept. */
enum trouble { NO_TROUBLE, BLANK_CELL, CASE_NOT_RUN, MALFORMED };

struct reader {
    const char *at; /* the rest of the expression */
    const struct csv_table *summary;
    int row;
    enum trouble trouble;
    char why[TEXT_MOST];
};

static double give_up(struct reader *r, enum trouble trouble, const char *what, const char *which)
{
    if (trouble > r->trouble)
        snprintf(r->why, sizeof r->why, "%.60s %.90s", what, which);
    r->trouble = trouble > r->trouble ? trouble : r->trouble;
    return NAN;
}

static bool take(struct reader *r, char sign)
{
    r->at += strspn(r->at, " ");
    bool is_next = *r->at == sign;
    r->at += is_next;
    return is_next;
}

/* `column` or `case.column`: the field; NULL, or blank, after giving up. */
static const char *read_cell(struct reader *r)
{
    char words[2][TEXT_MOST], *column;
    int count = 0, row = r->row;
    do {
        size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz0123456789_");
        column = words[count++];
        snprintf(column, TEXT_MOST, "%.*s", (int)length, r->at);
        r->at += length;
    } while (count < 2 && take(r, '.'));
    if (!has_column(r->summary, column)) {
        give_up(r, MALFORMED, "summary.csv has no column", *column ? column : r->at);
        return NULL;
    }
    if (count == 2)
        row = find_case(r->summary, words[0]);
    const char *field = csv_field(r->summary, row, column);
    if (!field)
        give_up(r, CASE_NOT_RUN, "case not run:", words[0]);
    else if (!*field)
        give_up(r, BLANK_CELL, "blank here:", column);
    return field;
}

/* `setting.sleep_ms`: the number behind --sleep-ms in the command that the table's preamble tells. */
static double read_setting(struct reader *r)
{
    static const char heading[] = "# command: ";
    char flag[TEXT_MOST] = " --";
    size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_");
    snprintf(flag + 3, sizeof flag - 3, "%.*s ", (int)length, r->at);
    r->at += length;
    for (char *c = flag; *c; c++)
        *c = *c == '_' ? '-' : *c;
    const char *command = strstr(r->summary->text, heading);
    const char *found = command ? strstr(command, flag) : NULL;
    if (!found || memchr(command, '\n', (size_t)(found - command)))
        return give_up(r, MALFORMED, "the command of summary.csv has no", flag);
    return strtod(found + strlen(flag), NULL);
}

static double read_sum(struct reader *r);

static double read_factor(struct reader *r)
{
    if (take(r, '-'))
        return -read_factor(r);
    if (take(r, '(')) {
        double value = read_sum(r);
        return take(r, ')') ? value : give_up(r, MALFORMED, "no ) before", *r->at ? r->at : "the end");
    }
    char *end = NULL;
    if (*r->at >= '0' && *r->at <= '9') {
        double value = strtod(r->at, &end);
        r->at = end;
        return value;
    }
    static const char setting[] = "setting.";
    if (strncmp(r->at, setting, sizeof setting - 1) == 0) {
        r->at += sizeof setting - 1;
        return read_setting(r);
    }
    const char *field = read_cell(r);
    double value = field ? strtod(field, &end) : NAN;
    bool is_number = field && end != field && *end == '\0';
    return is_number ? value : NAN; /* no relation holds for NaN */
}

static double read_product(struct reader *r)
{
    double value = read_factor(r);
    for (;;) {
        if (take(r, '*'))
            value *= read_factor(r);
        else if (take(r, '/'))
            value /= read_factor(r);
        else
            return value;
    }
}

static double read_sum(struct reader *r)
{
    double value = read_product(r);
    for (;;) {
        if (take(r, '+'))
            value += read_product(r);
        else if (take(r, '-'))
            value -= read_product(r);
        else
            return value;
    }
}

/* Reads all of `text`; its value also goes to `shown`, as text. */
static double evaluate(struct reader *r, const char *text, char *shown)
{
    r->at = text;
    double value = read_sum(r);
    if (*r->at)
        give_up(r, MALFORMED, "cannot go on at", r->at);
    snprintf(shown, TEXT_MOST, "%.6g", value);
    return value;
}

/* --- the file of claims -------------------------------------------------------------------------------- */

/* Ends the program with the line on which the table's row stands; no field holds a line end. */
_Noreturn static void die_at(const struct lab *lab, int row, const char *what, const char *which, const char *cure)
{
    int line = 0, rows = -2; /* the first line that counts holds the names, the next one row 0 */
    bool is_start = true;
    FILE *file = fopen(lab->path, "r");
    for (int c = 0; file && rows < row && (c = getc(file)) != EOF; is_start = c == '\n') {
        line += is_start;
        rows += is_start && !strchr("#\r\n", c);
    }
    if (file)
        fclose(file);
    die(STATUS_USAGE, "%s:%d: %s '%s'; %s", lab->path, line, what, which, cure);
}

static const char *claim_text(const struct lab *lab, int row, const char *column)
{
    const char *text = csv_field(&lab->claims, row, column);
    if (!*text)
        die_at(lab, row, "nothing in column", column, "only the tolerance may be blank");
    return text;
}

static int claim_choice(const struct lab *lab, int row, const char *column, const char *const *words)
{
    const char *text = claim_text(lab, row, column);
    int index = 0;
    while (words[index] && strcmp(words[index], text) != 0)
        index++;
    if (!words[index])
        die_at(lab, row, memory_text("unknown %s", column), text, "tools/claims.c opens with the list");
    return index;
}

static struct claim read_claim(const struct lab *lab, int row)
{
    const char *tolerance = csv_field(&lab->claims, row, "tolerance");
    struct claim claim = {
        .id = claim_text(lab, row, "id"),
        .case_name = claim_text(lab, row, "case"),
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

/* Whether `v` lies within the measured interval of a row's milliseconds over the baseline; false without interval. */
static bool is_within_interval(const struct lab *lab, int row, double v)
{
    double base = csv_value(&lab->summary, 0, "slowest_step_ms");
    double low = (csv_value(&lab->summary, row, "vs_baseline_low") - 1) * base;
    double high = (csv_value(&lab->summary, row, "vs_baseline_high") - 1) * base;
    return low <= v && v <= high;
}

static bool relation_holds(const struct lab *lab, const struct claim *claim, int row, double q, double v)
{
    double miss = fabs(q - v);
    bool holds[SAME];
    holds[EQUAL] = miss <= claim->tolerance;
    holds[NEAR] = miss <= claim->tolerance * fabs(v);
    holds[EXTRA] = holds[NEAR] || is_within_interval(lab, row, v);
    holds[LESS] = q < v;
    holds[AT_MOST] = q <= v;
    holds[MORE] = q > v;
    holds[AT_LEAST] = q >= v;
    return holds[claim->relation];
}

static const char *what_lacks(const struct lab *lab, const struct judgement *j)
{
    if (j->claim.needs == NEEDS_CORES && csv_value(&lab->summary, j->row, "oversubscribed") > 0)
        return "more ranks than cores";
    if (j->claim.needs == NEEDS_SIM)
        return "needs the simulator";
    return j->claim.needs == NEEDS_GPU ? "needs GPUs" : NULL;
}

static struct judgement judge(const struct lab *lab, int claim_row, int row)
{
    struct judgement j = { .claim = read_claim(lab, claim_row), .row = row };
    const struct claim *claim = &j.claim;
    struct reader r = { .at = claim->quantity, .summary = &lab->summary, .row = row };
    if (row < 0)
        give_up(&r, CASE_NOT_RUN, "case not run:", claim->case_name);
    bool is_true;
    if (claim->relation == SAME) {
        const char *text = read_cell(&r);
        if (text && *r.at)
            give_up(&r, MALFORMED, "cannot go on at", r.at);
        is_true = text && strcmp(text, claim->value) == 0;
        snprintf(j.quantity, TEXT_MOST, "'%s'", text ? text : "");
        snprintf(j.value, TEXT_MOST, "'%s'", claim->value);
    } else {
        double quantity = evaluate(&r, claim->quantity, j.quantity);
        is_true = relation_holds(lab, claim, row, quantity, evaluate(&r, claim->value, j.value));
    }
    if (r.trouble == MALFORMED)
        die_at(lab, claim_row, memory_text("%s: in claim", r.why), claim->id, "mend its quantity or its value");

    const char *lacks = what_lacks(lab, &j);
    snprintf(j.reason, TEXT_MOST, "%s", lacks ? lacks : r.why);
    /* What must hold must also be there: a check that was left blank was not made. */
    bool is_absent = r.trouble == CASE_NOT_RUN || (r.trouble == BLANK_CELL && !must_hold(claim));
    j.verdict = lacks || is_absent ? UNTESTABLE : is_true ? HOLDS : FAILS;
    return j;
}

/* With `gate`, only claims that must hold are kept; all of them have been read. */
static void judge_lab(struct lab *lab, bool gate)
{
    lab->judgements = memory_new((size_t)(lab->claims.rows * (lab->summary.rows + 1)) + 1, sizeof *lab->judgements);
    for (int row = 0; row < lab->claims.rows; row++) {
        const char *name = claim_text(lab, row, "case");
        bool is_every = strcmp(name, "*") == 0;
        int first = is_every ? 0 : find_case(&lab->summary, name);
        int last = is_every ? lab->summary.rows - 1 : first;
        for (int at = first; at <= last; at++) {
            struct judgement *j = &lab->judgements[lab->count];
            *j = judge(lab, row, at);
            lab->count += !gate || must_hold(&j->claim);
        }
    }
}

/* --- showing ------------------------------------------------------------------------------------------- */

static void print_ms(const struct csv_table *table, int row, const char *column, int width)
{
    double value = csv_value(table, row, column);
    if (isnan(value))
        printf(" %*s", width, "-");
    else
        printf(" %*.2f", width, value);
}

/* The one phrase for a case: what fails, else what could not be tested, else whether its prediction was met. */
static void print_verdict(const struct lab *lab, int row)
{
    const char *untestable = NULL, *phrase = "no claim";
    int fails = 0;
    for (const struct judgement *j = lab->judgements; j < lab->judgements + lab->count; j++) {
        if (j->row != row || j->claim.kind == EXAMPLE)
            continue;
        if (j->verdict == FAILS)
            printf("%s%s", fails++ ? ", " : "fails: ", j->claim.id);
        else if (j->verdict == UNTESTABLE)
            untestable = j->reason;
        else if (strstr(j->claim.value, "predicted_step_ms"))
            phrase = "as predicted";
        else if (strcmp(phrase, "no claim") == 0)
            phrase = "holds";
    }
    if (fails)
        putchar('\n');
    else if (untestable)
        printf("not testable here: %s\n", untestable);
    else
        puts(phrase);
}

/* A published row stands beside ours only where the sizes are the same. */
static bool is_alike(const struct csv_table *a, int row_a, const struct csv_table *b, int row_b, const char *column)
{
    return strcmp(csv_field(a, row_a, column), csv_field(b, row_b, column)) == 0;
}

static void print_table(const struct lab *lab, const struct csv_table *blog)
{
    printf("%-24s %10s %10s %12s  %s\n", lab->name, "blog ms", "here ms", "predicted ms", "verdict");
    for (int row = 0; row < lab->summary.rows; row++) {
        const char *name = csv_field(&lab->summary, row, "case");
        int published = blog->rows - 1;
        while (published >= 0 && (strcmp(csv_field(blog, published, "lab"), lab->name) != 0 ||
                                  strcmp(csv_field(blog, published, "case"), name) != 0 ||
                                  !is_alike(blog, published, &lab->summary, row, "ranks") ||
                                  !is_alike(blog, published, &lab->summary, row, "batch_size")))
            published--;
        printf("%-24s", name);
        print_ms(blog, published, "slowest_step_ms", 10);
        print_ms(&lab->summary, row, "slowest_step_ms", 10);
        print_ms(&lab->summary, row, "predicted_step_ms", 12);
        fputs("  ", stdout);
        print_verdict(lab, row);
    }
}

static void print_judgement(const struct lab *lab, const struct judgement *j)
{
    const struct claim *claim = &j->claim;
    const char *name = csv_field(&lab->summary, j->row, "case");
    printf("\n%s, %s, %s: %s is %s here, ", kind_words[claim->kind], name, claim->id, claim->quantity, j->quantity);
    if (claim->kind == EXAMPLE)
        printf("published %s", j->value);
    else
        printf("not %s %s", relation_words[claim->relation], j->value);
    if (claim->relation == NEAR && claim->kind != EXAMPLE)
        printf(" within %g %%", 100 * claim->tolerance);
    printf("%s%s\n    %s\n", *j->reason ? "; " : "", j->reason, claim->why);
}

/* What fails, and what was published. */
static void print_judgements(const struct lab *lab)
{
    for (const struct judgement *j = lab->judgements; j < lab->judgements + lab->count; j++)
        if (j->claim.kind == EXAMPLE ? j->verdict != UNTESTABLE : j->verdict == FAILS)
            print_judgement(lab, j);
}

/* --- main ---------------------------------------------------------------------------------------------- */

struct options {
    const char *results, *expected, *only;
    bool gate;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row option_rows[] = {
    { "--results", OPTION_TEXT, AT(results), 0, 0, "DIR", "what the labs wrote" },
    { "--expected", OPTION_TEXT, AT(expected), 0, 0, "DIR", "what must hold" },
    { "--only", OPTION_TEXT, AT(only), 0, 0, "NN_name", "judge this lab only" },
    { "--gate", OPTION_SWITCH, AT(gate), 0, 0, "", "judge only what must hold; no table" },
    { 0 },
};
#undef AT

static const char *const claim_columns[] = { "id",    "case",      "needs", "quantity", "relation",
                                             "value", "tolerance", "kind",  "why",      NULL };
static const char *const summary_columns[] = {
    "case", "ranks", "batch_size", "oversubscribed", "slowest_step_ms", NULL
};
static const char *const blog_columns[] = { "lab", "case", "ranks", "batch_size", "slowest_step_ms", NULL };

static struct csv_table open_table(const char *path, const char *const *columns)
{
    struct csv_table table;
    char why[2 * TEXT_MOST];
    if (!csv_read(path, &table, why, sizeof why))
        die(STATUS_USAGE, "%s", why);
    for (; *columns; columns++)
        if (!has_column(&table, *columns))
            die(STATUS_USAGE, "%s: its first line names no column '%s'", path, *columns);
    return table;
}

/* Whether `file` is NN_name.csv, and the one asked for. */
static bool is_wanted(const char *file, const char *only)
{
    size_t stem = strcspn(file, ".");
    if (strspn(file, "0123456789") != 2 || file[2] != '_' || strcmp(file + stem, ".csv") != 0)
        return false;
    return !only || (strlen(only) == stem && strncmp(file, only, stem) == 0);
}

/* Judges one lab and shows it; returns how many claims fail that must hold. */
static int judge_and_show(struct lab *lab, const struct csv_table *blog, bool gate, int counts[VERDICTS])
{
    int broken = 0;
    judge_lab(lab, gate);
    if (!gate)
        print_table(lab, blog);
    print_judgements(lab);
    for (const struct judgement *j = lab->judgements; j < lab->judgements + lab->count; j++) {
        counts[j->verdict] += j->claim.kind != EXAMPLE;
        broken += j->verdict == FAILS && must_hold(&j->claim);
    }
    free(lab->judgements);
    return broken;
}

int main(int argc, char **argv)
{
    struct options o = { .results = "results", .expected = "expected" };
    const struct option_row *const tables[] = { option_rows, NULL };
    options_parse(tables, &o, "claims: do the results say what they must?", argc, argv);

    struct dirent **files;
    int file_count = scandir(o.expected, &files, NULL, alphasort);
    if (file_count < 0)
        die(STATUS_USAGE, "--expected %s cannot be read; name the folder of the claims", o.expected);
    char *blog_path = memory_text("%s/blog.csv", o.expected);
    struct csv_table blog = open_table(blog_path, blog_columns);
    int counts[VERDICTS] = { 0 }, broken = 0, labs = 0;
    for (int f = 0; f < file_count; f++) {
        const char *file = files[f]->d_name;
        struct lab lab = { .name = memory_text("%.*s", (int)strcspn(file, "."), file),
                           .path = memory_text("%s/%s", o.expected, file) };
        char *summary_path = memory_text("%s/%s/summary.csv", o.results, lab.name);
        if (is_wanted(file, o.only) && access(summary_path, F_OK) == 0) {
            lab.claims = open_table(lab.path, claim_columns);
            lab.summary = open_table(summary_path, summary_columns);
            broken += judge_and_show(&lab, &blog, o.gate, counts);
            csv_free(&lab.claims);
            csv_free(&lab.summary);
            labs++;
        }
        free(summary_path);
        free(lab.path);
        free(lab.name);
        free(files[f]);
    }
    free(files);
    csv_free(&blog);
    free(blog_path);
    if (labs == 0)
        die(STATUS_USAGE, "--results %s holds no lab with claims in %s; run one first", o.results, o.expected);
    printf("\n%d claims hold, %d fail, %d not testable here\n", counts[HOLDS], counts[FAILS], counts[UNTESTABLE]);
    return broken ? STATUS_WRONG : STATUS_RIGHT;
}
