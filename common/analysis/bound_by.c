#include "analysis/bound_by.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const double WRONG_MOST = 0.01; /* verdicts with a wrong name */
static const double PER_INTERVAL = 0.05;
static const double LEAST = 0.1;    /* of the step: a smaller share is not worth a name */
static const double PRINTED = 1e-6; /* a lead that may come from printed digits */
static const double SHOWN = 0.01;   /* smaller shares are not in the sentence */

/* The sum over terms of weight x share, in each round: its mean, and half of its interval with probability `tail` on either side. */
struct combination {
    double mean, half; /* half: NaN for one round */
};

static struct combination combine(const double *x, int rounds, int terms, const double *weight, double tail)
{
    double *value = memory_new((size_t)rounds, sizeof *value);
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < terms; k++)
            value[r] += weight[k] * x[r * terms + k];
    }
    struct combination c = { .mean = stats_mean(value, rounds), .half = NAN };
    if (rounds > 1)
        c.half = stats_student_quantile(tail, rounds - 1) * stats_error(value, rounds);
    free(value);
    return c;
}

/* Lead of a term over another (-1: over nothing), less the excess of all shares over 1 if that is subtracted. */
static struct combination lead_of(const double *x, int rounds, int terms, int term, int other, bool is_less_excess,
                                  double tail)
{
    double weight[BOUND_BY_TERMS_MOST];
    for (int k = 0; k < terms; k++)
        weight[k] = (k == term) - (k == other) - (is_less_excess ? 1 : 0);
    struct combination c = combine(x, rounds, terms, weight, tail);
    c.mean += is_less_excess ? 1 : 0;
    return c;
}

static bool is_clear(struct combination lead)
{
    return lead.mean - lead.half > PRINTED;
}

static double clipped(double share)
{
    return fmin(1, fmax(0, share));
}

static void set_shares(struct bound_by *b, const double *x, int rounds)
{
    double sum = 0, unclipped = 0, all[BOUND_BY_TERMS_MOST];
    struct combination of[BOUND_BY_TERMS_MOST];
    for (int k = 0; k < b->terms; k++) {
        of[k] = lead_of(x, rounds, b->terms, k, -1, false, PER_INTERVAL / 2);
        sum += fmax(0, of[k].mean);
        unclipped += of[k].mean;
        all[k] = 1;
    }
    b->excess = fmax(0, unclipped - 1);
    const double scale = fmax(1, sum);
    for (int k = 0; k < b->terms; k++)
        b->share[k] = (struct ratio){ .value = fmax(0, of[k].mean) / scale,
                                      .low = rounds > 1 ? clipped(of[k].mean - b->excess - of[k].half) : (double)NAN,
                                      .high = rounds > 1 ? clipped(of[k].mean + of[k].half) : (double)NAN };
    const struct combination whole = combine(x, rounds, b->terms, all, PER_INTERVAL / 2);
    b->rest = (struct ratio){ .value = 1 - sum / scale,
                              .low = rounds > 1 ? clipped(1 - whole.mean - whole.half) : (double)NAN,
                              .high = rounds > 1 ? clipped(1 - whole.mean + whole.half) : (double)NAN };
}

/* Set the terms with the largest and second largest mean. */
static void set_order(struct bound_by *b)
{
    b->first = 0;
    b->second = -1;
    for (int k = 1; k < b->terms; k++)
        b->first = b->share[k].value > b->share[b->first].value ? k : b->first;
    for (int k = 0; k < b->terms; k++)
        if (k != b->first && (b->second < 0 || b->share[k].value > b->share[b->second].value))
            b->second = k;
}

