#include "model/transformer_activations.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

/* Blocks that have activations at a time: those of a run between two kept inputs, or all. */
static int sets_of(const struct transformer_settings *of)
{
    const int every = of->recompute.every;
    return every > 0 && every < of->num_blocks ? every : of->num_blocks;
}

static int runs_of(const struct transformer_settings *of)
{
    return (of->num_blocks + sets_of(of) - 1) / sets_of(of);
}

/* Float array and its length. All arrays are listed, for opening, closing and counting. */
struct buffer {
    float **at;
    double floats;
};
enum { OF_ATTENTION = 5, OF_BLOCK = 6, SHARED = 8 };

static void list_attention(struct buffer list[OF_ATTENTION], struct block *b, const struct transformer_settings *of,
                           double R)
{
    const double C = of->hidden_dim, H = of->num_heads;
    struct attended *a = &b->attention;
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

static void list_shared(struct buffer list[SHARED], struct activations *a, struct batch_most most)
{
    const double R = most.rows, B = most.samples, C = a->of.hidden_dim;
    const struct buffer all[SHARED] = {
        { &a->embedded, R * C },
        { &a->pooled, B * C },
        { &a->logits, B * a->of.num_classes },
        { &a->back, R * C },
        { &a->branch, R * C },
        { &a->wide, R * 3 * C },
        { &a->pooled_back, B * C },
        { &a->scratch, (double)device_attention_scratch((int)most.length) },
    };
    memcpy(list, all, sizeof all);
}

static void open_buffers(const struct buffer *list, int count)
{
    for (int i = 0; i < count; i++)
        *list[i].at = device_new(MEMORY_ACTIVATIONS, (size_t)list[i].floats, sizeof(float));
}

/* If attention is computed again, all blocks share its activations. */
static void open_block(struct activations *a, int i, double R)
{
    struct block *b = &a->block[i];
    struct buffer of_block[OF_BLOCK], of_attention[OF_ATTENTION];
    ledger_layer(i + 1);
    b->holds = -1;
    list_block(of_block, b, &a->of, R);
    open_buffers(of_block, OF_BLOCK);
    list_attention(of_attention, b, &a->of, R);
    if (i == 0 || !a->of.recompute.attention_only)
        open_buffers(of_attention, OF_ATTENTION);
    else
        b->attention = a->block[0].attention;
}

void *transformer_open(const union model_settings *settings, struct batch_most most)
{
    struct activations *a = memory_new(1, sizeof *a);
    a->of = settings->transformer;
    if (a->of.num_heads < 1 || a->of.hidden_dim % a->of.num_heads != 0 ||
        a->of.hidden_dim / a->of.num_heads > DEVICE_LANES)
        die(STATUS_WRONG, "%d heads cannot share a width of %d; choose heads of equal width, at most %d each",
            a->of.num_heads, a->of.hidden_dim, DEVICE_LANES);
    for (enum transformer_group group = 0; group < TRANSFORMER_GROUPS; group++)
        a->offset[group] = transformer_offset(&a->of, group);
    struct buffer shared[SHARED];
    list_shared(shared, a, most);
    open_buffers(shared, SHARED);
    a->sets = sets_of(&a->of);
    a->attending = -1;
    a->block = memory_new((size_t)a->sets, sizeof *a->block);
    a->kept = memory_new((size_t)runs_of(&a->of), sizeof *a->kept);
    for (int i = 0; i < a->sets; i++)
        open_block(a, i, most.rows);
    for (int run = 1; run < runs_of(&a->of); run++) {
        ledger_layer(run * a->sets);
        a->kept[run] = device_new(MEMORY_ACTIVATIONS, (size_t)(most.rows * a->of.hidden_dim), sizeof(float));
    }
    ledger_layer(-1);
    return a;
}

static double sum_floats(const struct buffer *list, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += list[i].floats;
    return sum;
}

double transformer_bytes(const union model_settings *settings, struct batch_most most)
{
    struct activations a = { .of = settings->transformer };
    struct block block;
    struct buffer shared[SHARED], of_block[OF_BLOCK], of_attention[OF_ATTENTION];
    list_shared(shared, &a, most);
    list_block(of_block, &block, &a.of, most.rows);
    list_attention(of_attention, &block, &a.of, most.rows);
    const double sets = sets_of(&a.of), attentions = a.of.recompute.attention_only ? 1 : sets,
                 kept = (runs_of(&a.of) - 1) * most.rows * a.of.hidden_dim;
    return (sum_floats(shared, SHARED) + sets * sum_floats(of_block, OF_BLOCK) +
            attentions * sum_floats(of_attention, OF_ATTENTION) + kept) *
           sizeof(float);
}

static void close_buffers(const struct buffer *list, int count)
{
    for (int i = 0; i < count; i++)
        device_free(*list[i].at);
}

void transformer_close(void *state)
{
    struct activations *a = state;
    const struct batch_most none = { 0 };
    struct buffer shared[SHARED], of_block[OF_BLOCK], of_attention[OF_ATTENTION];
    list_shared(shared, a, none);
    close_buffers(shared, SHARED);
    for (int i = 0; i < a->sets; i++) {
        list_block(of_block, &a->block[i], &a->of, 0);
        close_buffers(of_block, OF_BLOCK);
        list_attention(of_attention, &a->block[i], &a->of, 0);
        if (i == 0 || !a->of.recompute.attention_only)
            close_buffers(of_attention, OF_ATTENTION);
    }
    for (int run = 1; run < runs_of(&a->of); run++)
        device_free(a->kept[run]);
    free(a->kept);
    free(a->block);
    free(a);
}

/* --- what is computed again ---------------------------------------------------------------------------------------- */

struct block *transformer_block(const struct activations *a, int block)
{
    return &a->block[block % a->sets];
}

float *transformer_top(const struct activations *a, int block)
{
    const int run = (block + 1) / a->sets;
    return (block + 1) % a->sets == 0 && run < runs_of(&a->of) ? a->kept[run] : transformer_block(a, block)->top;
}

/* The last run's activations are still there when backward begins. */
bool transformer_is_again(const union model_settings *settings, int layer)
{
    const struct transformer_settings *of = &settings->transformer;
    return layer >= 1 && layer <= (runs_of(of) - 1) * sets_of(of);
}

/* Backward of a block reads its own activations and its input, which the block before may have had to write again. */
int transformer_again_from(const void *state, int layer)
{
    const struct activations *a = state;
    const int block = layer - 1, first = block / a->sets * a->sets; /* of the run */
    bool is_there = true;
    if (block < 0 || block >= a->of.num_blocks)
        return layer + 1;
    for (int i = first; i <= block; i++)
        is_there &= transformer_block(a, i)->holds == i;
    return is_there ? layer + 1 : first + 1;
}
