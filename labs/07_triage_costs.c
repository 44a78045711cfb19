/* 07_triage_costs: what the formula of lab 07 needs from this machine beside training: dispatching an operation, the arithmetic of the
 * branches' operations on tensors in the cache, the bandwidth of memory and caches, matrix products, the transform of a sample. Each is
 * measured before any case, on other sizes than the cases have, and kept on the machine card.
 *
 * All but the transform are costs of the device: times are between events, which on a core are readings of its clock. A GPU runs
 * operations beside their dispatch, so a launch hides the arithmetic of little tensors: there an operation is run on two larger sizes,
 * and only their difference counts. */
#include "07_triage.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMES = 15, BLOCKS = 48, OPERATIONS = 6 * BLOCKS };

/* Multiply matrices, as the model of a step does before its branch, and run the branch until the caches and the core are used to it. */
static void begin_as_in_step(const struct products *products, struct branch *branch, const float *features,
                             size_t cells)
{
    const double products_s = 0.3e-3, passes_s = 0.1e-3;
    products_run(products, products_s);
    const double began = world_now();
    while (world_now() - began < passes_s) {
        branch_forward(branch, features, cells);
        branch_backward(branch);
    }
}

struct passes time_branch(struct branch_settings of, int repeats, enum branch_place place, struct world *world)
{
    const int warmups = card_times(3);
    repeats = card_times(repeats);
    double *seconds = memory_new(4 * (size_t)repeats, sizeof *seconds), *forward = seconds,
           *backward = seconds + repeats, *both = seconds + 2 * repeats, *events = seconds + 3 * repeats;
    const size_t cells = (size_t)of.rows * (size_t)of.cols;
    float *host = memory_new(cells, sizeof *host), *features = device_new(MEMORY_MEASURING, cells, sizeof *features);
    for (size_t i = 0; i < cells; i++)
        host[i] = (float)(i % 97) / 48 - 1;
    device_put(features, host, cells * sizeof *host);
    free(host);
    struct branch *branch = branch_open(of, 0);
    struct products *products = place == IN_STEP && !device_is_asynchronous() ? products_open() : NULL;
    events_begin(4 * (warmups + repeats));
    for (int i = -warmups; i < repeats; i++) {
        if (products)
            begin_as_in_step(products, branch, features, cells);
        const double before = device_record_event(), began = device_record_event();
        branch_forward(branch, features, cells);
        const double middle = device_record_event();
        branch_backward(branch);
        const double end = device_record_event();
        device_wait();
        if (i >= 0)
            forward[i] = events_between(began, middle), backward[i] = events_between(middle, end),
            both[i] = events_between(began, end), events[i] = events_between(before, began);
        world_heartbeat(world);
    }
    branch_close(branch);
    if (products) {
        products_close(products);
        frequency_recover();
    }
    const double event = device_is_asynchronous() ? 0 : stats_quantile(events, repeats, 0.5);
    const struct passes median = { stats_quantile(forward, repeats, 0.5) - event,
                                   stats_quantile(backward, repeats, 0.5) - event,
                                   stats_quantile(both, repeats, 0.5) - 2 * event };
    device_free(features);
    free(seconds);
    return median;
}

double product_bytes(double samples, double in, double out)
{
    return sizeof(float) * (samples * in + in * out + samples * out);
}

/* --- operations ---------------------------------------------------------------------------------------------------- */

/* A shape for operations, and memory for the tensors of one. */
struct bench {
    struct pointwise_back call;
    void *memory[6];
    float *rows[4], *scratch;
};

