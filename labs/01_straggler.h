/* 01_straggler: settings of lab 01; what its step (01_straggler.c) and its formula share. */
#ifndef LOCKSTEP_LAB_01_H
#define LOCKSTEP_LAB_01_H

#include "frame/lab.h"
#include "frame/train.h"

struct options {
    struct run run;
    struct workload model;
    int slow_rank;
    double sleep_ms; /* stall before each fetch, asleep or busy */
    int slow_factor; /* the slow core runs its passes this many times */
    int every;       /* the k of the fix */
    double chance;   /* probability of a stall per rank and step (case chance) */
    /* Set by the variants: */
    enum stall_kind stall;
    bool roams;   /* the stall hits a random rank each step */
    bool chances; /* … or it hits each rank by chance: several or none */
    int passes;   /* how often the slow rank runs forward and backward */
    bool shares;  /* the slow rank gets fewer samples of the same global batch */
};

/* Deal out the global batch: evenly, or by the speeds on the card so that all ranks end together. samples (ranks). */
void deal(const struct options *o, const struct card *card, int *samples);

/* Predict a step of a case from its settings and the machine card: costs measured before any case runs. */
struct prediction predict(const struct options *o, const struct card *card);

#endif
