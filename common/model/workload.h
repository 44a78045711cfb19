/* subject: what a lab trains, as far as those must know that prepare and explain its run: the machine card, the question
 * to the learner, the refusal of models too large. */
#ifndef LOCKSTEP_SUBJECT_H
#define LOCKSTEP_SUBJECT_H

#include "model/adamw.h"
#include "model/weights.h"
#include "options/memory_estimate.h"
#include "options/options.h"
#include "options/run.h"
#include "options/work.h"

/* What a rank's bench holds, device memory. */
struct workload_parts {
    float *parameters, *gradients; /* (count) */
    size_t count;
    const struct adamw *optimizer;
    struct weights weights;      /* the parameters at first */
    double (*loss)(void *bench); /* of a sample in the last pass, the mean */
};

struct workload {
    enum work_model model;                           /* whose costs a modelled machine charges */
    const struct option_row *rows;                   /* of the model; offsets count from the start of struct run */
    char *(*name)(const struct run *run);            /* tells models apart: "mlp 1024-1024-1024-1000"; to be freed */
    double (*gradient_bytes)(const struct run *run); /* what one synchronisation has to sum */
    struct work (*usual)(const struct run *run);     /* a batch of a rank */
    double (*flops)(const struct run *run, struct work work); /* of forward and backward */
    void (*refuse)(
        const struct run *run); /* ends the program with STATUS_USAGE when the rows contradict; may be NULL */

    /* A rank's own steps without any collective, for the card. Batches come in shapes 0 … shapes - 1, the smallest first,
     * of which none is the labs' own; costs are fitted to them in the `terms` named (bits 1 << COST_...). */
    int shapes;
    unsigned terms;
    void *(*open)(const struct run *run);
    struct memory_estimate (*need)(const struct run *run,
                                   int shapes); /* of what is opened so, with the first `shapes` chosen */
    void (*close)(void *bench);
    struct work (*shape)(void *bench, int shape); /* from now on */
    void (*fetch)(void *bench);
    void (*pass)(void *bench);
    void (*update)(void *bench);
    void (*spare)(void *bench);                  /* there will be no other update: what only that needs is let go */
    struct workload_parts (*parts)(void *bench); /* of the shape that was chosen */
};

/* The MLP of labs 01 to 04; the transformer of lab 05. */
extern const struct workload subject_mlp, subject_text;

#endif
