/* transformer_activations: what a transformer's forward keeps for its backward, and what backward computes again. Only the transformer's
 * own files include it; the legend is in transformer.h.
 *
 * A block's activations are taken from a pool when forward computes them, and given back when backward has used them. Those that backward
 * computes again are given back in forward already. A run is a series of `every` blocks, of which only the input is kept. */
#ifndef LOCKSTEP_TRANSFORMER_ACTIVATIONS_H
#define LOCKSTEP_TRANSFORMER_ACTIVATIONS_H

#include "device/pool.h"
#include "model/model_type.h"
#include "model/transformer.h"

/* Activations of a block, in two pieces of memory. Its input is the output of the layer before. */
struct block {
    struct attended {
        void *memory;                    /* of the arrays below; NULL: they are not there */
        float *normal1, *moments1;       /* (R,C), (R,2) */
        float *qkv, *attended, *log_sum; /* (R,3C), (R,C), (R,H) */
    } attention;
    void *memory;                       /* of the arrays below; NULL: they are not there */
    float *middle, *normal2, *moments2; /* (R,C), (R,C), (R,2): after the first residual */
    float *up, *slope, *top;            /* (R,2C), (R,2C), (R,C): after GELU, gelu', after the second residual */
};

struct activations {
    struct transformer_settings of;
    size_t offset[TRANSFORMER_GROUPS]; /* of each group within the parameters of its layer */
    struct batch_most most;            /* R is most.rows, B most.samples */
    struct pool *pool;                 /* of the blocks */
    struct block *block;               /* (blocks) */
    float **kept;                      /* (runs) the input of each run after the first; NULL: not there */
    float *embedded;                   /* (R,C): the input of the first block */
    float *pooled, *logits;            /* (B,C), (B,classes): the logits, then their gradient */
    float *pooled_back;                /* (B,C) */
    float *back, *branch,
        *wide;      /* (R,C), (R,C), (R,3C): gradients on the main path and beside it; all blocks use them */
    float *scratch; /* scratch of device_attention() */
};

/* Functions of struct model_type, under the same names. */
void *transformer_open(const union model_settings *settings, struct batch_most most);
void transformer_close(void *state);
struct memory_estimate transformer_memory(const union model_settings *settings, struct batch_most most);
int transformer_again_from(const union model_settings *settings, int layer);

/* Take memory for the activations of a block's attention, and of the rest of the block, unless they have it already. */
void transformer_hold_attention(struct activations *a, int block);
void transformer_hold_block(struct activations *a, int block);

/* Give back what backward computes again, as soon as forward no longer needs it. After a block's attention: what that kept, if backward
 * computes attention alone again; else the block before, whose output was the input. After the block: itself, if its output is kept. */
void transformer_drop_after_attention(struct activations *a, int block);
void transformer_drop_after_block(struct activations *a, int block);

/* Give back all of a block, which backward has passed. */
void transformer_drop_block(struct activations *a, int block);

/* Return the input of a block, or of the classifier (block: the number of blocks); and where a block writes its output: memory that is kept
 * if the next block begins a run, and forward does not only run again. */
const float *transformer_input(const struct activations *a, int block);
float *transformer_output(struct activations *a, int block, bool is_again);

#endif
