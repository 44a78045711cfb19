#include "model/branch.h"

#include "base/bf16.h"
#include "base/die.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>

struct branch {
    struct branch_settings of;
    struct eager *eager;
    struct tensor *x, *v, *w;   /* input; parameters of MICRO */
    struct norm_weights norm;   /* parameters of NORM */
    struct device_chain *fused; /* of FUSED, with its end and the gradients of v and w */
    void *end, *seed;           /* the chain's end, and its gradient (not of FUSED) */
    float *v_gradient, *w_gradient;
    bool is_recorded;
    struct eager_count count;
    eager_watcher *after; /* each operation */
    void *context;
};

static size_t cells_of(const struct branch_settings *of)
{
    return (size_t)of->rows * (size_t)of->cols;
}

/* The operations of MICRO do not tell rows apart: a tensor of one row runs in one loop. */
static size_t rows_of(const struct branch_settings *of)
{
    return of->kind == BRANCH_MICRO ? 1 : (size_t)of->rows;
}

static size_t cols_of(const struct branch_settings *of)
{
    return of->kind == BRANCH_MICRO ? cells_of(of) : (size_t)of->cols;
}

/* The bytes of a single row of NORM cannot be halved. An operation on fewer cells than two groups takes longer in two parts than as a
 * whole. */
static enum half half_of(const struct branch_settings *of)
{
    const bool is_single = of->kind == BRANCH_NORM && of->rows == 1 && of->half == HALF_BYTES,
               is_tiny = of->way != BRANCH_FUSED && cells_of(of) < 2 * HALF_GROUP;
    return is_single || is_tiny ? HALF_NONE : of->half;
}

/* Return the cells that are touched. */
static size_t touched_of(const struct branch_settings *of)
{
    return half_touched(half_of(of), rows_of(of), cols_of(of));
}

static size_t cell_bytes(const struct branch_settings *of)
{
    return of->is_bf16 ? sizeof(uint16_t) : sizeof(float);
}

static struct chain chain_of(const struct branch_settings *of)
{
    return (struct chain){ of->kind == BRANCH_NORM, of->is_bf16, of->blocks, of->rows, of->cols, of->half };
}

static void open_norm(struct branch *b)
{
    const size_t cols = (size_t)b->of.cols;
    b->norm = (struct norm_weights){ device_new(MEMORY_PARAMETERS, cols, sizeof(float)),
                                     device_new(MEMORY_PARAMETERS, cols, sizeof(float)),
                                     device_new(MEMORY_GRADIENTS, cols, sizeof(float)),
                                     device_new(MEMORY_GRADIENTS, cols, sizeof(float)) };
    device_fill(b->norm.weight, 1, cols);
}

static struct tensor *open_parameter(struct branch *b, struct random *random)
{
    struct tensor *tensor = eager_keep(b->eager);
    const size_t cells = cells_of(&b->of);
    float *value = memory_new(cells, sizeof *value);
    for (size_t i = 0; i < cells; i++)
        value[i] = 0.1f * (float)random_normal(random);
    device_put(tensor->data, value, cells * sizeof *value);
    free(value);
    return tensor;
}

struct branch *branch_open(struct branch_settings settings, uint64_t seed)
{
    if (settings.kind == BRANCH_NONE)
        return NULL;
    if (settings.kind == BRANCH_MICRO && settings.is_bf16)
        die(STATUS_WRONG, "tiny operations keep their parameters as floats; store only those of a norm as bf16");
    struct branch *b = memory_new(1, sizeof *b);
    struct random random;
    random_seed_plus(&random, seed, 2); /* the seed itself draws the model's weights, seed + 1 the samples */
    settings.half = half_of(&settings);
    b->of = settings;
    b->eager = eager_open(rows_of(&settings), cols_of(&settings), settings.is_bf16, settings.half);
    b->x = eager_keep(b->eager);
    if (settings.kind == BRANCH_MICRO) {
        b->v = open_parameter(b, &random);
        b->w = open_parameter(b, &random);
        b->v_gradient = device_new(MEMORY_GRADIENTS, cells_of(&settings), sizeof(float));
        b->w_gradient = device_new(MEMORY_GRADIENTS, cells_of(&settings), sizeof(float));
    } else {
        open_norm(b);
    }
    if (settings.way == BRANCH_FUSED) {
        b->fused = device_chain_open(chain_of(&settings));
        b->end = device_new(MEMORY_ACTIVATIONS, cells_of(&settings), cell_bytes(&settings));
    }
    return b;
}

void branch_close(struct branch *b)
{
    if (!b)
        return;
    if (b->fused)
        device_free(b->end);
    device_chain_close(b->fused);
    eager_close(b->eager);
    device_free(b->v_gradient);
    device_free(b->w_gradient);
    device_free(b->norm.weight);
    device_free(b->norm.bias);
    device_free(b->norm.weight_gradient);
    device_free(b->norm.bias_gradient);
    free(b);
}

