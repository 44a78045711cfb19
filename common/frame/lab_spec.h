/* story: what a lab tells about itself as data, so that one table drives help, run and report. */
#ifndef LOCKSTEP_STORY_H
#define LOCKSTEP_STORY_H

#include "base/memory.h"
#include "card/card.h"
#include "card/predict.h"
#include "model/tokens.h"
#include "model/workload.h"
#include "options/options.h"
#include "options/run.h"

#include <stddef.h>
#include <string.h>

struct options; /* each lab's own; begins with `struct run run` */

/* A variant is a change to the settings: what goes wrong, and what is done about it. Either may be NULL. */
struct variant {
    const char *name;
    void (*pathology)(struct options *options);
    void (*fix)(struct options *options);
    const char *idea; /* a few words */
};

struct lab_spec {
    const char *lab;                 /* "01_straggler" */
    const char *question;            /* one sentence, heads the help */
    const struct variant *variants;  /* the first is the baseline; a row without name ends them */
    const struct option_row *rows;   /* the lab's own options */
    size_t options_size;             /* sizeof (struct options) */
    const struct workload *workload; /* what it trains */
    /* Ends the program with STATUS_USAGE when the lab's own options make no sense together. */
    void (*refuse)(const struct options *options);
    /* Whether the lab's own options ask for something else than training, which one process writes to `out`, unless that
     * is NULL. May be NULL. */
    bool (*instead)(const struct options *options, FILE *out);
    /* Adds to run.cases what the lab's own options ask for. May be NULL. */
    void (*narrow)(struct options *options);
    /* Finds out of a case's settings what takes a while to find out, and nobody needs who only looks through the cases. May
     * be NULL. */
    void (*complete)(struct options *options);
    /* The formula: from settings and card, never from the run. */
    struct prediction (*predict)(const struct options *options, const struct card *card);
    /* What the lab itself opens in each rank that computes. */
    struct memory_estimate (*need)(const struct options *options);
    /* Bytes of a lab's largest message, where it is not the gradients; else NULL. */
    double (*largest_message)(const struct options *options);
    /* Collectives of a step, for a lab that may have more than ten; else NULL. */
    int (*collectives)(const struct options *options);
    /* Tokens and texts of the measured steps, for a lab that trains on texts; else NULL. */
    struct token_count *(*tokens)(const struct options *options);
    /* The case whose throughput per rank this one's efficiency is measured by; NULL for none, or no such function. */
    const char *(*per)(const struct options *options);
    /* What --blind draws beside the case, unless it was typed: the lab's option that holds a rank; NULL for none. */
    const char *hides;
    /* Of a case's settings, by construction: the rank on which the trouble sits; -1 where there is no such rank, or another
     * one in each step. NULL where that is so in every case. */
    int (*culprit)(const struct options *options);
    const char *asked; /* the case the learner is asked about, and the one that is explained */
    char *(*event)(const struct options *options); /* what the learner is told: "rank 0 sleeps 40 ms before …" */
    const char *const *pictured;                   /* cases drawn as lanes, NULL-terminated */
};

/* Every lab's options begin with a struct run. */
static inline struct run *run_of(struct options *options)
{
    return (struct run *)options;
}

/* The variant of that name; NULL when there is none. */
static inline const struct variant *lab_spec_find_variant(const struct lab_spec *spec, const char *name)
{
    for (const struct variant *v = spec->variants; v->name; v++)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

/* The base settings and the variant's change; free them. */
static inline struct options *lab_spec_settings(const struct lab_spec *spec, const struct options *base,
                                                const struct variant *variant)
{
    struct options *settings = memory_new(1, spec->options_size);
    memcpy(settings, base, spec->options_size);
    if (variant->pathology)
        variant->pathology(settings);
    if (variant->fix)
        variant->fix(settings);
    return settings;
}

/* Bytes of the largest message that the card must predict, beside the gradients; 0 for none. */
static inline double lab_spec_largest_message(const struct lab_spec *spec, const struct options *options)
{
    double asked = (double)(1 << 20) * ((const struct run *)options)->card_mb;
    double needed = spec->largest_message ? spec->largest_message(options) : 0;
    return needed > asked ? needed : asked;
}

#endif
