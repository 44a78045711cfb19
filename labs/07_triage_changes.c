/* 07_triage_changes: what --verdict changes in a case of lab 07, a suspect each:
 *
 *     data            one batch, made before the measured steps, is there already
 *     launches        operations are replayed from a list: the same loops without dispatch, allocation and tape
 *     memory          the branches move half the bytes at equal arithmetic; the model's matrices are in the cache, so they stay
 *     compute         the branches compute half at equal bytes, and the model trains on half the samples
 *     communication   ranks do not sum their gradients */
#include "07_triage.h"

static bool has_launches(const struct options *o)
{
    bool has = false;
    for (int i = 0; i < BRANCHES; i++)
        has |= o->branch[i].of.kind != BRANCH_NONE && o->branch[i].of.way == BRANCH_EAGER;
    return has;
}

static bool has_branch(const struct options *o)
{
    bool has = false;
    for (int i = 0; i < BRANCHES; i++)
        has |= o->branch[i].of.kind != BRANCH_NONE;
    return has;
}

static bool has_ranks(const struct options *o)
{
    return o->run.ranks > 1;
}

static void from_memory(struct options *o)
{
    o->from_memory = true;
    o->run.cycle = 1; /* no workers take turns */
}

static void replayed(struct options *o)
{
    for (int i = 0; i < BRANCHES; i++)
        if (o->branch[i].of.way == BRANCH_EAGER)
            o->branch[i].of.way = BRANCH_REPLAY;
}

static void half_the_bytes(struct options *o)
{
    for (int i = 0; i < BRANCHES; i++)
        o->branch[i].of.half = HALF_BYTES;
}

/* The model's matrices stay: half the samples of a batch need half its products. */
static void half_the_flops(struct options *o)
{
    o->has_half_the_samples = true;
    for (int i = 0; i < BRANCHES; i++)
        o->branch[i].of.half = HALF_FLOPS;
}

static void apart(struct options *o)
{
    o->is_apart = true;
}

const struct lab_change changes[] = {
    { "data", 1, from_memory, NULL, false },
    { "launches", 1, replayed, has_launches, false },
    { "memory", 2, half_the_bytes, has_branch, false },
    { "compute", 2, half_the_flops, NULL, false },
    { "communication", 1, apart, has_ranks, true },
    { 0 },
};
