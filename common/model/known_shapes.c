#include "model/known_shapes.h"

#include <math.h>

/* clang-format off */
const struct known_shape known_shapes[KNOWN_SHAPES] = {
    /*                                                                                            gated tied   biases qkv */
    { "gpt2",        12, 768,  12, 12, 3072,  50257,  1024, false, true,  true,  true,  124439808 },
    { "gpt2-xl",     48, 1600, 25, 25, 6400,  50257,  1024, false, true,  true,  true,  1557611200 },
    { "llama2-7b",   32, 4096, 32, 32, 11008, 32000,  0,    true,  false, false, false, 6738415616 },
    { "mistral-7b",  32, 4096, 32, 8,  14336, 32000,  0,    true,  false, false, false, 7241732096 },
    { "llama3-8b",   32, 4096, 32, 8,  14336, 128256, 0,    true,  false, false, false, 8030261248 },
    { "llama2-70b",  80, 8192, 64, 8,  28672, 32000,  0,    true,  false, false, false, 68976648192 },
    { "llama3-70b",  80, 8192, 64, 8,  28672, 128256, 0,    true,  false, false, false, 70553706496 },
    { "qwen2-72b",   80, 8192, 64, 8,  29568, 152064, 0,    true,  false, false, true,  72706203648 },
};
/* clang-format on */

/* Width of keys, and of values. */
static double shared_width(const struct known_shape *s)
{
    return s->width / s->heads * s->shared_heads;
}

/* Parameters of a norm: a weight, and a bias where linear layers have one, too. */
static double norm(const struct known_shape *s)
{
    return s->width * (s->has_biases ? 2 : 1);
}

double known_shape_block(const struct known_shape *s)
{
    const double h = s->width, shared = shared_width(s), matrices = s->is_gated ? 3 : 2,
                 weights = 2 * h * h + 2 * h * shared + matrices * h * s->inner,
                 biases = (s->has_qkv_biases ? h + 2 * shared : 0) + (s->has_biases ? h + s->inner + h : 0);
    return weights + biases + 2 * norm(s);
}

double known_shape_parameters(const struct known_shape *s)
{
    const double embeddings = (s->is_tied ? 1 : 2) * s->vocabulary + s->positions;
    return s->layers * known_shape_block(s) + embeddings * s->width + norm(s);
}

/* Width inside a block's MLP, of all arrays that are there at a time in a pass. */
static double widest(const struct known_shape *s)
{
    return s->inner * (s->is_gated ? 2 : 1);
}

/* Input and output of both norms, queries, output of attention (2 bytes each), keys and values; and inside the MLP one array for each
 * matrix that widens and what becomes of it: two arrays, or four if gated. */
double known_shape_token_bytes(const struct known_shape *s)
{
    return 2 * (6 * s->width + 2 * shared_width(s) + 2 * widest(s));
}

double known_shape_attention_bytes(const struct known_shape *s)
{
    return 2 * (3 * s->width + 2 * shared_width(s));
}

double known_shape_way_bytes(const struct known_shape *s)
{
    return 2 * (2 * s->width + fmax(s->width + 2 * shared_width(s), widest(s)));
}

/* Two products of attention, of a token with all of its text; two operations for a multiplication and its addition. */
double known_shape_attention_flops(const struct known_shape *s, double length)
{
    return 2 * (s->width * (s->width + 2 * shared_width(s)) + 2 * length * s->width);
}

double known_shape_block_flops(const struct known_shape *s, double length)
{
    const double matrices = s->is_gated ? 3 : 2;
    return known_shape_attention_flops(s, length) + 2 * s->width * (s->width + matrices * s->inner);
}
