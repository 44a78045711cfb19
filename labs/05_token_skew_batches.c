/* 05_token_skew_batches: the batches of every rank in lab 05, those that the command line selects, and how large they get. */
#include "05_token_skew.h"

#include <math.h>

struct batch_schedule *plan_of(const struct options *o)
{
    struct token_recipe recipe = sequence_recipe(&o->run, o->is_fixed);
    return batch_schedule_open(&recipe, NULL, o->policy);
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
    workload_transformer.refuse(&base->run);
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
    const struct run_texts *texts = &o->run.texts;
    const struct transformer_shape shape = sequence_shape(&o->run);
    int longest = texts->max_length > texts->fixed_length ? texts->max_length : texts->fixed_length;
    double tokens = fmax((double)o->run.batch_size * longest, texts->max_tokens);
    double most_texts = fmax(o->run.batch_size, (double)texts->max_tokens / texts->min_length);
    struct memory_estimate both = { 0 };
    for (int kind = 1; kind >= 0; kind--) { /* 1: many lengths, 0: one */
        struct token_recipe recipe = sequence_recipe(&o->run, kind == 0);
        if (kind == 1 && (o->run.cases.count == 0 || option_list_has(&o->run.cases, "token_pairs")))
            tokens = fmax(tokens, rows_by_pairs(&recipe));
        both = memory_estimate_add(both, sequence_reading_memory(&recipe, tokens, most_texts));
    }
    return memory_estimate_add(both, sequence_trainer_memory(&shape, tokens, most_texts, longest));
}
