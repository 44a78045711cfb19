#include "model/transformer_activations.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of a run: those between two kept inputs, or all. */
static int run_length(const struct transformer_settings *of)
{
    const int every = of->recompute.every;
    return every > 0 && every < of->num_blocks ? every : of->num_blocks;
}

static int runs_of(const struct transformer_settings *of)
{
    return (of->num_blocks + run_length(of) - 1) / run_length(of);
}

static bool begins_run(const struct transformer_settings *of, int block)
{
    return block < of->num_blocks && block % run_length(of) == 0;
}

/* True if backward computes a block again. The last run's activations are still there when backward begins. */
static bool is_again(const struct transformer_settings *of, int block)
{
    return block >= 0 && block < (runs_of(of) - 1) * run_length(of);
}

/* Likewise its attention alone. */
static bool is_attention_again(const struct transformer_settings *of, int block)
{
    return of->recompute.attention_only && block < of->num_blocks - 1;
}

/* --- sizes --------------------------------------------------------------------------------------------------------- */

/* Float array and its length. All arrays are listed, for opening, closing and counting. */
struct buffer {
    float **at;
    double floats;
};
enum { OF_ATTENTION = 5, OF_BLOCK = 6, SHARED = 8 };

static void list_attention(struct buffer list[OF_ATTENTION], struct attended *a, const struct transformer_settings *of,
                           double R)
{
    const double C = of->hidden_dim, H = of->num_heads;
    const struct buffer all[OF_ATTENTION] = { { &a->normal1, R * C },
                                              { &a->moments1, R * 2 },
                                              { &a->qkv, R * 3 * C },
                                              { &a->attended, R * C },
                                              { &a->log_sum, R * H } };
    memcpy(list, all, sizeof all);
}

static void list_block(struct buffer list[OF_BLOCK], struct block *b, const struct transformer_settings *of, double R)
{
    const double C = of->hidden_dim;
    const struct buffer all[OF_BLOCK] = { { &b->middle, R * C }, { &b->normal2, R * C },   { &b->moments2, R * 2 },
                                          { &b->up, R * 2 * C }, { &b->slope, R * 2 * C }, { &b->top, R * C } };
    memcpy(list, all, sizeof all);
}

static void list_shared(struct buffer list[SHARED], struct activations *a)
{
    const double R = a->most.rows, B = a->most.samples, C = a->of.hidden_dim;
    const struct buffer all[SHARED] = {
        { &a->embedded, R * C },
        { &a->pooled, B * C },
        { &a->logits, B * a->of.num_classes },
        { &a->back, R * C },
        { &a->branch, R * C },
        { &a->wide, R * 3 * C },
        { &a->pooled_back, B * C },
        { &a->scratch, (double)device_attention_scratch((int)a->most.length) },
    };
    memcpy(list, all, sizeof all);
}

/* Floats that an array takes within a piece of memory: each begins at a multiple of 64 bytes. */
static size_t padded(double floats)
{
    return ((size_t)floats + 15) / 16 * 16;
}

static size_t piece_bytes(const struct buffer *list, int count)
{
    size_t floats = 0;
    for (int i = 0; i < count; i++)
        floats += padded(list[i].floats);
    return floats * sizeof(float);
}

static size_t attention_bytes(const struct activations *a)
{
    struct attended attention;
    struct buffer list[OF_ATTENTION];
    list_attention(list, &attention, &a->of, a->most.rows);
    return piece_bytes(list, OF_ATTENTION);
}

static size_t block_bytes(const struct activations *a)
{
    struct block block;
    struct buffer list[OF_BLOCK];
    list_block(list, &block, &a->of, a->most.rows);
    return piece_bytes(list, OF_BLOCK);
}

static size_t kept_bytes(const struct activations *a)
{
    return (size_t)(a->most.rows * a->of.hidden_dim) * sizeof(float);
}

/* Pieces in use at a time. */
struct pieces {
    int blocks, attentions, kept;
};

static double bytes_of(const struct activations *a, struct pieces pieces)
{
    return (double)pieces.blocks * (double)block_bytes(a) + (double)pieces.attentions * (double)attention_bytes(a) +
           (double)pieces.kept * (double)kept_bytes(a);
}

/* Pieces that the pool needs: the most of each kind. */
static struct pieces all_pieces(const struct transformer_settings *of)
{
    const int length = run_length(of);
    return (struct pieces){ .blocks = length,
                            .attentions = of->recompute.attention_only ? 1 : length,
                            .kept = runs_of(of) - 1 };
}

/* Most bytes of pieces in use: when backward begins, or when it has computed the run before the last, which may be longer, again. */
static double most_bytes(const struct activations *a)
{
    const struct transformer_settings *of = &a->of;
    const int runs = runs_of(of), last = of->num_blocks - (runs - 1) * run_length(of);
    struct pieces begin = all_pieces(of), before = begin;
    if (runs == 1)
        return bytes_of(a, begin);
    begin.blocks = begin.attentions = last;
    before.kept--;
    return fmax(bytes_of(a, begin), bytes_of(a, before));
}

struct memory_estimate transformer_memory(const union model_settings *settings, struct batch_most most)
{
    struct activations a = { .of = settings->transformer, .most = most };
    struct buffer shared[SHARED];
    struct memory_estimate memory = { 0 };
    list_shared(shared, &a);
    memory.of[MEMORY_ACTIVATIONS] = most_bytes(&a);
    memory.of[MEMORY_CACHED] = bytes_of(&a, all_pieces(&a.of)) - memory.of[MEMORY_ACTIVATIONS];
    for (int i = 0; i < SHARED; i++)
        memory.of[MEMORY_ACTIVATIONS] += shared[i].floats * sizeof(float);
    return memory;
}

