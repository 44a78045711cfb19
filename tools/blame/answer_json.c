#include "answer.h"
#include "base/json.h"
#include "comparison.h"

#include <math.h>
#include <stdlib.h>

/* A JSON object or list while it is written. */
struct json {
    FILE *out;
    int members;
};

static struct json begin(FILE *out, char bracket)
{
    fputc(bracket, out);
    return (struct json){ .out = out };
}

static FILE *next(struct json *json, const char *key)
{
    fputs(json->members++ ? ", " : "", json->out);
    if (key) {
        json_text(json->out, key);
        fputs(": ", json->out);
    }
    return json->out;
}

static void put_text(struct json *json, const char *key, const char *text)
{
    json_text(next(json, key), text);
}

static void put_number(struct json *json, const char *key, double value)
{
    json_number(next(json, key), value);
}

/* Put milliseconds with six decimals, as the tables have; null for NaN. */
static void put_ms(struct json *json, const char *key, double seconds)
{
    put_number(json, key, round(1e9 * seconds) / 1e6);
}

static void put_share(struct json *json, const char *key, double share)
{
    put_number(json, key, round(1e6 * share) / 1e6);
}

/* Put a number from 0; null below. */
static void put_index(struct json *json, const char *key, int index)
{
    put_number(json, key, index < 0 ? (double)NAN : index);
}

static const char *host_name(const struct answer *a, int host)
{
    return host < 0 ? NULL : a->hosts.names[host];
}

static const char *phase_name(int phase)
{
    return phase < 0 || phase == SPAN_PHASES ? NULL : span_names[phase];
}

/* Put the parts of a rank's steps. They are withheld after a failed check. */
static void put_rank(struct json *list, const struct answer *a, int rank, int collectives)
{
    const struct case_stats *stats = &a->shown->stats;
    const struct cell *sum = &stats->sum[rank];
    const double steps = stats->wrong.count ? (double)NAN : stats->steps;
    struct json json = begin(next(list, NULL), '{');
    put_index(&json, "rank", timeline_rank(&a->shown->picture, rank));
    put_text(&json, "host", a->hosts.count > 0 ? host_name(a, a->hosts.of[rank]) : NULL);
    put_ms(&json, "step_ms", sum->step / steps);
    for (int phase = 0; phase < SPAN_PHASES; phase++) {
        char key[32];
        snprintf(key, sizeof key, "%s_ms", span_names[phase]);
        put_ms(&json, key, sum->phase[phase] / steps);
    }
    put_ms(&json, "wait_ms", sum->wait / steps);
    put_ms(&json, "transfer_ms", sum->transfer / steps);
    put_ms(&json, "exposed_ms", sum->exposed / steps);
    put_ms(&json, "caused_wait_ms", sum->caused / steps);
    put_share(&json, "last_share",
              stats->wrong.count || collectives == 0 ? (double)NAN : (double)sum->last / collectives);
    fputc('}', json.out);
}

static void put_ranks(struct json *object, const struct answer *a)
{
    const struct case_stats *stats = &a->shown->stats;
    const int collectives = case_stats_last_arrivals(stats);
    struct json list = begin(next(object, "per_rank"), '[');
    for (int rank = 0; rank < stats->ranks; rank++)
        put_rank(&list, a, rank, collectives);
    fputc(']', list.out);
}

static void put_blamed(struct json *object, const struct answer *a)
{
    const struct culprit *culprit = &a->culprit;
    FILE *out = next(object, "blamed");
    if (!culprit_is_named(culprit)) {
        fputs("null", out);
        return;
    }
    struct json json = begin(out, '{');
    put_index(&json, "rank", timeline_rank(&a->shown->picture, culprit->rank));
    put_text(&json, "host", host_name(a, culprit->host));
    put_text(&json, "phase", phase_name(culprit->phase));
    put_ms(&json, "wait_ms", culprit->wait);
    put_share(&json, "share", culprit->share);
    fputc('}', out);
}

/* Put which rank or host, and which phase, a fix concerns. */
static void put_place(struct json *json, const struct answer *a, const struct fix *fix)
{
    put_index(json, "rank", timeline_rank(&a->shown->picture, fix->rank));
    put_text(json, "host", host_name(a, fix->host));
    put_text(json, "phase", phase_name(fix->phase));
}

static void put_fixes(struct json *object, const struct answer *a)
{
    const struct fixes *fixes = &a->fixes;
    FILE *out = next(object, "fixes");
    if (!fixes->are_known) {
        fputs("null", out);
        return;
    }
    struct json list = begin(out, '[');
    for (int i = 0; i < fixes->count; i++) {
        const struct fix *fix = &fixes->at[i];
        struct json json = begin(next(&list, NULL), '{');
        put_place(&json, a, fix);
        put_ms(&json, "step_ms", fixes->step - fix->gain);
        put_ms(&json, "gain_ms", fix->gain);
        put_share(&json, "gain_share", fix->gain / fixes->step);
        fputc('}', out);
    }
    fputc(']', out);
}

static void put_comparison(struct json *object, const struct answer *a, const struct comparison *c)
{
    FILE *out = next(object, "after");
    if (!c->path) {
        fputs("null", out);
        return;
    }
    struct json json = begin(out, '{');
    put_text(&json, "source", c->path);
    put_ms(&json, "step_ms", c->after);
    put_ms(&json, "gain_ms", c->gain);
    put_ms(&json, "gain_low_ms", c->low);
    put_ms(&json, "gain_high_ms", c->high);
    struct json list = begin(next(&json, "promises"), '[');
    for (int i = 0; i < c->count; i++) {
        struct json promise = begin(next(&list, NULL), '{');
        put_place(&promise, a, c->promises[i]);
        put_ms(&promise, "gain_ms", c->promises[i]->gain);
        fputc('}', out);
    }
    fputc(']', out);
    put_text(&json, "sentence", c->sentence);
    fputc('}', out);
}

void answer_print_json(FILE *out, const struct answer *a, const struct comparison *comparison,
                       const struct warnings *warnings)
{
    const struct outcome *o = a->shown;
    char *sentence = answer_sentence(a);
    struct json json = begin(out, '{');
    put_text(&json, "version", LOCKSTEP_VERSION);
    put_text(&json, "source", a->file->path);
    put_text(&json, "case", o->name);
    put_index(&json, "ranks", o->stats.ranks);
    put_index(&json, "missing_ranks", a->file->missing_ranks);
    put_index(&json, "steps", o->stats.steps);
    put_index(&json, "first_step", o->picture.first_step);
    put_index(&json, "rounds", o->stats.rounds);
    put_ms(&json, "clock_error_ms", o->picture.clock_error);
    put_index(&json, "failed_checks", o->stats.wrong.count);
    put_ms(&json, "step_ms", o->summary.mean.step);
    put_ms(&json, "wait_ms", o->summary.mean.wait);
    put_ms(&json, "transfer_ms", o->summary.mean.transfer);
    put_ms(&json, "what_if_ms", o->summary.what_if);
    put_ranks(&json, a);
    put_blamed(&json, a);
    put_text(&json, "sentence", sentence);
    put_fixes(&json, a);
    put_comparison(&json, a, comparison);
    put_text(&json, "next", a->hint.next);
    put_text(&json, "lesson", a->hint.lesson);
    put_text(&json, "remedy", a->hint.remedy);
    struct json list = begin(next(&json, "warnings"), '[');
    for (int i = 0; i < warnings->count; i++)
        put_text(&list, NULL, warnings->at[i]);
    fputs("]}\n", out);
    free(sentence);
}