static void open_bench(struct bench *b, struct pointwise_back call)
{
    const size_t cells = call.of.rows * call.of.cols;
    float *values = memory_new(cells, sizeof *values);
    b->call = call;
    for (int i = 0; i < 6; i++) {
        b->memory[i] = device_new(MEMORY_MEASURING, cells, sizeof(float));
        for (size_t j = 0; j < cells; j++) {
            const size_t k = (j + (size_t)i) % 97;
            if (call.of.is_bf16)
                ((uint16_t *)values)[j] = (uint16_t)(0x3f00 + k); /* 0.5 and more */
            else
                values[j] = (float)k / 48 - 1;
        }
        device_put(b->memory[i], values, cells * sizeof *values);
    }
    free(values);
    for (int i = 0; i < 4; i++)
        b->rows[i] = device_new(MEMORY_MEASURING, 2 * call.of.rows + call.of.cols, sizeof(float));
    b->scratch = device_new(MEMORY_MEASURING, device_pointwise_scratch(call.of.cols, call.of.half), sizeof(float));
    struct pointwise_back *c = &b->call;
    c->of.a = b->memory[0], c->of.b = b->memory[1], c->of.y = b->memory[2];
    c->dy = b->memory[3], c->da = b->memory[4], c->db = b->memory[5];
    c->of.moments = b->rows[0], c->of.weight = c->of.bias = b->rows[1];
    c->weight_gradient = b->rows[2], c->bias_gradient = b->rows[3];
    c->scratch = b->scratch;
}

static void close_bench(struct bench *b)
{
    for (int i = 0; i < 6; i++)
        device_free(b->memory[i]);
    for (int i = 0; i < 4; i++)
        device_free(b->rows[i]);
    device_free(b->scratch);
}

static void run_forward(const void *bench)
{
    device_pointwise(&((const struct bench *)bench)->call.of);
}

static void run_backward(const void *bench)
{
    device_pointwise_back(&((const struct bench *)bench)->call);
}

/* Give an operation tensors, run it repeatedly, and return the seconds of a call. */
static double time_operation(struct pointwise_back call, bool is_backward, int calls, struct world *world)
{
    struct bench bench;
    open_bench(&bench, call);
    run_forward(&bench);
    const double seconds = repeated_call_seconds((struct call_times){ 1, TIMES, calls },
                                                 is_backward ? run_backward : run_forward, &bench, world);
    close_bench(&bench);
    return seconds;
}

/* Return the seconds of a cell of an operation whose tensors stay in a cache: 4 KiB each in that nearest the core; on a GPU 1 MiB and
 * 4 MiB. CALLS are enough that the slower first ones, after other simulated ranks had the core, do not count. */
static double operation(const struct own_where *where, int which)
{
    enum { COLS = 1024, CALLS = 200, ROWS = 256, TIMES_ROWS = 4 };
    struct pointwise_back call = {
        .of = { .op = (enum pointwise_op)(which / 4), .is_bf16 = which / 2 % 2, .rows = 1, .cols = COLS }
    };
    if (!device_is_asynchronous())
        return time_operation(call, which % 2, CALLS, where->together) / COLS;
    call.of.rows = card_is_brief() ? 1 : ROWS;
    const double fewer = time_operation(call, which % 2, CALLS, where->together), cells = (double)(call.of.rows * COLS);
    call.of.rows *= TIMES_ROWS;
    return fmax(0, time_operation(call, which % 2, CALLS, where->together) - fewer) / ((TIMES_ROWS - 1) * cells);
}

/* Return the seconds of an operation of a small branch, without its arithmetic: of forward and backward. Not of the smallest: a core
 * begins the next operation while it ends the loop of this one, so a replayed one took 6.6 ns beside its arithmetic with 16 floats and
 * 4.3 with 128. And as in a step: after products one of 160 floats took 6.3 instead of 4.7 ns, an eager one 39 instead of 35, although
 * every loop there slows down by a tenth at most (Intel Xeon, 2026-11-28). */
static struct passes tiny(enum branch_way way, const struct own_where *where)
{
    enum { FLOATS = 160 };
    const struct branch_settings of = { .kind = BRANCH_MICRO, .way = way, .blocks = BLOCKS, .rows = 1, .cols = FLOATS };
    struct passes passes = time_branch(of, TIMES, IN_STEP, where->together);
    passes.forward /= OPERATIONS;
    passes.backward /= OPERATIONS;
    for (int i = 0; i < branch_operations(of.kind); i++) {
        const int op = branch_operation(of, i).of.op;
        passes.forward -= FLOATS * operation(where, 4 * op) / branch_operations(of.kind);
        passes.backward -= FLOATS * operation(where, 4 * op + 1) / branch_operations(of.kind);
    }
    return passes;
}

