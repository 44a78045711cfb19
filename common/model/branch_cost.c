#include "model/branch_cost.h"

#include "base/number.h"
#include "options/work.h"
#include "world/world.h"

#include <math.h>
#include <stdio.h>

enum { NAME = 40 };

/* Return the larger one; NaN if either is. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

/* Return the seconds of computing and moving beside each other. */
static double overlapped(double computing, double moving, branch_cost *cost, const void *machine)
{
    const double power = cost(machine, "overlap_power");
    return power > 0 ? pow(pow(computing, power) + pow(moving, power), 1 / power) : larger(computing, moving);
}

/* Return a cost of arithmetic: "layer_norm_bf16_back_s". */
static double arithmetic(const char *of, bool is_bf16, bool is_backward, branch_cost *cost, const void *machine)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s%s%s_s", of, is_bf16 ? "_bf16" : "", is_backward ? "_back" : "");
    return cost(machine, name);
}

/* A measured rate: of tensors that take `mib` MiB together. */
struct rate {
    double mib;
    const char *cost;
};

/* Return bytes per second at a size, of `count` rates. Between the measured sizes it changes in proportion to the logarithm of the size. An
 * unknown rate is that of memory. */
static double rate_at(double bytes, const struct rate *at, int count, branch_cost *cost, const void *machine)
{
    const double mib = bytes / (1 << 20), memory = cost(machine, "triad_bytes_per_s");
    double before = (double)NAN;
    for (int i = 0; i < count; i++) {
        const double known = cost(machine, at[i].cost), rate = known > 0 ? known : memory;
        if (mib <= at[i].mib)
            return i == 0 ? rate : rate + (before - rate) * log(at[i].mib / mib) / log(at[i].mib / at[i - 1].mib);
        before = rate;
    }
    return before;
}

/* Return bytes per second of a chain whose tensors take `chain_bytes`. */
static double bandwidth(double chain_bytes, branch_cost *cost, const void *machine)
{
    static const struct rate chain[] = { { 6, "chain_6m_bytes_per_s" },   { 14, "chain_14m_bytes_per_s" },
                                         { 22, "chain_22m_bytes_per_s" }, { 34, "chain_34m_bytes_per_s" },
                                         { 56, "chain_56m_bytes_per_s" }, { 192, "chain_192m_bytes_per_s" } };
    return rate_at(chain_bytes, chain, sizeof chain / sizeof *chain, cost, machine);
}

/* Return bytes per second of a chain in one loop. Its backward begins with what its forward read first, which is what left the caches
 * first; a chain of operations begins with what was written last. */
static double stream_bandwidth(double bytes, branch_cost *cost, const void *machine)
{
    static const struct rate stream[] = { { 8, "triad_8m_bytes_per_s" }, { 192, "triad_bytes_per_s" } };
    if (cost(machine, "is_async") > 0) /* its blocks run in no such order */
        return bandwidth(bytes, cost, machine);
    return rate_at(bytes, stream, sizeof stream / sizeof *stream, cost, machine);
}

/* Return the smaller one; NaN if either is. */
static double smaller(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}

/* Return the seconds of the cells of an operation, of which half may be copied instead of computed. RELU, too, reads a value and writes
 * one. Copying takes no longer than computing. */
static double cells_seconds(const struct pointwise_back *call, bool is_backward, branch_cost *cost, const void *machine)
{
    const struct pointwise *of = &call->of;
    const double cell = arithmetic(pointwise_names[of->op], of->is_bf16, is_backward, cost, machine),
                 computed = (double)half_computed(of->half, of->rows, of->cols),
                 copied = of->half == HALF_FLOPS ? (double)(of->rows * of->cols) - computed : 0;
    const int written = is_backward && pointwise_is_binary(of->op) ? 2 : 1;
    if (copied == 0)
        return computed * cell;
    return computed * cell + copied * smaller(written * arithmetic("relu", of->is_bf16, false, cost, machine), cell);
}

/* Return the bytes of what the operations just before have not left in the nearest cache: the result of a forward, whose lines a core
 * reads before it writes them; what a backward reads beside gradients. */
static double far_bytes(const struct pointwise_back *call, bool is_backward)
{
    const struct pointwise *of = &call->of;
    const double tensor = (double)half_touched(of->half, of->rows, of->cols) * (of->is_bf16 ? 2 : 4);
    const int gradients = 2 + pointwise_is_binary(of->op); /* of the result, and of each tensor */
    return is_backward ? pointwise_count_backward(call).bytes - gradients * tensor : tensor;
}

