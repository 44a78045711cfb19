/* 04_small_work: settings of lab 04; what its step (04_small_work.c) and its formula share. */
#ifndef LOCKSTEP_LAB_04_H
#define LOCKSTEP_LAB_04_H

#include "frame/lab.h"
#include "frame/train.h"

struct options {
    struct run run;
    struct workload model;
    int micro_batches; /* of the small batch: one batch is cut into these */
    int times;         /* size of the larger batch, in batches */
    /* Set by the variants: */
    const char *per; /* reference case of the efficiency */
    bool sums_each;  /* sums each micro-batch instead of the step's total */
};

/* Predict a step of a case from its settings and the machine card. */
struct prediction predict(const struct options *o, const struct card *card);

#endif