/* --- memory -------------------------------------------------------------------------------------------------------- */

void *transformer_open(const union model_settings *settings, struct batch_most most)
{
    struct activations *a = memory_new(1, sizeof *a);
    *a = (struct activations){ .of = settings->transformer, .most = most, .pool = pool_open() };
    if (a->of.num_heads < 1 || a->of.hidden_dim % a->of.num_heads != 0 ||
        a->of.hidden_dim / a->of.num_heads > DEVICE_LANES)
        die(STATUS_WRONG, "%d heads cannot share a width of %d; choose heads of equal width, at most %d each",
            a->of.num_heads, a->of.hidden_dim, DEVICE_LANES);
    for (enum transformer_group group = 0; group < TRANSFORMER_GROUPS; group++)
        a->offset[group] = transformer_offset(&a->of, group);
    struct buffer shared[SHARED];
    list_shared(shared, a);
    for (int i = 0; i < SHARED; i++)
        *shared[i].at = device_new(MEMORY_ACTIVATIONS, (size_t)shared[i].floats, sizeof(float));
    a->block = memory_new((size_t)a->of.num_blocks, sizeof *a->block);
    a->kept = memory_new((size_t)runs_of(&a->of), sizeof *a->kept);
    const struct pieces pieces = all_pieces(&a->of);
    pool_reserve(a->pool, block_bytes(a), pieces.blocks);
    pool_reserve(a->pool, attention_bytes(a), pieces.attentions);
    pool_reserve(a->pool, kept_bytes(a), pieces.kept);
    return a;
}

/* Lay arrays one after another into a piece of memory. */
static void lay(const struct buffer *list, int count, float *memory)
{
    for (int i = 0; i < count; memory += padded(list[i].floats), i++)
        *list[i].at = memory;
}

void transformer_hold_attention(struct activations *a, int block)
{
    struct attended *at = &a->block[block].attention;
    struct buffer list[OF_ATTENTION];
    if (at->memory)
        return;
    at->memory = pool_take(a->pool, attention_bytes(a), MEMORY_ACTIVATIONS);
    list_attention(list, at, &a->of, a->most.rows);
    lay(list, OF_ATTENTION, at->memory);
}

void transformer_hold_block(struct activations *a, int block)
{
    struct block *b = &a->block[block];
    struct buffer list[OF_BLOCK];
    if (b->memory)
        return;
    b->memory = pool_take(a->pool, block_bytes(a), MEMORY_ACTIVATIONS);
    list_block(list, b, &a->of, a->most.rows);
    lay(list, OF_BLOCK, b->memory);
}

static void drop(struct activations *a, size_t bytes, void **memory)
{
    pool_give(a->pool, bytes, *memory);
    *memory = NULL;
}

static void drop_pieces(struct activations *a, int block)
{
    drop(a, attention_bytes(a), &a->block[block].attention.memory);
    drop(a, block_bytes(a), &a->block[block].memory);
}

static void drop_kept(struct activations *a, int run)
{
    void *memory = a->kept[run];
    drop(a, kept_bytes(a), &memory);
    a->kept[run] = NULL;
}

void transformer_drop_after_attention(struct activations *a, int block)
{
    if (is_attention_again(&a->of, block))
        drop(a, attention_bytes(a), &a->block[block].attention.memory);
    if (is_again(&a->of, block - 1) && !begins_run(&a->of, block))
        drop_pieces(a, block - 1);
}

void transformer_drop_after_block(struct activations *a, int block)
{
    if (is_again(&a->of, block) && begins_run(&a->of, block + 1))
        drop_pieces(a, block);
}

void transformer_drop_block(struct activations *a, int block)
{
    drop_pieces(a, block);
    if (begins_run(&a->of, block))
        drop_kept(a, block / run_length(&a->of));
}

void transformer_close(void *state)
{
    struct activations *a = state;
    struct buffer shared[SHARED];
    list_shared(shared, a);
    for (int i = 0; i < SHARED; i++)
        device_free(*shared[i].at);
    for (int block = 0; block < a->of.num_blocks; block++)
        transformer_drop_block(a, block);
    pool_close(a->pool);
    free(a->kept);
    free(a->block);
    free(a);
}

/* --- inputs and outputs --------------------------------------------------------------------------------------------- */

const float *transformer_input(const struct activations *a, int block)
{
    return block == 0                  ? a->embedded
           : begins_run(&a->of, block) ? a->kept[block / run_length(&a->of)]
                                       : a->block[block - 1].top;
}

float *transformer_output(struct activations *a, int block, bool is_again)
{
    const int run = (block + 1) / run_length(&a->of);
    if (is_again || !begins_run(&a->of, block + 1))
        return a->block[block].top;
    if (!a->kept[run])
        a->kept[run] = pool_take(a->pool, kept_bytes(a), MEMORY_ACTIVATIONS);
    return a->kept[run];
}

/* --- what is computed again ---------------------------------------------------------------------------------------- */

/* Return the first layer of the run that ends with `layer`, whose activations were not kept; layer + 1 if none ends there. */
int transformer_again_from(const union model_settings *settings, int layer)
{
    const struct transformer_settings *of = &settings->transformer;
    const int block = layer - 1;
    const bool ends_run = is_again(of, block) && begins_run(of, block + 1);
    return ends_run ? block / run_length(of) * run_length(of) + 1 : layer + 1;
}
