/* 05_token_skew_batches: the batches of every rank in lab 05, those that the command line selects, how large they get, and a table
 * of all strategies. */
#include "05_token_skew.h"

#include <math.h>

struct batch_schedule *plan_of(const struct options *o)
{
    struct token_recipe recipe = sequence_recipe(&o->model.of.transformer, &o->run, o->is_fixed);
    return batch_schedule_open(&recipe, NULL, o->policy);
}

void complete(struct options *o, const struct card *card)
{
    (void)card;
    if (!o->run.once)
        return;
    struct batch_schedule *schedule = plan_of(o);
    o->run.once = batch_schedule_epoch(schedule);
    batch_schedule_close(schedule);
}

/* Strategies, for sequences of one length or many; `strategy` counts from 1, as --strategy does. The published ones are cases; the
 * others can only be printed. */
static const struct named {
    const char *name;
    int strategy, mode;
    bool is_published;
} named[] = {
    { "fixed_sample_ws4", 1 + TOKENS_SAMPLE, FIXED, true },
    { "fixed_bucket_ws4", 1 + TOKENS_BUCKET, FIXED, false },
    { "fixed_token_ws4", 1 + TOKENS_BUDGET, FIXED, false },
    { "variable_sample_ws4", 1 + TOKENS_SAMPLE, VARIABLE, true },
    { "variable_bucket_ws4", 1 + TOKENS_BUCKET, VARIABLE, true },
    { "variable_token_ws4", 1 + TOKENS_BUDGET, VARIABLE, true },
};
enum { NAMED = sizeof named / sizeof *named };

/* True if the command line selects `n`. --strategy selects that strategy, by default for varying lengths. --length-mode alone
 * selects the published ones of that mode. Without either, all published ones are selected. */
static bool is_meant(const struct options *o, const struct named *n)
{
    if (o->strategy == 0)
        return n->is_published && (o->length_mode == ANY || o->length_mode == n->mode);
    return o->strategy == n->strategy && n->mode == (o->length_mode == FIXED ? FIXED : VARIABLE);
}

void narrow(struct options *o)
{
    struct option_list *cases = &o->run.cases;
    for (int i = 0; i < NAMED && (o->strategy || o->length_mode) && cases->count < OPTION_LIST_MOST; i++)
        if (is_meant(o, &named[i]) && named[i].is_published)
            cases->text[cases->count++] = named[i].name;
}

bool instead(const struct options *base, FILE *out)
{
    if (!base->print_batches || !out)
        return base->print_batches;
    workload_refuse(&base->model, &base->run);
    struct csv csv = { .out = out };
    for (int i = 0; i < NAMED; i++) {
        if (!is_meant(base, &named[i]))
            continue;
        struct options o = *base;
        o.policy = batching_policies[named[i].strategy - 1];
        o.is_fixed = named[i].mode == FIXED;
        struct batch_schedule *schedule = plan_of(&o);
        token_table_batches(&csv, named[i].name, schedule, o.run.steps);
        batch_schedule_close(schedule);
    }
    return true;
}

/* Rows of the fullest batch under a budget of pairs. At each length: as many sequences as the budget allows, or as are no
 * longer. */
static double rows_by_pairs(const struct token_recipe *r)
{
    double share = token_recipe_texts(r) / r->ranks, most = r->max_length;
    double budget = r->max_tokens * ((double)r->min_length + r->max_length) / 2;
    for (double length = r->min_length; length < r->max_length; length++) {
        double shorter = share * log((length + 0.5) / r->min_length) / log((double)r->max_length / r->min_length);
        most = fmax(most, length * fmin(shorter, floor(budget / (length * length))));
    }
    return most;
}