int branch_parts(const struct branch *b, struct branch_part part[2])
{
    const size_t cells = cells_of(&b->of), cols = (size_t)b->of.cols;
    if (b->of.kind == BRANCH_MICRO) {
        const bool is_fused = b->fused != NULL;
        part[0] = (struct branch_part){ b->v->data, is_fused ? b->v_gradient : b->v->gradient, cells };
        part[1] = (struct branch_part){ b->w->data, is_fused ? b->w_gradient : b->w->gradient, cells };
    } else {
        part[0] = (struct branch_part){ b->norm.weight, b->norm.weight_gradient, cols };
        part[1] = (struct branch_part){ b->norm.bias, b->norm.bias_gradient, cols };
    }
    return 2;
}

/* --- forward ------------------------------------------------------------------------------------------------------- */

static struct tensor *micro_block(const struct branch *b, struct tensor *x)
{
    struct eager *e = b->eager;
    struct tensor *open = eager_run(e, POINTWISE_RELU, eager_run(e, POINTWISE_ADD, x, b->v), NULL);
    struct tensor *gate = eager_run(e, POINTWISE_SIGMOID, eager_run(e, POINTWISE_MUL, open, b->w), NULL);
    return eager_run(e, POINTWISE_ADD, eager_run(e, POINTWISE_MUL, gate, x), b->v);
}

static struct tensor *norm_block(const struct branch *b, struct tensor *x)
{
    struct eager *e = b->eager;
    struct tensor *gate = eager_run(e, POINTWISE_SIGMOID, x, NULL), *bent = eager_run(e, POINTWISE_GELU, x, NULL);
    return eager_run(e, POINTWISE_ADD, eager_layer_norm(e, eager_run(e, POINTWISE_MUL, gate, bent), b->norm), x);
}

static void run_eagerly(struct branch *b)
{
    struct tensor *x = b->x;
    eager_begin(b->eager);
    for (int block = 0; block < b->of.blocks; block++)
        x = b->of.kind == BRANCH_MICRO ? micro_block(b, x) : norm_block(b, x);
    b->end = x->data;
    b->seed = eager_seed(b->eager, x);
}

static struct chain_arrays arrays_of(const struct branch *b)
{
    return (struct chain_arrays){ .x = b->x->data,
                                  .y = b->end,
                                  .v = b->v ? b->v->data : NULL,
                                  .w = b->w ? b->w->data : NULL,
                                  .v_gradient = b->v_gradient,
                                  .w_gradient = b->w_gradient,
                                  .norm = b->norm };
}

void branch_watch(struct branch *b, eager_watcher *after, void *context)
{
    b->after = after;
    b->context = context;
    eager_watch(b->eager, after, context);
}

void branch_forward(struct branch *b, const float *features, size_t count)
{
    device_pointwise_fill(b->x->data, touched_of(&b->of), b->of.is_bf16, features, count);
    if (b->after)
        b->after(b->context, POINTWISE_OPS, false);
    const struct chain_arrays arrays = arrays_of(b);
    switch (b->of.way) {
    case BRANCH_FUSED:
        device_chain_forward(b->fused, &arrays);
        break;
    case BRANCH_REPLAY:
        if (b->is_recorded) {
            eager_replay_forward(b->eager);
            break;
        }
        eager_record(b->eager);
        run_eagerly(b);
        break;
    default:
        run_eagerly(b);
    }
}

/* --- backward ------------------------------------------------------------------------------------------------------ */

void branch_backward(struct branch *b)
{
    const size_t cells = touched_of(&b->of);
    const float scale = 1.0f / (float)cells;
    if (b->norm.weight) {
        device_fill(b->norm.weight_gradient, 0, (size_t)b->of.cols);
        device_fill(b->norm.bias_gradient, 0, (size_t)b->of.cols);
    }
    if (b->fused) {
        const struct chain_arrays arrays = arrays_of(b);
        device_chain_back(b->fused, &arrays, scale);
        return;
    }
    device_pointwise_scale(b->seed, b->end, scale, cells, b->of.is_bf16); /* the gradient of the loss */
    if (b->after)
        b->after(b->context, POINTWISE_OPS, true);
    if (b->is_recorded) {
        eager_replay_backward(b->eager);
        return;
    }
    eager_backward(b->eager);
    b->count = eager_count(b->eager);
    if (b->of.way == BRANCH_REPLAY) {
        eager_stop_recording(b->eager);
        b->is_recorded = true;
    }
}

double branch_loss(const struct branch *b)
{
    const size_t cells = touched_of(&b->of);
    void *end = memory_new(cells, cell_bytes(&b->of));
    double squares = 0;
    device_fetch(end, b->end, cells * cell_bytes(&b->of));
    for (size_t i = 0; i < cells; i++) {
        const double y = (double)(b->of.is_bf16 ? bf16_widen(((const uint16_t *)end)[i]) : ((const float *)end)[i]);
        squares += y * y;
    }
    free(end);
    return squares / (2 * (double)cells);
}

/* --- counts -------------------------------------------------------------------------------------------------------- */

/* Operations of a block, in order; `sums`: gradients that its backward adds to those of another use. Those of v and w are new in the
 * last block: that makes two sums fewer. */
