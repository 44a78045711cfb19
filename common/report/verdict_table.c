#include "report/verdict_table.h"

#include "analysis/bound_by.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* A case's verdict and what it is made of. */
struct verdict {
    const struct suspect *suspect; /* (terms) */
    int terms, rounds;             /* rounds: 0 after a failed check */
    const char *name[BOUND_BY_TERMS_MOST];
    struct bound_by bound;
};

/* Return the first suspect of a case, and their number. */
static const struct suspect *suspects_of(const struct report *r, int of, int *terms)
{
    const struct suspect *first = NULL;
    *terms = 0;
    for (int i = 0; i < r->suspect_count; i++)
        if (r->suspects[i].of == of) {
            first = first ? first : &r->suspects[i];
            ++*terms;
        }
    return first;
}

/* Return the outcome after the change; before it, if there was nothing to change. */
static const struct outcome *after(const struct report *r, const struct suspect *s)
{
    return &r->outcomes[s->after >= 0 ? s->after : s->before];
}

/* Return the number of rounds that all outcomes of a case have; 0 after a failed check. */
static int rounds_of(const struct report *r, const struct verdict *v, int of)
{
    int rounds = r->outcomes[of].stats.rounds, wrong = r->outcomes[of].stats.wrong.count;
    for (int k = 0; k < v->terms; k++) {
        const struct case_stats *stats = &after(r, &v->suspect[k])->stats;
        rounds = stats->rounds < rounds ? stats->rounds : rounds;
        wrong += stats->wrong.count;
    }
    return wrong ? 0 : rounds;
}

/* Return the steps (rounds) of an outcome. Free them. */
static double *steps_of(const struct outcome *o, int rounds)
{
    double *steps = memory_new((size_t)rounds, sizeof *steps);
    for (int round = 0; round < rounds; round++)
        steps[round] = o->stats.round[round].slowest_step;
    return steps;
}

static struct bound_by judge(const struct report *r, struct verdict *v, int of)
{
    struct change change[BOUND_BY_TERMS_MOST];
    double *step = steps_of(&r->outcomes[of], v->rounds);
    for (int k = 0; k < v->terms; k++)
        change[k] = (struct change){ .suspect = v->suspect[k].name,
                                     .factor = v->suspect[k].factor,
                                     .before = steps_of(&r->outcomes[v->suspect[k].before], v->rounds),
                                     .after = steps_of(after(r, &v->suspect[k]), v->rounds) };
    const struct bound_by bound = bound_by_changes(change, v->terms, step, v->rounds, v->name);
    for (int k = 0; k < v->terms; k++) {
        free((void *)change[k].before);
        free((void *)change[k].after);
    }
    free(step);
    return bound;
}

/* Judge a case into `v`, which must stay where it is. Return false if it has no suspects. */
static bool judge_case(const struct report *r, int of, struct verdict *v)
{
    *v = (struct verdict){ 0 };
    v->suspect = suspects_of(r, of, &v->terms);
    if (!v->suspect)
        return false;
    v->rounds = rounds_of(r, v, of);
    if (v->rounds > 0)
        v->bound = judge(r, v, of);
    return true;
}

static const char *reason_of(const struct verdict *v)
{
    static const char *const reasons[] = { [BOUND_NAMED] = "",
                                           [BOUND_NEAR] = "near",
                                           [BOUND_OVERLAP] = "overlap",
                                           [BOUND_NOTHING] = "nothing",
                                           [BOUND_TOO_SHORT] = "too short" };
    return v->rounds > 0 ? reasons[v->bound.reason] : "failed check";
}

/* Return the share that the formula gives a suspect; NaN if it predicts nothing. */
static double predicted_share(const struct report *r, const struct suspect *s)
{
    const double step = prediction_step(&r->outcomes[s->of].prediction);
    return s->factor *
           (prediction_step(&r->outcomes[s->before].prediction) - prediction_step(&after(r, s)->prediction)) / step;
}

static double mean_of(const struct outcome *o, int rounds)
{
    double sum = 0;
    for (int round = 0; round < rounds; round++)
        sum += o->stats.round[round].slowest_step / rounds;
    return rounds > 0 ? sum : (double)NAN;
}

static const struct ratio unknown = { NAN, NAN, NAN };

/* Write the row of a suspect, or of the rest (NULL). */
static void put_row(struct csv *csv, const struct report *r, const struct verdict *v, int of, int term)
{
    const struct suspect *s = term < v->terms ? &v->suspect[term] : NULL;
    const struct ratio share = v->rounds == 0 ? unknown : s ? v->bound.share[term] : v->bound.rest;
    double predicted = 1;
    for (int k = 0; k < v->terms; k++)
        predicted -= predicted_share(r, &v->suspect[k]);
    csv_text(csv, "case", r->outcomes[of].name);
    csv_text(csv, "suspect", s ? s->name : "rest");
    csv_ratio(csv, "share", share.value);
    csv_ratio(csv, "share_low", share.low);
    csv_ratio(csv, "share_high", share.high);
    csv_ratio(csv, "predicted_share", s ? predicted_share(r, s) : predicted);
    csv_ms(csv, "step_ms", mean_of(&r->outcomes[of], v->rounds));
    csv_ms(csv, "before_ms", s ? mean_of(&r->outcomes[s->before], v->rounds) : (double)NAN);
    csv_ms(csv, "after_ms", s && s->after >= 0 ? mean_of(after(r, s), v->rounds) : (double)NAN);
    csv_number(csv, "factor", s ? s->factor : (double)NAN);
    csv_integer(csv, "rounds", v->rounds);
    csv_text(csv, "bound_by", v->rounds > 0 ? bound_by_name(&v->bound) : "");
    csv_text(csv, "why_not", reason_of(v));
}

void verdict_write(const struct report *r)
{
    struct verdict v;
    if (r->suspect_count == 0)
        return;
    struct csv csv = report_begin_table(r, "verdict.csv");
    for (int of = 0; of < r->cases; of++)
        for (int term = 0; judge_case(r, of, &v) && term <= v.terms; term++)
            do
                put_row(&csv, r, &v, of, term);
            while (csv_end_row(&csv));
}

void verdict_show(FILE *out, const struct report *r)
{
    struct verdict v;
    if (r->suspect_count > 0)
        fputs("\nVerdicts, from steps without one suspect after the other:\n", out);
    for (int of = 0; of < r->cases; of++)
        if (judge_case(r, of, &v) && v.rounds > 0) {
            char *text = bound_by_sentence(&v.bound);
            fprintf(out, "  %s: %s\n", r->outcomes[of].name, text);
            free(text);
        }
}
