#include "report/compare_cases.h"

#include "base/csv.h"
#include "base/die.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Name of a term, its column in ranks.csv, and its width on the terminal. */
static const struct {
    const char *name, *column;
    int width;
} terms[TERMS] = {
    [TERM_STEP] = { "step", "step_ms", 8 },           [TERM_DATA] = { "data", "data_ms", 7 },
    [TERM_LOCAL] = { "local", "local_ms", 7 },        [TERM_HOST] = { "host", "host_ms", 7 },
    [TERM_WAIT] = { "wait", "wait_ms", 7 },           [TERM_TRANSFER] = { "transfer", "transfer_ms", 9 },
    [TERM_EXPOSED] = { "exposed", "exposed_ms", 8 },  [TERM_CAUSED] = { "caused", "caused_wait_ms", 8 },
    [TERM_SAMPLES] = { "samples", "samples", 8 },     [TERM_TOKENS] = { "tokens", "tokens", 8 },
    [TERM_PADDED] = { "padded", "padded_tokens", 8 },
};

static bool is_time(enum term term)
{
    return term < TERM_SAMPLES;
}

/* Smallest change to print, as a share of a step: runs differ by less without a cause. */
static const double VISIBLE = 0.04;

/* Ranks count as alike if they differ by less than this share of the change. */
static const double ALIKE = 0.2;

/* One rank stands alone if the others differ among themselves by less than this share of the whole difference. */
static const double CLOSE = 0.4;

static double at(const struct ranks_of_case *c, int rank, enum term term)
{
    return c->value[rank * TERMS + (int)term];
}

/* True if the term was measured on any rank. */
static bool has_term(const struct ranks_of_case *c, enum term term)
{
    for (int rank = 0; rank < c->ranks; rank++)
        if (!isnan(at(c, rank, term)))
            return true;
    return false;
}

/* True if wait and transfer of both cases are known. */
static bool knows_waits(const struct compared_cases *e)
{
    return has_term(&e->usual, TERM_WAIT) && has_term(&e->odd, TERM_WAIT);
}

static struct ranks_of_case take_case(const struct csv_table *table, const char *name)
{
    struct ranks_of_case c = { .name = name, .value = memory_new((size_t)table->rows + 1, TERMS * sizeof *c.value) };
    for (int row = 0; row < table->rows; row++) {
        if (strcmp(csv_field(table, row, "case"), name) != 0)
            continue;
        for (int term = 0; term < TERMS; term++)
            c.value[c.ranks * TERMS + term] = csv_value(table, row, terms[term].column);
        c.ranks++;
    }
    return c;
}

void compare_cases_open(struct compared_cases *e, const char *folder, const char *usual, const char *odd)
{
    static const char *const columns[] = { "case", "rank", NULL };
    char *path = memory_text("%s/ranks.csv", folder);
    struct csv_table table = csv_open(path, columns);
    *e = (struct compared_cases){ .usual = take_case(&table, usual), .odd = take_case(&table, odd) };
    if (e->usual.ranks == 0 || e->odd.ranks == 0)
        die(STATUS_WRONG, "%s has no row for %s; run again", path, e->usual.ranks ? odd : usual);
    e->decimals = number_ms_decimals(fmin(at(&e->usual, 0, TERM_STEP), at(&e->odd, 0, TERM_STEP)) / 1e3);
    csv_free(&table);
    free(path);
}

void compare_cases_close(struct compared_cases *e)
{
    free(e->usual.value);
    free(e->odd.value);
    *e = (struct compared_cases){ 0 };
}

/* --- the table -------------------------------------------------------------------------------------------------- */

/* True if either case has the term. Exposed is shown only in place of wait and transfer. */
static bool is_shown(const struct compared_cases *e, enum term term)
{
    if (term == TERM_EXPOSED)
        return !knows_waits(e);
    for (int rank = 0; rank < e->usual.ranks; rank++)
        if (at(&e->usual, rank, term) > 0)
            return true;
    for (int rank = 0; rank < e->odd.ranks; rank++)
        if (at(&e->odd, rank, term) > 0)
            return true;
    return false;
}

