/* lab_spec: a lab described as data, so that one table drives help, run and report. */
#ifndef LOCKSTEP_LAB_SPEC_H
#define LOCKSTEP_LAB_SPEC_H

#include "base/memory.h"
#include "card/card.h"
#include "card/predict.h"
#include "model/loader.h"
#include "model/tokens.h"
#include "model/workload.h"
#include "options/options.h"
#include "options/run.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct lab;
struct world;
struct csv;
struct random;

/* Each lab has its own struct options; it begins with these two members. */
struct options;
struct lab_options {
    struct run run;
    struct workload model; /* what the lab trains */
};

/* A change to the settings: what goes wrong (fault), and what is done about it (fix). Either may be NULL. */
struct variant {
    const char *name;
    void (*fault)(struct options *options);
    void (*fix)(struct options *options);
    const char *idea;  /* a few words */
    const char *label; /* its name in charts and reports, without comma: the fault, or "fault + fix" */
};

/* A change that --verdict makes to every case, for a few steps in every round, to learn a suspect's share of the step: bound_by.h in
 * common/analysis. It changes one term of the step only. */
struct lab_change {
    const char *suspect; /* its name in verdicts: "data" */
    double factor;       /* 1 if the change removes the term, 2 if it halves it */
    void (*make)(struct options *options);
    bool (*is_there)(const struct options
                         *options); /* false: the case has nothing to change, and the share is 0; NULL: each case has */
    bool keeps_ranks_apart;         /* ranks do not meet, so their parameters differ */
};

/* A case that --blind makes up: causes and sizes instead of a name. */
struct lab_draw {
    const char *name;         /* of the case */
    const char *const *flags; /* NULL-terminated: options that draw() sets, OPTION_NUMBER; typed ones stay as typed */
    void (*draw)(struct options *options, struct random *random);
    double (*share)(const struct options *options, const char *suspect); /* what was drawn, 0 to 1: asked of the user */
};

/* A table beside summary.csv that only this lab has. */
struct lab_table {
    const char *name;                              /* "sweep.csv" */
    bool (*is_wanted)(const struct options *base); /* NULL: if all cases run */
    /* all: measure after the last block and write the rows; `csv` is NULL on ranks other than 0. */
    void (*write)(struct lab *lab, const struct options *base, struct csv *csv);
    /* Bytes that write() opens on a rank. NULL: few. */
    double (*bytes)(const struct options *base);
};

struct lab_spec {
    const char *lab;                /* "01_straggler" */
    const char *question;           /* one sentence, first in the help */
    const struct variant *variants; /* first the baseline; a row without name ends them */
    const struct option_row *rows;  /* the lab's own options */
    size_t options_size;            /* sizeof (struct options) */
    /* End the program with STATUS_USAGE if the lab's own options contradict each other. May be NULL. */
    void (*refuse)(const struct options *options);
    /* True if the lab's own options ask for something other than training. One process then writes the answer to `out`, unless
     * `out` is NULL. May be NULL. */
    bool (*instead)(const struct options *options, FILE *out);
    /* True if the lab's own options ask for another job of the ranks than measuring cases. Each rank then runs other_job(), once the
     * world is there but no machine card, and exits with the status that it returns, the same on all ranks. Both or neither may be
     * NULL. */
    bool (*has_other_job)(const struct options *options);
    int (*other_job)(struct world *world, const struct options *options);
    /* Add to run.cases what the lab's own options ask for. May be NULL. */
    void (*narrow)(struct options *options);
    /* Compute those settings of a case that take long to compute, or that depend on the machine card, and that only a run needs.
     * `card`: NULL in a dry run. May be NULL. */
    void (*complete)(struct options *options, const struct card *card);
    /* Predict a step by the formula, from settings and card, never from the run. */
    struct prediction (*predict)(const struct options *options, const struct card *card);
    /* Most samples of a rank in a batch; NULL: the run's batch. */
    int (*most_samples)(const struct options *options);
    /* Deal out a global batch: samples (ranks), their sum the run's. NULL: evenly. */
    void (*deal)(const struct options *options, const struct card *card, int *samples);
    /* Largest batch, if the lab reads its batches by itself. NULL: it calls trainer_next(). */
    struct batch_most (*own_batches)(const struct options *options);
    /* Each block opens the model that it trains (lab_trains_divided()); the trainer then has only the data, and a model that probes use.
     * The lab states the memory of its models in case_need(). */
    bool opens_models;
    /* Memory that the lab itself keeps in each rank during all blocks, beside the trainer; and that a block of the case with these
     * settings opens beside that. NULL: none. */
    struct memory_estimate (*need)(const struct options *base);
    struct memory_estimate (*case_need)(const struct options *settings);
    /* Add the collectives whose cost the formula of a case takes from the card, by kind, group and largest size (card_use()), and
     * set `messages` if it needs those; the card then has them, and nothing else. The options are those of the case. NULL: each
     * case sums its gradients among its ranks. */
    void (*uses)(const struct options *options, struct card_uses *uses);
    /* Costs that the formula needs beside training and collectives: what measures them, and their names on modelled hosts
     * (card/own_cost.h). The card has them as card_cost(card, "dispatch_s"). Ended by a row without name; NULL: none. */
    const struct own_cost *costs;
    /* Async helpers (world/async_helper.h) that the lab's step opens on each rank, of which a simulated rank has few; 0: at most two. */
    int helpers;
    /* Collectives of a step; NULL if there are never more than ten. */
    int (*collectives)(const struct options *options);
    /* Tokens and sequences of the measured steps; NULL if the lab does not train on sequences. */
    struct token_count *(*tokens)(const struct options *options);
    /* Case whose throughput per rank is the reference of this case's efficiency. NULL for none; the function may be NULL. */
    const char *(*per)(const struct options *options);
    const struct lab_draw *draw; /* what --blind hides unless --cases names cases; NULL: one of all cases */
    /* Flag of the lab's option that holds a rank, drawn by --blind unless typed; NULL for none. */
    const char *hidden_option;
    /* Rank that a case's settings delay; -1 for none, or another one in each step. NULL if -1 in every case. */
    int (*culprit)(const struct options *options);
    bool asks_owner;   /* --blind asks which owner's memory grew, instead of a rank; needs case_need() */
    const char *asked; /* case that the user guesses and the report explains */
    char *(*event)(const struct options *options); /* text for the question: "rank 0 sleeps 40 ms before …" */
    const char *const *drawn;                      /* cases drawn as lanes, NULL-terminated */
    const char *const *lesson;      /* cases that the lesson shows, beside the baseline, likewise; NULL: all */
    const struct lab_table *tables; /* ended by a row without name; NULL: none */
    /* Changes for --verdict; a row without suspect ends them, NULL: none. The first removes what works beside the step, as a loader
     * does: it would hide what the others gain, so each of these is made in addition to the first. In
     * run_all.sh, `verdict_rows` names the cases that a full run changes. */
    const struct lab_change *changes;
};