struct memory_estimate need(const struct options *o)
{
    const struct text_settings *texts = &o->model.of.transformer.texts;
    int longest = texts->max_length > texts->fixed_length ? texts->max_length : texts->fixed_length;
    double tokens = fmax((double)o->run.batch_size * longest, texts->max_tokens);
    struct batch_most most = { .samples = fmax(o->run.batch_size, (double)texts->max_tokens / texts->min_length),
                               .rows = tokens,
                               .length = longest };
    struct memory_estimate both = { 0 };
    for (int kind = 1; kind >= 0; kind--) { /* 1: many lengths, 0: one */
        struct token_recipe recipe = sequence_recipe(&o->model.of.transformer, &o->run, kind == 0);
        if (kind == 1 && (o->run.cases.count == 0 || option_list_has(&o->run.cases, "token_pairs")))
            most.rows = fmax(most.rows, rows_by_pairs(&recipe));
        both = memory_estimate_add(both, sequence_loader_memory(&recipe, most));
    }
    return both;
}

struct batch_most most_of(const struct options *base, const struct variant *variants)
{
    struct batch_most most = { 0 };
    for (const struct variant *v = variants; v->name; v++) {
        if (v > variants && base->run.cases.count > 0 && !option_list_has(&base->run.cases, v->name))
            continue; /* this variant does not run */
        struct options o = *base;
        v->fault(&o);
        struct batch_schedule *schedule = plan_of(&o);
        most = batch_most_of(most, batch_schedule_most(schedule));
        batch_schedule_close(schedule);
    }
    return most;
}

void texts_open(struct texts *t, const struct options *base, struct batch_most most)
{
    for (int kind = 0; kind < 2; kind++) {
        struct token_recipe recipe = sequence_recipe(&base->model.of.transformer, &base->run, kind == 0);
        t->corpus[kind] = token_corpus_open(&recipe);
        t->loader[kind] =
            sequence_loader_open(t->corpus[kind], base->model.of.transformer.vocab_size, base->run.seed, most);
    }
    t->schedule = NULL;
}

struct sequence_loader *texts_deal(struct texts *t, const struct options *o, int rank)
{
    const int kind = o->is_fixed ? 0 : 1;
    struct token_recipe recipe = sequence_recipe(&o->model.of.transformer, &o->run, o->is_fixed);
    if (t->schedule)
        batch_schedule_close(t->schedule);
    t->schedule = batch_schedule_open(&recipe, t->corpus[kind], o->policy);
    sequence_loader_restart(t->loader[kind], (struct reading){ .schedule = t->schedule,
                                                               .rank = rank,
                                                               .first = first_step(o) - run_window(&o->run).warmup,
                                                               .weighs_by_texts = o->weighs_by_texts });
    return t->loader[kind];
}

void texts_close(struct texts *t)
{
    if (t->schedule)
        batch_schedule_close(t->schedule);
    for (int kind = 0; kind < 2; kind++) {
        sequence_loader_close(t->loader[kind]);
        token_corpus_close(t->corpus[kind]);
    }
}

/* --- the strategies over an epoch --------------------------------------------------------------------------------- */

void write_strategies(struct lab *lab, const struct options *base, const struct variant *variants, struct csv *csv)
{
    for (const struct variant *v = variants; csv && v->name; v++) {
        struct options o = *base;
        variant_apply(v, &o);
        if (o.run.once || o.is_fixed)
            continue;
        o.run.once = 1; /* complete() */
        complete(&o, NULL);
        struct batch_schedule *schedule = plan_of(&o);
        struct prediction p = predict(&o, lab_card(lab));
        double useful = batch_schedule_means(schedule, 0, o.run.once).useful;
        do {
            csv_text(csv, "case", v->name);
            token_table_means(csv, schedule);
            csv_integer(csv, "weighs_by_texts", o.weighs_by_texts);
            csv_ms(csv, "predicted_step_ms", prediction_step(&p));
            csv_ratio(csv, "predicted_tokens_per_s", useful / prediction_step(&p));
        } while (csv_end_row(csv));
        batch_schedule_close(schedule);
    }
}