/* Return the decimals of a value: counts have none, means of counts may have one. */
static int decimals_of(const struct compared_cases *e, enum term term, double value)
{
    return is_time(term) ? e->decimals : value < 100 && value != floor(value) ? 1 : 0;
}

static void show_case(FILE *out, const struct compared_cases *e, const struct ranks_of_case *c)
{
    fprintf(out, "%s\n", c->name);
    for (int rank = 0; rank < c->ranks; rank++) {
        fprintf(out, "  rank %-4d", rank);
        for (enum term term = 0; term < TERMS; term++) {
            double value = at(c, rank, term);
            if (is_shown(e, term) && isnan(value))
                fprintf(out, "%*s", terms[term].width, "-");
            else if (is_shown(e, term))
                fprintf(out, "%*.*f", terms[term].width, decimals_of(e, term, value), value);
        }
        fputc('\n', out);
    }
}

void compare_cases_show(FILE *out, const struct compared_cases *e)
{
    fprintf(out, "\n%-11s", "ms a step");
    for (enum term term = 0; term < TERMS; term++)
        if (is_shown(e, term))
            fprintf(out, "%*s", terms[term].width, terms[term].name);
    fputc('\n', out);
    show_case(out, e, &e->usual);
    show_case(out, e, &e->odd);
    fputs("caused: how long all others together waited for this rank", out);
    fputs(is_shown(e, TERM_PADDED) ? "; samples, tokens: per step; padded: tokens with padding\n"
                                   : "; samples: per step\n",
          out);
}

/* --- what stands out -------------------------------------------------------------------------------------------- */

/* Difference of a term from the baseline. */
struct change {
    double most;  /* largest of any rank; negative if the term fell */
    double size;  /* `most` as a share of the baseline's step; of a count, of `usual` */
    double usual; /* mean over the baseline's ranks */
    enum term term;
    int alone;    /* the one rank that differs from all others; -1 for none */
    bool is_both; /* some ranks have more, others less */
    bool is_even; /* all ranks are alike */
};

static double mean_of(const struct ranks_of_case *c, enum term term, int without)
{
    double sum = 0;
    int count = 0;
    for (int rank = 0; rank < c->ranks; rank++)
        if (rank != without) {
            sum += at(c, rank, term);
            count++;
        }
    return sum / count;
}

/* Find the smallest and the largest value of all ranks but one. */
static void find_ends(const struct ranks_of_case *c, enum term term, int without, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int rank = 0; rank < c->ranks; rank++)
        if (rank != without) {
            *low = fmin(*low, at(c, rank, term));
            *high = fmax(*high, at(c, rank, term));
        }
}

/* Return which of two ranks changed if the other hardly did; -1 if both changed. */
static int find_changed(const struct ranks_of_case *c, enum term term, double usual)
{
    double first = fabs(at(c, 0, term) - usual), second = fabs(at(c, 1, term) - usual);
    if (fmin(first, second) > CLOSE * fmax(first, second))
        return -1;
    return first > second ? 0 : 1;
}

/* Return the rank without which the others are closest together; -1 if they are not much closer than all ranks. */
static int find_alone(const struct ranks_of_case *c, enum term term)
{
    double low, high, closest = INFINITY;
    int alone = -1;
    find_ends(c, term, -1, &low, &high);
    double all = high - low;
    for (int rank = 0; rank < c->ranks; rank++) {
        find_ends(c, term, rank, &low, &high);
        if (high - low < closest) {
            closest = high - low;
            alone = rank;
        }
    }
    return closest < CLOSE * all ? alone : -1;
}

