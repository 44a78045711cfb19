/* model_type: the functions that a type of model has; model.h and workload.h do the rest. Only files of this room include it.
 *
 * A new type is a file like mlp.c, and a member of union model_settings. Functions of settings take the settings of their type. */
#ifndef LOCKSTEP_MODEL_TYPE_H
#define LOCKSTEP_MODEL_TYPE_H

#include "model/batch.h"
#include "model/model.h"
#include "model/weights.h"

struct model_type {
    enum work_model costs; /* model whose costs a simulated machine charges */
    bool charges_layers; /* it charges backward layer by layer; otherwise only if a hook asks for a layer's gradients */
    double learning_rate;          /* the published one */
    const struct option_row *rows; /* options; offsets in struct workload */

    char *(*name)(const union model_settings *settings);
    /* End the program with STATUS_USAGE if settings contradict each other; NULL if they cannot. */
    void (*refuse)(const union model_settings *settings, const struct run *run);
    int (*layers)(const union model_settings *settings);
    /* List a layer's parameters, part by part, with their initial values. */
    void (*parameters)(const union model_settings *settings, int layer, struct weights_list *list);
    /* Floating-point operations of a layer's pass, WORK_FORWARD or WORK_BACKWARD. */
    double (*flops)(const union model_settings *settings, struct work work, int layer, enum work_pass pass);

    /* Data that it trains on by default: samples of `words` 4-byte words. */
    struct sample_words {
        int words, classes;
        int vocab; /* words are tokens 1 … vocab-1 of a sequence; 0: they are features */
    } (*sample)(const union model_settings *settings);

    /* The machine card fits costs to batches of several shapes, the smallest first, none of them a lab's own. */
    int shapes;
    unsigned terms; /* terms of the costs: bits 1 << COST_... */
    /* Change settings and run to those of a shape. */
    void (*shape)(union model_settings *settings, struct run *run, int shape);

    /* Open and close a model's own state: activations for batches up to `most`. The third one returns their bytes in use at the peak, and
     * what pools keep then. */
    void *(*open)(const union model_settings *settings, struct batch_most most);
    void (*close)(void *state);
    struct memory_estimate (*memory)(const union model_settings *settings, struct batch_most most);
    /* Return the first layer whose forward runs again, up to `layer`, before backward of `layer` (layer + 1: none); and the floating-point
     * operations that a layer's backward itself computes again. NULL: the model keeps all activations. */
    int (*again_from)(const union model_settings *settings, int layer);
    double (*flops_again)(const union model_settings *settings, struct work work, int layer);
    /* Compute a layer's pass. Forward of the last layer writes its loss to losses_next(). */
    void (*forward)(struct model *model, const struct batch *batch, int layer);
    void (*backward)(struct model *model, const struct batch *batch, int layer);
};

#endif