/* Return why the first term is not named, or BOUND_NAMED. */
static enum bound_reason judge(const struct bound_by *b, const double *x, int rounds)
{
    if (rounds < 2)
        return BOUND_TOO_SHORT;
    const struct combination own = lead_of(x, rounds, b->terms, b->first, -1, false, WRONG_MOST);
    if (own.mean < LEAST || !is_clear(own))
        return BOUND_NOTHING;
    bool is_ahead = true, is_beyond_excess = true;
    for (int k = 0; k < b->terms; k++) {
        if (k == b->first)
            continue;
        is_ahead &= is_clear(lead_of(x, rounds, b->terms, b->first, k, false, WRONG_MOST));
        is_beyond_excess &=
            b->excess <= PRINTED || is_clear(lead_of(x, rounds, b->terms, b->first, k, true, WRONG_MOST));
    }
    return !is_ahead ? BOUND_NEAR : is_beyond_excess ? BOUND_NAMED : BOUND_OVERLAP;
}

struct bound_by bound_by_shares(const char *const *name, const double *x, int rounds, int terms)
{
    struct bound_by b = { .terms = terms, .name = name };
    set_shares(&b, x, rounds);
    set_order(&b);
    b.reason = judge(&b, x, rounds);
    const struct combination lead = lead_of(x, rounds, terms, b.first, b.second, b.excess > PRINTED, PER_INTERVAL / 2);
    b.lead = (struct ratio){ lead.mean, lead.mean - lead.half, lead.mean + lead.half };
    return b;
}

struct bound_by bound_by_changes(const struct change *changes, int terms, const double *step, int rounds,
                                 const char **name)
{
    double *x = memory_new((size_t)rounds * (size_t)terms, sizeof *x);
    for (int k = 0; k < terms; k++) {
        name[k] = changes[k].suspect;
        for (int r = 0; r < rounds; r++)
            x[r * terms + k] = changes[k].factor * (changes[k].before[r] - changes[k].after[r]) / step[r];
    }
    const struct bound_by b = bound_by_shares(name, x, rounds, terms);
    free(x);
    return b;
}

/* --- text ------------------------------------------------------------------------------------------------------- */

const char *bound_by_name(const struct bound_by *b)
{
    return b->reason == BOUND_NAMED ? b->name[b->first] : "undetermined";
}

static void put_share(FILE *out, const char *name, struct ratio share)
{
    fprintf(out, "%s %.0f %%", name, 100 * share.value);
    if (!isnan(share.low))
        fprintf(out, " ± %.0f", 100 * fmax(share.high - share.value, share.value - share.low));
}

static void put_verdict(FILE *out, const struct bound_by *b)
{
    switch (b->reason) {
    case BOUND_NAMED:
        fprintf(out, "bound by %s", b->name[b->first]);
        return;
    case BOUND_NEAR:
        fprintf(out, "undetermined, as the lead of %s over %s is %.0f %% ± %.0f", b->name[b->first], b->name[b->second],
                100 * b->lead.value, 100 * (b->lead.high - b->lead.value));
        return;
    case BOUND_OVERLAP:
        fprintf(out, "undetermined, as two terms claim the same %.0f %% of the step", 100 * b->excess);
        return;
    case BOUND_NOTHING:
        fprintf(out, "undetermined, as no change alone shortens the step by %.0f %% for certain", 100 * LEAST);
        return;
    case BOUND_TOO_SHORT:
        fputs("undetermined, as a single round shows no noise", out);
        return;
    }
}

char *bound_by_sentence(const struct bound_by *b)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    const char *before = "";
    bool is_put[BOUND_BY_TERMS_MOST] = { false };
    for (int i = 0; i < b->terms; i++) {
        int most = -1;
        for (int k = 0; k < b->terms; k++)
            if (!is_put[k] && (most < 0 || b->share[k].value > b->share[most].value))
                most = k;
        is_put[most] = true;
        if (b->share[most].value < SHOWN && i > 0)
            break;
        fputs(before, out);
        put_share(out, b->name[most], b->share[most]);
        before = ", ";
    }
    if (b->rest.value >= SHOWN)
        fprintf(out, "%srest %.0f %%", before, 100 * b->rest.value);
    fputs(": ", out);
    put_verdict(out, b);
    fclose(out);
    return text;
}