static struct change change_of(const struct compared_cases *e, enum term term)
{
    struct change change = { .term = term, .alone = -1, .usual = mean_of(&e->usual, term, -1) };
    double low, high, whole = is_time(term) ? mean_of(&e->usual, TERM_STEP, -1) : change.usual;
    find_ends(&e->odd, term, -1, &low, &high);
    change.most = high - change.usual > change.usual - low ? high - change.usual : low - change.usual;
    change.is_both = fmin(high - change.usual, change.usual - low) > CLOSE * fabs(change.most);
    change.size = fabs(change.most) / whole;
    change.is_even = high - low <= fmax(VISIBLE * whole, ALIKE * fabs(change.most));
    if (!change.is_even)
        change.alone = e->odd.ranks == 2 ? find_changed(&e->odd, term, change.usual) : find_alone(&e->odd, term);
    return change;
}

/* Return the sort key of a term: causes first, then the waiting that they lead to, then counts. */
static int place_of(enum term term)
{
    bool is_still = term == TERM_WAIT || term == TERM_EXPOSED;
    return !is_time(term) ? 2 : is_still ? 1 : 0;
}

/* Compare changes by place_of(), large changes first. */
static int by_place(const void *a, const void *b)
{
    const struct change *left = a, *right = b;
    int order = place_of(left->term) - place_of(right->term);
    return order ? order : (left->size < right->size) - (left->size > right->size);
}

static void put_value(FILE *out, const struct compared_cases *e, enum term term, double value)
{
    fprintf(out, "%.*f%s", decimals_of(e, term, value), value, is_time(term) ? " ms" : "");
}

/* Print "data grew: 40.3 ms on rank 2, 0.2 ms on the others (baseline: 0.2 ms)". Ranks that changed more come first. */
static void print_change(FILE *out, const struct compared_cases *e, const struct change *c)
{
    const struct ranks_of_case *odd = &e->odd;
    double low, high;
    find_ends(odd, c->term, -1, &low, &high);
    fprintf(out, "  %s %s: ", terms[c->term].name, c->is_both ? "changed" : c->most > 0 ? "grew" : "fell");
    if (c->alone >= 0) {
        double own = at(odd, c->alone, c->term), others = mean_of(odd, c->term, c->alone);
        bool is_others = fabs(others - c->usual) > fabs(own - c->usual);
        put_value(out, e, c->term, is_others ? others : own);
        if (is_others)
            fprintf(out, " on every rank but rank %d, which has ", c->alone);
        else
            fprintf(out, " on rank %d, the other%s ", c->alone, odd->ranks > 2 ? "s have" : " has");
        put_value(out, e, c->term, is_others ? own : others);
    } else if (c->is_even) {
        put_value(out, e, c->term, mean_of(odd, c->term, -1));
        fputs(odd->ranks > 1 ? " on every rank" : "", out);
    } else {
        put_value(out, e, c->term, low);
        fputs(" to ", out);
        put_value(out, e, c->term, high);
        fputs(" from rank to rank", out);
    }
    fprintf(out, " (%s: ", e->usual.name);
    put_value(out, e, c->term, c->usual);
    fputs(")\n", out);
}

/* True if a term is known and is neither a sum nor a consequence of other terms. */
static bool is_explained(const struct compared_cases *e, enum term term)
{
    bool is_of_arrivals = term == TERM_WAIT || term == TERM_TRANSFER;
    return is_shown(e, term) && term != TERM_STEP && term != TERM_CAUSED && (!is_of_arrivals || knows_waits(e));
}

void compare_cases_print_causes(FILE *out, const struct compared_cases *e)
{
    struct change changes[TERMS] = { 0 };
    int count = 0;
    for (enum term term = 0; term < TERMS; term++) {
        struct change change = change_of(e, term);
        if (is_explained(e, term) && change.size > VISIBLE)
            changes[count++] = change;
    }
    qsort(changes, (size_t)count, sizeof *changes, by_place);
    if (e->odd.ranks != e->usual.ranks)
        fprintf(out, "  ranks: %d (%s: %d)\n", e->odd.ranks, e->usual.name, e->usual.ranks);
    for (int i = 0; i < count; i++)
        print_change(out, e, &changes[i]);
    if (count == 0 && e->odd.ranks == e->usual.ranks)
        fprintf(out, "  nothing: no rank differs from %s by more than %.0f %% of a step\n", e->usual.name,
                100 * VISIBLE);
}
