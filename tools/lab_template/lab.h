/* @NAME@: settings of lab @NN@; what its step (@NAME@.c) and its formula share. */
#ifndef LOCKSTEP_LAB_@NN@_H
#define LOCKSTEP_LAB_@NN@_H

#include "frame/lab.h"
#include "frame/train.h"

struct options {
    struct run run;
    struct workload model;
    double stall_ms; /* sleep before a fetch */
    int seldom;      /* the fix: this many times less often */
    /* Set by the variants: */
    int every; /* steps from one stall to the next; 0: none */
};

/* Predict a step of a case from its settings and the machine card: costs measured before any case runs. */
struct prediction predict(const struct options *o, const struct card *card);

#endif