static double dispatch(const struct own_where *where, int is_backward)
{
    const struct passes passes = tiny(BRANCH_EAGER, where);
    return fmax(0, is_backward ? passes.backward : passes.forward);
}

static double call(const struct own_where *where, int which)
{
    (void)which;
    const struct passes passes = tiny(BRANCH_REPLAY, where);
    return fmax(0, (passes.forward + passes.backward) / 2);
}

static void run_fill(const void *x)
{
    device_fill(*(float *const *)x, 0, 1);
}

/* Return the seconds of enqueuing an operation without a framework around it. On a core nothing is enqueued. */
static double enqueue(const struct own_where *where, int which)
{
    enum { CALLS = 100 };
    (void)which;
    if (!device_is_asynchronous())
        return 0;
    float *x = device_new(MEMORY_MEASURING, 1, sizeof *x);
    const double seconds = repeated_call_seconds((struct call_times){ 0, TIMES, CALLS }, run_fill, &x, where->together);
    device_free(x);
    return seconds;
}

/* Chains in one loop: two rows each, forward and backward. Their tensors stay in the caches; tiles have two rows, as those of 1024
 * columns. */
static const struct branch_settings loops[] = {
    { .kind = BRANCH_MICRO, .way = BRANCH_FUSED, .blocks = BLOCKS, .rows = 10, .cols = 64 },
    { .kind = BRANCH_NORM, .way = BRANCH_FUSED, .blocks = 2, .rows = 64, .cols = 768 },
    { .kind = BRANCH_NORM, .way = BRANCH_FUSED, .is_bf16 = true, .blocks = 2, .rows = 64, .cols = 768 },
};

/* Return the seconds of a cell and block. A GPU needs more rows before its cells wait for each other. */
static double fused(const struct own_where *where, int which)
{
    enum { PASSES = 5 };
    struct branch_settings of = loops[which / 2];
    if (device_is_asynchronous() && !card_is_brief())
        of.rows *= of.kind == BRANCH_MICRO ? 1024 : 128;
    const struct passes passes = time_branch(of, PASSES, BY_ITSELF, where->together);
    return (which % 2 ? passes.backward : passes.forward) / ((double)of.blocks * of.rows * of.cols);
}

static void run_pointwise(const void *call)
{
    device_pointwise(call);
}

/* Return bytes per second of y = a + b over three tensors that take `mib` MiB together: two read and one written, like a triad. */
static double triad(const struct own_where *where, int mib)
{
    enum { PASSES = 3, CALLS = 10 };
    const size_t count = card_size(((size_t)mib << 20) / 3 / sizeof(float));
    const int calls =
        device_is_asynchronous() && !card_is_brief() ? CALLS : 1; /* a launch runs beside the one before */
    float *a = device_new(MEMORY_MEASURING, count, sizeof *a), *b = device_new(MEMORY_MEASURING, count, sizeof *b),
          *y = device_new(MEMORY_MEASURING, count, sizeof *y);
    const struct pointwise call = { .op = POINTWISE_ADD, .rows = 1, .cols = count, .a = a, .b = b, .y = y };
    const double seconds =
        repeated_call_seconds((struct call_times){ 1, PASSES, calls }, run_pointwise, &call, where->together);
    device_free(a);
    device_free(b);
    device_free(y);
    return pointwise_count_forward(&call).bytes / seconds;
}

/* Return bytes per second of a replayed chain of operations whose tensors take `mib` MiB together. It reads again what it wrote a while
 * ago, so it depends on caches in another way than a triad. If arithmetic limits the sigmoid, its bytes and its time are subtracted. On a
 * GPU, where a replay has launches, those of a triad. */
