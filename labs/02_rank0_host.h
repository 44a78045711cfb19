/* 02_rank0_host: settings of lab 02; what its step (02_rank0_host.c) and its formula share. */
#ifndef LOCKSTEP_LAB_02_H
#define LOCKSTEP_LAB_02_H

#include "frame/lab.h"
#include "frame/train.h"

struct options {
    struct run run;
    struct workload model;
    double host_ms; /* rank 0's work on the host */
    int every;      /* steps from one host work to the next */
    int seldom;     /* the fix: this many times less often */
    /* Set by the variants: */
    enum stall_kind work; /* asleep (a disk, a server) or busy (serialising, formatting) */
    int period;           /* steps from one host work to the next in this case */
    bool has_barrier;
    bool in_helper; /* an async helper does the host work beside the step */
    bool is_spread;
    bool has_straggler; /* rank 1 sleeps host_ms before each fetch */
};

/* Seconds of host work of `rank` each time it is due. */
double host_seconds(const struct options *o, int rank);

/* Seconds that `rank` sleeps before each fetch. The straggler is rank 1; a lone rank is its own straggler. */
double data_seconds(const struct options *o, int rank);

/* Predict a step of a case from its settings and the machine card. */
struct prediction predict(const struct options *o, const struct card *card);

#endif
