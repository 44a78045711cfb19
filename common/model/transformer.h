/* transformer: classifies sequences. Embedding without positions, pre-norm blocks (layer norm, softmax attention,
 * residual; layer norm, C -> 2C -> C with GELU, residual), mean over a sequence's tokens, linear classifier, softmax
 * cross-entropy.
 *
 * Legend: C width, H heads, R rows of a batch (tokens, padding included), B its sequences. Layer 0 is the embedding, layers 1 … blocks
 * are the blocks, the last one is the classifier. Weights are (inputs, outputs). Initial parameters: embedding standard normal, norms
 * weight 1 and bias 0, linear layers uniform in +-1/sqrt(inputs), which are PyTorch's defaults. */
#ifndef LOCKSTEP_TRANSFORMER_H
#define LOCKSTEP_TRANSFORMER_H

#include <stdbool.h>
#include <stddef.h>

struct transformer_settings {
    int vocab_size;
    int hidden_dim; /* C, a multiple of num_heads */
    int num_heads;  /* H; C / H is at most DEVICE_LANES */
    int num_classes;
    int num_blocks;
    /* Activations that forward does not keep for backward, which computes them again. At most one of both. What backward needs first is
     * kept in any case: the last `every` blocks, or fewer if those before are a multiple of them; attention of the last block. */
    struct recomputing {
        int every;           /* k: of each k blocks keep the input only, of blocks 1, k + 1, 2 k + 1 …; 0: keep all */
        bool attention_only; /* within a block, keep all but what attention computes */
    } recompute;
    struct text_settings {          /* the sequences that it reads */
        int min_length, max_length; /* in tokens */
        int fixed_length;           /* of all sequences if they do not vary */
        int max_tokens;             /* token budget of a batch */
        double outlier_prob;        /* share of sequences with max_length */
    } texts;
};

extern const struct model_type transformer_type;

/* Groups of parameters, in their order. */
enum transformer_group {
    EMBEDDING, /* (vocab,C): layer 0 */
    NORM1_WEIGHT,
    NORM1_BIAS, /* (C): from here, a block */
    QKV_WEIGHT,
    QKV_BIAS, /* (C,3C) and (3C): queries, keys, values */
    JOIN_WEIGHT,
    JOIN_BIAS, /* (C,C) and (C): for the heads' outputs */
    NORM2_WEIGHT,
    NORM2_BIAS, /* (C) */
    UP_WEIGHT,
    UP_BIAS, /* (C,2C) and (2C) */
    DOWN_WEIGHT,
    DOWN_BIAS, /* (2C,C) and (C) */
    CLASS_WEIGHT,
    CLASS_BIAS, /* (C,classes) and (classes): the last layer */
    TRANSFORMER_GROUPS
};

/* Return where a group begins within the parameters of its layer. */
size_t transformer_offset(const struct transformer_settings *settings, enum transformer_group group);

#endif