static double chain(const struct own_where *where, int mib)
{
    enum { PASSES = 3, COLS = 1024 };
    struct branch_settings of = { .kind = BRANCH_MICRO, .way = BRANCH_REPLAY, .blocks = 1, .rows = 1, .cols = COLS };
    if (device_is_asynchronous())
        return triad(where, mib);
    of.rows = (int)card_size((size_t)(mib * (double)(1 << 20) / branch_bytes(of)));
    const double seconds = time_branch(of, PASSES, BY_ITSELF, where->together).both, cells = (double)of.rows * COLS,
                 bytes = branch_work(of, false).work.bytes + branch_work(of, true).work.bytes +
                         branch_edge_bytes(of, false) + branch_edge_bytes(of, true),
                 sigmoid = cells * operation(where, 4 * POINTWISE_SIGMOID), of_sigmoid = 2 * cells * sizeof(float);
    const double without = (bytes - of_sigmoid) / (seconds - sigmoid);
    return of_sigmoid / without < sigmoid && seconds > sigmoid ? without : bytes / seconds;
}

/* Return the seconds of the transform for one feature and round. The features are as random as those of the data set: tanhf() takes
 * half as long on values that repeat, because the processor then knows which way its branches go. */
static double transform(const struct own_where *where, int which)
{
    enum { FEATURES = 200, SAMPLES = 32 };
    (void)where, (void)which;
    float sample[SAMPLES][FEATURES];
    double seconds[TIMES];
    struct random random;
    random_seed(&random, 1);
    for (int i = 0; i < TIMES; i++) {
        for (int k = 0; k < SAMPLES; k++)
            for (int j = 0; j < FEATURES; j++)
                sample[k][j] = (float)random_normal(&random);
        const double began = world_now();
        for (int k = 0; k < SAMPLES; k++)
            worker_loader_transform(sample[k], FEATURES, 1);
        seconds[i] = world_now() - began;
    }
    return stats_quantile(seconds, TIMES, 0.5) / (FEATURES * SAMPLES);
}

/* Return the bytes of the first or second cache of a core, as far as the C library knows them; else 0: all tensors count as beyond the
 * first, and no chain as beyond the second. GPUs return 0, because their tensors meet in the L2 cache. Chains show how much of the caches
 * further away belongs to this core: they are shared, in a virtual machine with other guests. */
static double cache(const struct own_where *where, int level)
{
    (void)where;
    if (device_is_asynchronous())
        return 0;
    const long bytes = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (double)bytes : 0;
}

/* Return the seconds of taking a batch from a worker and letting it begin the next one, between steps so short that the worker sleeps when
 * the next batch is requested. Such a step multiplies matrices, and touches parameters, gradients and two moments. */
static double handoff(const struct own_where *where, int which)
{
    enum { CALLS = 40, ARRAYS = 4 };
    const struct handoff_rest rest = { .seconds = 0.2e-3,
                                       .bytes = card_size(ARRAYS * (size_t)workload_gradient_bytes(where->workload)),
                                       .has_products = !device_is_asynchronous() };
    (void)which;
    struct async_helper *worker = async_helper_open_on_any_core(world_spare_cores(where->together));
    const double seconds = handoff_measure(worker, rest, card_times(CALLS));
    async_helper_close(worker);
    return fmax(0, seconds);
}

/* Return the power of branch_cost.h. A GPU moves for some threads while others compute. A core loads ahead, but not far: taking the larger
 * of computing and moving for an operation, gelu's and layer norm's forward took 30 % longer than that; by the power of 3 each
 * operation of the memory cases was within 16 % (Intel Xeon, 2 MiB of second cache, 2026-11-28). */
static double overlap_power(const struct own_where *where, int which)
{
    (void)where, (void)which;
    return device_is_asynchronous() ? 0 : 3;
}

static double is_async(const struct own_where *where, int which)
{
    (void)where, (void)which;
    return device_is_asynchronous(); /* operations on cores end before the next is dispatched */
}

/* Not shown on the printed card: roofline.csv has them. */
#define OPERATION(name, op)                                                                                            \
    { name "_s", OWN_SECONDS, "", "ns", 1e9, 1e6, operation, 4 * op },                                                 \
        { name "_back_s", OWN_SECONDS, "", "ns", 1e9, 1e6, operation, 4 * op + 1 },                                    \
        { name "_bf16_s", OWN_SECONDS, "", "ns", 1e9, 1e6, operation, 4 * op + 2 },                                    \
    {                                                                                                                  \
        name "_bf16_back_s", OWN_SECONDS, "", "ns", 1e9, 1e6, operation, 4 * op + 3                                    \
    }

