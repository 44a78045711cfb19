/* 07_triage_step: the loader and the branches of a step of lab 07, and the part of a batch that its model trains on. */
#include "07_triage.h"

#include <stdlib.h>

struct worker_loader *workers_open(struct lab *lab, const struct options *base)
{
    return worker_loader_open(&base->model, &base->run, most_samples(base), most_workers(base),
                              world_spare_cores(lab_world(lab)));
}

struct branches {
    struct options o;
    struct branch *of[BRANCHES]; /* NULL: none, or on a modelled machine */
    struct {
        double forward, backward; /* seconds; 0: none, or a real machine */
    } modelled[BRANCHES];
};

struct branches *branches_open(const struct options *o)
{
    struct branches *b = memory_new(1, sizeof *b);
    b->o = *o;
    for (int i = 0; i < BRANCHES; i++)
        if (device_computes()) {
            b->of[i] = branch_open(o->branch[i].of, o->run.seed);
        } else {
            b->modelled[i].forward = branch_modelled_seconds(o->branch[i].of, false);
            b->modelled[i].backward = branch_modelled_seconds(o->branch[i].of, true);
        }
    return b;
}

void branches_close(struct branches *b)
{
    for (int i = 0; i < BRANCHES; i++)
        branch_close(b->of[i]);
    free(b);
}

void branches_run(struct branches *b, const struct batch *batch)
{
    const size_t floats = (size_t)batch->samples * (size_t)b->o.model.of.mlp.input_dim;
    for (int i = 0; i < BRANCHES; i++)
        for (int pass = 0; pass < b->o.branch[i].passes; pass++)
            if (b->of[i]) {
                branch_forward(b->of[i], batch->features, floats);
                branch_backward(b->of[i]);
            } else if (b->modelled[i].forward + b->modelled[i].backward > 0) {
                world_burn_cpu(b->modelled[i].forward);
                world_burn_cpu(b->modelled[i].backward);
            }
}

struct eager_count branches_count(const struct branches *b)
{
    struct eager_count all = { 0 };
    for (int i = 0; i < BRANCHES; i++) {
        if (!b->of[i])
            continue;
        const struct eager_count one = branch_count(b->of[i]);
        all.dispatched += b->o.branch[i].passes * one.dispatched;
        all.work.bytes += b->o.branch[i].passes * one.work.bytes;
        all.work.flops += b->o.branch[i].passes * one.work.flops;
    }
    return all;
}

struct batch part_of_batch(const struct options *o, const struct batch *batch)
{
    struct batch part = *batch;
    if (o->has_half_the_samples)
        part.samples = (batch->samples + 1) / 2;
    return part;
}