enum { OPS_MOST = 6 };
static const struct block {
    int ops, new_in_last;
    struct {
        enum pointwise_op op;
        bool adds_a, adds_b;
    } at[OPS_MOST];
} chains[BRANCH_KINDS] = { [BRANCH_MICRO] = { 6,
                                              2,
                                              { { POINTWISE_ADD, true, true },
                                                { POINTWISE_RELU, false, false },
                                                { POINTWISE_MUL, false, true },
                                                { POINTWISE_SIGMOID, false, false },
                                                { POINTWISE_MUL, false, false },
                                                { POINTWISE_ADD, false, true } } },
                           [BRANCH_NORM] = { 5,
                                             0,
                                             { { POINTWISE_SIGMOID, true, false },
                                               { POINTWISE_GELU, true, false },
                                               { POINTWISE_MUL, false, false },
                                               { POINTWISE_LAYER_NORM, false, false },
                                               { POINTWISE_ADD, false, false } } } };

int branch_operations(enum branch_kind kind)
{
    return chains[kind].ops;
}

struct pointwise_back branch_operation(struct branch_settings of, int number)
{
    return (struct pointwise_back){ .of = { .op = chains[of.kind].at[number].op,
                                            .is_bf16 = of.is_bf16,
                                            .half = half_of(&of),
                                            .rows = rows_of(&of),
                                            .cols = cols_of(&of) },
                                    .adds_a = chains[of.kind].at[number].adds_a,
                                    .adds_b = chains[of.kind].at[number].adds_b };
}

/* Return the bytes and operations of a block's operations, one by one. */
static struct pointwise_count count_block(const struct branch_settings *of, bool is_backward)
{
    struct pointwise_count all = { 0 };
    for (int i = 0; i < chains[of->kind].ops; i++) {
        const struct pointwise_back call = branch_operation(*of, i);
        const struct pointwise_count one =
            is_backward ? pointwise_count_backward(&call) : pointwise_count_forward(&call.of);
        all.bytes += one.bytes;
        all.flops += one.flops;
    }
    return all;
}

/* MICRO reads x, v and w, and writes y, or the gradients of v and w; NORM reads x, and writes y. */
static double fused_tensors(enum branch_kind kind, bool is_backward)
{
    if (kind == BRANCH_MICRO)
        return is_backward ? 5 : 4;
    return is_backward ? 1 : 2;
}

struct eager_count branch_work(struct branch_settings of, bool is_backward)
{
    if (of.kind == BRANCH_NONE)
        return (struct eager_count){ 0 };
    const double tensor = (double)(touched_of(&of) * cell_bytes(&of)),
                 computed = (double)half_computed(half_of(&of), rows_of(&of), cols_of(&of));
    struct pointwise_count one = count_block(&of, is_backward);
    struct eager_count all = { .work = { of.blocks * one.bytes, of.blocks * one.flops } };
    if (is_backward)
        all.work.flops -= chains[of.kind].new_in_last * computed;
    if (of.way == BRANCH_EAGER)
        all.dispatched = (long)of.blocks * chains[of.kind].ops;
    if (of.way == BRANCH_FUSED) {
        all.work.bytes = fused_tensors(of.kind, is_backward) * tensor;
        if (is_backward)
            all.work.flops += of.blocks * count_block(&of, false).flops;
    }
    return all;
}

double branch_edge_bytes(struct branch_settings of, bool is_backward)
{
    if (of.kind == BRANCH_NONE)
        return 0;
    const int tensors = !is_backward ? 1 : of.way == BRANCH_FUSED ? 0 : 2;
    return tensors * (double)(touched_of(&of) * cell_bytes(&of));
}

struct eager_count branch_count(const struct branch *b)
{
    const struct eager_count forward = branch_work(b->of, false), backward = branch_work(b->of, true);
    if (b->of.way == BRANCH_EAGER)
        return b->count;
    return (struct eager_count){ .work = { forward.work.bytes + backward.work.bytes,
                                           forward.work.flops + backward.work.flops } };
}

struct memory_estimate branch_memory(struct branch_settings of)
{
    struct memory_estimate memory = { 0 };
    const double cells = (double)cells_of(&of), tensor = cells * (double)cell_bytes(&of),
                 norm = (double)of.cols * sizeof(float), results = of.blocks * chains[of.kind].ops;
    const bool is_micro = of.kind == BRANCH_MICRO;
    if (of.kind == BRANCH_NONE)
        return memory;
    memory.of[MEMORY_ACTIVATIONS] = tensor * (of.way == BRANCH_FUSED ? is_micro ? 4 : 2 : (is_micro ? 6 : 4) + results);
    memory.of[MEMORY_PARAMETERS] = is_micro ? 0 : 2 * norm; /* of the tiny operations, v and w are among the tensors */
    memory.of[MEMORY_GRADIENTS] = 2 * (is_micro ? cells * sizeof(float) : norm);
    return memory;
}

double branch_bytes(struct branch_settings of)
{
    const double tensor = (double)(touched_of(&of) * cell_bytes(&of)), all = of.blocks * chains[of.kind].ops;
    if (of.kind == BRANCH_NONE)
        return 0;
    return tensor * (of.way == BRANCH_FUSED ? 6 : 8 + all);
}