/* Return the members with which every lab's options begin. */
static inline struct run *run_of(struct options *options)
{
    return &((struct lab_options *)options)->run;
}

static inline const struct workload *workload_of(const struct options *options)
{
    return &((const struct lab_options *)options)->model;
}

/* Most samples of a rank in a batch. */
static inline int lab_spec_most_samples(const struct lab_spec *spec, const struct options *options)
{
    return spec->most_samples ? spec->most_samples(options) : ((const struct run *)options)->batch_size;
}

/* Largest batch of a trainer without a loader: the lab's own and the run's usual one, which probes train with. */
static inline struct batch_most lab_spec_batches(const struct lab_spec *spec, const struct options *options)
{
    return batch_most_of(spec->own_batches(options),
                         loader_most(workload_of(options), lab_spec_most_samples(spec, options)));
}

static inline bool lab_spec_has_other_job(const struct lab_spec *spec, const struct options *options)
{
    return spec->has_other_job && spec->has_other_job(options);
}

/* Return the variant of that name, or NULL. */
static inline const struct variant *lab_spec_find_variant(const struct lab_spec *spec, const char *name)
{
    for (const struct variant *v = spec->variants; v->name; v++)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

/* True if a variant is among those that --cases names, that --lesson-cases means, or, without either, of all. The baseline always is. */
static inline bool lab_spec_wants(const struct lab_spec *spec, const struct run *run, const struct variant *variant)
{
    if (variant == spec->variants)
        return true;
    if (!run->lesson_cases)
        return run->cases.count == 0 || option_list_has(&run->cases, variant->name);
    bool is_shown = !spec->lesson;
    for (const char *const *name = spec->lesson; name && *name; name++)
        is_shown |= strcmp(*name, variant->name) == 0;
    return is_shown;
}

/* Change the settings as the variant says: its fault, then its fix. */
static inline void variant_apply(const struct variant *variant, struct options *settings)
{
    if (variant->fault)
        variant->fault(settings);
    if (variant->fix)
        variant->fix(settings);
}

/* Return the base settings with the variant's change. Free them. */
static inline struct options *lab_spec_settings(const struct lab_spec *spec, const struct options *base,
                                                const struct variant *variant)
{
    struct options *settings = memory_new(1, spec->options_size);
    memcpy(settings, base, spec->options_size);
    variant_apply(variant, settings);
    return settings;
}

/* Return the memory that a block of a case opens beside the lab's own. */
static inline struct memory_estimate lab_spec_case_need(const struct lab_spec *spec, const struct options *base,
                                                        const struct variant *variant)
{
    struct options *settings = lab_spec_settings(spec, base, variant);
    const struct memory_estimate need = spec->case_need(settings);
    free(settings);
    return need;
}

/* Return the uses of all cases of the lab, chosen or not: so the card does not depend on --cases, nor does it show which case --blind
 * has drawn. --card-mb adds an all-reduce. */
static inline struct card_uses lab_spec_uses(const struct lab_spec *spec, const struct options *base)
{
    struct card_uses uses = { .own = spec->costs };
    const struct run *run = (const struct run *)base;
    for (const struct variant *v = spec->variants; v->name; v++) {
        struct options *settings = lab_spec_settings(spec, base, v);
        if (spec->uses)
            spec->uses(settings, &uses);
        else
            card_use(&uses, ALL_REDUCE, first_ranks(run_of(settings)->ranks), 0);
        free(settings);
    }
    if (run->card_mb > 0)
        card_use(&uses, ALL_REDUCE, first_ranks(run->ranks), (double)(1 << 20) * run->card_mb);
    return uses;
}

#endif