double branch_operation_seconds(const struct pointwise_back *call, bool is_backward, double chain_bytes,
                                branch_cost *cost, const void *machine)
{
    const struct pointwise *of = &call->of;
    const double bytes = (is_backward ? pointwise_count_backward(call) : pointwise_count_forward(of)).bytes;
    const double seconds = cells_seconds(call, is_backward, cost, machine);
    if (bytes <= cost(machine, "cache_bytes")) {
        const double own = cost(machine, "second_cache_bytes");
        const bool is_far = own > 0 && chain_bytes > own;
        return is_far ? seconds + far_bytes(call, is_backward) / bandwidth(chain_bytes, cost, machine) : seconds;
    }
    return overlapped(seconds, bytes / bandwidth(chain_bytes, cost, machine), cost, machine);
}

/* Return the seconds of all operations, one after the other. */
static double chain_seconds(struct branch_settings of, bool is_backward, branch_cost *cost, const void *machine)
{
    double block = 0;
    for (int i = 0; i < branch_operations(of.kind); i++) {
        const struct pointwise_back call = branch_operation(of, i);
        block += branch_operation_seconds(&call, is_backward, branch_bytes(of), cost, machine);
    }
    return of.blocks * block;
}

/* Return the seconds of a chain in one loop. */
static double fused_seconds(struct branch_settings of, bool is_backward, branch_cost *cost, const void *machine)
{
    struct branch_settings whole = of;
    whole.half = HALF_NONE;
    const struct pointwise_count work = branch_work(of, is_backward).work;
    const double share = work.flops / branch_work(whole, is_backward).work.flops,
                 loops = share * of.rows * of.cols * of.blocks *
                         arithmetic(of.kind == BRANCH_MICRO ? "fused_micro" : "fused_norm", of.is_bf16, is_backward,
                                    cost, machine),
                 memory = work.bytes <= cost(machine, "cache_bytes")
                              ? 0
                              : work.bytes / stream_bandwidth(branch_bytes(of), cost, machine);
    return cost(machine, "is_async") > 0 ? larger(loops, memory) : loops + memory;
}

/* Return the number of launches of a pass beside operations: filling the input, or scaling the seed and zeroing two gradients of NORM;
 * the graph of a replay; the kernel of FUSED, and one that sums gradients of NORM. */
static int enqueued(struct branch_settings of, bool is_backward)
{
    const bool is_norm = of.kind == BRANCH_NORM, is_fused = of.way == BRANCH_FUSED;
    const int way = of.way == BRANCH_EAGER ? 0 : 1;
    return is_backward ? way + !is_fused + 2 * is_norm + (is_fused && is_norm) : way + 1;
}

struct branch_terms branch_terms(struct branch_settings of, bool is_backward, branch_cost *cost, const void *machine)
{
    if (of.kind == BRANCH_NONE)
        return (struct branch_terms){ 0 };
    const double operations = of.blocks * branch_operations(of.kind), edges = branch_edge_bytes(of, is_backward),
                 enqueue = cost(machine, "enqueue_s");
    double launches = enqueue > 0 ? enqueued(of, is_backward) * enqueue : 0,
           work = (of.way == BRANCH_FUSED ? fused_seconds : chain_seconds)(of, is_backward, cost, machine);
    if (edges > cost(machine, "cache_bytes"))
        work += edges / (of.way == BRANCH_FUSED ? stream_bandwidth : bandwidth)(branch_bytes(of), cost, machine);
    if (of.way == BRANCH_EAGER)
        launches += operations * cost(machine, is_backward ? "dispatch_back_s" : "dispatch_s");
    if (of.way == BRANCH_REPLAY)
        launches += operations * cost(machine, "call_s");
    return (struct branch_terms){ launches, work };
}

double branch_seconds(struct branch_settings of, bool is_backward, branch_cost *cost, const void *machine)
{
    const struct branch_terms terms = branch_terms(of, is_backward, cost, machine);
    return cost(machine, "is_async") > 0 ? larger(terms.launches, terms.work) : terms.launches + terms.work;
}

static double property(const void *machine, const char *name)
{
    (void)machine;
    char whole[sizeof WORK_OWN_COST + NAME];
    snprintf(whole, sizeof whole, WORK_OWN_COST "%s", name);
    const char *text = world_property(whole);
    double value = 0;
    return text && number_parse(text, &value) ? value : 0;
}

double branch_modelled_seconds(struct branch_settings of, bool is_backward)
{
    const double seconds = branch_seconds(of, is_backward, property, NULL);
    return seconds > 0 && seconds < INFINITY ? seconds : 0;
}
