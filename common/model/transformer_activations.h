/* transformer_activations: what a transformer's forward keeps for its backward, and what backward computes again. Only the transformer's
 * own files include it; the legend is in transformer.h. */
#ifndef LOCKSTEP_TRANSFORMER_ACTIVATIONS_H
#define LOCKSTEP_TRANSFORMER_ACTIVATIONS_H

#include "model/model_type.h"
#include "model/transformer.h"

/* Activations of a block. Its input is the output of the layer before. */
struct block {
    struct attended {
        float *normal1, *moments1;       /* (R,C), (R,2) */
        float *qkv, *attended, *log_sum; /* (R,3C), (R,C), (R,H) */
    } attention;
    float *middle, *normal2, *moments2; /* (R,C), (R,C), (R,2): after the first residual */
    float *up, *slope, *top;            /* (R,2C), (R,2C), (R,C): after GELU, gelu', after the second residual */
    int holds;                          /* block whose activations these are now; -1: none */
};

/* If all activations are kept, each block has its own. If only every k-th block's input is, there are those of k blocks, which
 * forward uses again and again, and the outputs that are such an input have memory of their own. */
struct activations {
    struct transformer_settings of;
    size_t offset[TRANSFORMER_GROUPS]; /* of each group within the parameters of its layer */
    float *embedded;                   /* (R,C) */
    int sets;                          /* blocks that have activations at a time */
    int attending;                     /* block that attended last; -1: none */
    struct block *block;               /* (sets) */
    float **kept;           /* (runs) of (R,C): the input of each run of k blocks; that of the first is `embedded` */
    float *pooled, *logits; /* (B,C), (B,classes): the logits, then their gradient */
    float *pooled_back;     /* (B,C) */
    float *back, *branch,
        *wide;      /* (R,C), (R,C), (R,3C): gradients on the main path and beside it; all blocks use them */
    float *scratch; /* scratch of device_attention() */
};

/* What struct model_type asks of a type, under the same names. */
void *transformer_open(const union model_settings *settings, struct batch_most most);
void transformer_close(void *state);
double transformer_bytes(const union model_settings *settings, struct batch_most most);
int transformer_again_from(const void *state, int layer);
bool transformer_is_again(const union model_settings *settings, int layer);

/* Return the activations of a block now, and where its output goes: a run's input if the next block begins one. */
struct block *transformer_block(const struct activations *a, int block);
float *transformer_top(const struct activations *a, int block);

#endif