/* clang-format off */
const struct own_cost costs[] = {
    { "dispatch_s", OWN_SECONDS, "an eager operation takes", "ns", 1e9, 1e6, dispatch, 0 },
    { "dispatch_back_s", OWN_SECONDS, "... its backward", "ns", 1e9, 1e6, dispatch, 1 },
    { "call_s", OWN_SECONDS, "... replayed from a list", "ns", 1e9, 1e6, call, 0 },
    { "enqueue_s", OWN_SECONDS, "", "ns", 1e9, 1e6, enqueue, 0 },
    OPERATION("add", POINTWISE_ADD), OPERATION("mul", POINTWISE_MUL), OPERATION("relu", POINTWISE_RELU),
    OPERATION("sigmoid", POINTWISE_SIGMOID), OPERATION("gelu", POINTWISE_GELU), OPERATION("layer_norm", POINTWISE_LAYER_NORM),
    { "fused_micro_s", OWN_SECONDS, "tiny block in one loop", "ns", 1e9, 1e6, fused, 0 },
    { "fused_micro_back_s", OWN_SECONDS, "... its backward", "ns", 1e9, 1e6, fused, 1 },
    { "fused_norm_s", OWN_SECONDS, "large block in one pass", "ns", 1e9, 1e6, fused, 2 },
    { "fused_norm_back_s", OWN_SECONDS, "... its backward", "ns", 1e9, 1e6, fused, 3 },
    { "fused_norm_bf16_s", OWN_SECONDS, "", "ns", 1e9, 1e6, fused, 4 },
    { "fused_norm_bf16_back_s", OWN_SECONDS, "", "ns", 1e9, 1e6, fused, 5 },
    { "triad_8m_bytes_per_s", OWN_RATE, "a far cache: two reads and a write", "GB/s", 1e-9, 8 << 20, triad, 8 },
    { "chain_6m_bytes_per_s", OWN_RATE, "a chain of operations on 6 MiB", "GB/s", 1e-9, 6 << 20, chain, 6 },
    { "chain_14m_bytes_per_s", OWN_RATE, "", "GB/s", 1e-9, 14 << 20, chain, 14 },
    { "chain_22m_bytes_per_s", OWN_RATE, "", "GB/s", 1e-9, 22 << 20, chain, 22 },
    { "chain_34m_bytes_per_s", OWN_RATE, "... on 34 MiB", "GB/s", 1e-9, 34 << 20, chain, 34 },
    { "chain_56m_bytes_per_s", OWN_RATE, "", "GB/s", 1e-9, 56 << 20, chain, 56 },
    { "chain_192m_bytes_per_s", OWN_RATE, "... on 192 MiB", "GB/s", 1e-9, 192 << 20, chain, 192 },
    { "triad_bytes_per_s", OWN_RATE, "memory: two reads and a write", "GB/s", 1e-9, 192 << 20, triad, 192 },
    { "product_flops_per_s", OWN_RATE, "matrix products", "GFLOP/s", 1e-9, 3 << 20, product_measure, 0 },
    { WORKER_LOADER_TRANSFORM, OWN_SECONDS, "transform of a feature", "ns", 1e9, 0, transform, 0 },
    { WORKER_LOADER_TAKE, OWN_SECONDS, "taking a worker's batch takes", "us", 1e6, 3 << 20, handoff, 0 },
    { "cache_bytes", OWN_STAYS, "cache nearest a core", "KiB", 1.0 / (1 << 10), 0, cache, 1 },
    { "second_cache_bytes", OWN_STAYS, "... its second", "KiB", 1.0 / (1 << 10), 0, cache, 2 },
    { "overlap_power", OWN_STAYS, "", "", 1, 0, overlap_power, 0 },
    FREQUENCY_COSTS,
    { "is_async", OWN_STAYS, "", "", 1, 0, is_async, 0 },
    { 0 },
};
/* clang-format on */
