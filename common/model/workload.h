/* workload: a model that a lab trains, for code that prepares or explains a run: the machine card, the prediction prompt,
 * the refusal of models too large. */
#ifndef LOCKSTEP_WORKLOAD_H
#define LOCKSTEP_WORKLOAD_H

#include "model/adamw.h"
#include "model/weights.h"
#include "options/memory_estimate.h"
#include "options/options.h"
#include "options/run.h"
#include "options/work.h"

/* Arrays of a rank's bench, in device memory, and functions to check them. */
struct workload_parts {
    float *parameters, *gradients; /* (count) */
    size_t count;
    const struct adamw *optimizer;
    struct weights weights;      /* initial parameters */
    double (*loss)(void *bench); /* mean over the samples of the last pass */
};

struct workload {
    enum work_model model;                                    /* model whose costs a simulated machine charges */
    const struct option_row *rows;                            /* options of the model; offsets in struct run */
    char *(*name)(const struct run *run);                     /* unique name, to be freed: "mlp 1024-1024-1024-1000" */
    double (*gradient_bytes)(const struct run *run);          /* bytes that one synchronisation sums */
    struct work (*usual)(const struct run *run);              /* usual batch of a rank */
    double (*flops)(const struct run *run, struct work work); /* flops of forward and backward */
    void (*refuse)(const struct run *run); /* ends the program with STATUS_USAGE if options conflict; may be NULL */

    /* Steps of one rank without any collective, for the machine card. Batches come in shapes 0 … shapes - 1, the
     * smallest first; none of them is a lab's own shape. Costs are fitted to them, in the given `terms`
     * (bits 1 << COST_...). */
    int shapes;
    unsigned terms;
    void *(*open)(const struct run *run);
    struct memory_estimate (*need)(const struct run *run, int shapes); /* memory with the first `shapes` chosen */
    void (*close)(void *bench);
    struct work (*shape)(void *bench, int shape); /* chooses a shape for the calls below */
    void (*fetch)(void *bench);
    void (*pass)(void *bench);
    void (*update)(void *bench);
    void (*spare)(void *bench);                  /* frees what only updates need; no update may follow */
    struct workload_parts (*parts)(void *bench); /* arrays of the chosen shape */
};

/* MLP of labs 01 to 04; transformer of lab 05. */
extern const struct workload workload_mlp, workload_transformer;

#endif
