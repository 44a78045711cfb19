/* known_shapes: sizes of well-known public transformers, as their configuration files have them, and how many parameters these make. For
 * calculators: nothing here can be trained. */
#ifndef LOCKSTEP_KNOWN_SHAPES_H
#define LOCKSTEP_KNOWN_SHAPES_H

#include <stdbool.h>

struct known_shape {
    const char *name; /* "llama2-7b" */
    double layers, width;
    double heads, shared_heads; /* of queries; of keys and values (grouped-query attention) */
    double inner;               /* width inside a block's MLP */
    double vocabulary;
    double positions; /* learned position embeddings; 0: none */
    bool is_gated;    /* three matrices in the MLP instead of two */
    bool is_tied;     /* the embedding is also the last layer */
    bool has_biases, has_qkv_biases;
    double published; /* parameters, as its makers or its checkpoint state */
};

/* Names in the order of known_shapes[], for an option. */
#define KNOWN_SHAPES_WORDS "gpt2 gpt2-xl llama2-7b mistral-7b llama3-8b llama2-70b llama3-70b qwen2-72b"
enum { KNOWN_SHAPES = 8 };
extern const struct known_shape known_shapes[KNOWN_SHAPES];

/* Return the parameters of a block; and of the whole model. */
double known_shape_block(const struct known_shape *shape);
double known_shape_parameters(const struct known_shape *shape);

/* Return the bytes of activations that a block keeps for a token, at 16 bit and without stored scores. With two matrices four times as wide
 * inside and as many heads of keys as of queries that is 32 × width: the 34 of Korthikanti et al. (2022) without masks of dropout. */
double known_shape_token_bytes(const struct known_shape *shape);

/* Likewise of attention alone, which a recomputed attention does not keep: its norm, queries, keys, values, and output; and of the
 * gradients on backward's way through a block: of its output, of what is beside it, and of the widest array. */
double known_shape_attention_bytes(const struct known_shape *shape);
double known_shape_way_bytes(const struct known_shape *shape);

/* Return the operations of a block's forward for a token in a text of `length` tokens, each of which attends to all; those of queries,
 * keys, values and attention alone. */
double known_shape_block_flops(const struct known_shape *shape, double length);
double known_shape_attention_flops(const struct known_shape *shape, double length);

#endif
