/* Kernels of chain.h: a whole chain for each cell (MICRO), or for each row (NORM). */
#include "device/device_cuda_pointwise.cuh"

constexpr size_t SCRATCH_MOST = static_cast<size_t>(32) << 20; /* bytes: they should stay in the L2 cache */

/* --- MICRO: a thread per cell ----------------------------------------------------------------------------------------- */

struct micro_chain {
    const float *x, *v, *w;
    int blocks;
    halves half;
};

static __device__ float micro_block(float x, float v, float w)
{
    float open = x + v > 0 ? x + v : 0;
    return sigmoid_of(open * w) * x + v;
}

static __global__ void __launch_bounds__(THREADS) micro_forward(micro_chain m, float *y, size_t count)
{
    size_t i = static_cast<size_t>(blockIdx.x) * THREADS + static_cast<size_t>(thread_of_block());
    if (i >= count)
        return;
    float v = m.v[i], w = m.w[i], first = m.x[i];
    int times = m.half.of_cell(i);
    float out = moved(first, v, w);
    for (int time = 0; time < times; time++) {
        hide(first);
        out = first;
        for (int block = 0; block < m.blocks; block++)
            out = micro_block(out, v, w);
        hide(out);
    }
    y[i] = out;
}

/* The gradients of a cell's v and w. */
struct micro_gradients {
    float v, w;
};

/* level: what each block begins with, `threads` apart, so that neighbours write side by side. */
static __device__ micro_gradients micro_cell_back(const micro_chain &m, size_t i, float *level, size_t threads,
                                                  float scale)
{
    float v = m.v[i], w = m.w[i], x = m.x[i];
    for (int block = 0; block < m.blocks; block++) {
        level[static_cast<size_t>(block) * threads] = x;
        x = micro_block(x, v, w);
    }
    float d = x * scale;
    micro_gradients all = {};
    for (int block = m.blocks; block-- > 0;) {
        x = level[static_cast<size_t>(block) * threads];
        float added = x + v, open = added > 0 ? added : 0, gate = sigmoid_of(open * w);
        float of_product = d * x * gate * (1.0f - gate), of_sum = added > 0 ? of_product * w : 0;
        all.v += d + of_sum;
        all.w += of_product * open;
        d = d * gate + of_sum;
    }
    return all;
}

/* Threads go through cells in turn; each has its own levels. */
static __global__ void __launch_bounds__(THREADS)
    micro_back(micro_chain m, float *v_gradient, float *w_gradient, float *levels, size_t count, float scale)
{
    size_t threads = static_cast<size_t>(gridDim.x) * THREADS;
    size_t thread = static_cast<size_t>(blockIdx.x) * THREADS + static_cast<size_t>(thread_of_block());
    for (size_t i = thread; i < count; i += threads) {
        int times = m.half.of_cell(i);
        float as_is = moved(m.x[i], m.v[i], m.w[i]);
        micro_gradients of = { as_is, as_is };
        for (int time = 0; time < times; time++) {
            of = micro_cell_back(m, i, levels + thread, threads, scale);
            hide(of.v);
            hide(of.w);
        }
        v_gradient[i] = of.v;
        w_gradient[i] = of.w;
    }
}

static micro_chain micro_of(const struct chain &of, const struct chain_arrays &a, size_t cells)
{
    return micro_chain{ static_cast<const float *>(a.x), a.v, a.w, of.blocks, halves_of(of.half, 1, cells) };
}

static size_t cells_of(const struct chain &of)
{
    return static_cast<size_t>(of.rows) * static_cast<size_t>(of.cols);
}

/* Blocks of threads for backward: at least one. */
static size_t micro_blocks(const struct chain &of)
{
    size_t wanted = (half_touched(of.half, 1, cells_of(of)) + THREADS - 1) / THREADS;
    size_t most = SCRATCH_MOST / (static_cast<size_t>(of.blocks) * THREADS * sizeof(float));
    return wanted < most ? wanted : most > 0 ? most : 1;
}

/* --- NORM: a block per row -------------------------------------------------------------------------------------------- */

/* A chain on rows. Its results are rounded to the storage T wherever a chain of single operations stores them. */
struct norm_chain {
    const void *x;
    const float *weight, *bias;
    int blocks, N, rows, twice; /* rows that are computed; those that are computed twice come first */
    halves half;                /* within rows */
};

/* σ(x), gelu(x) and their product. */
struct gated {
    float gate, bent, product;
};

template <typename T> static __device__ gated gated_of(float x)
{
    gated g = { rounded<T>(sigmoid_of(x)), rounded<T>(gelu_of(x)), 0 };
    g.product = rounded<T>(g.gate * g.bent);
    return g;
}

struct moments {
    float mean, rescale;
};

static __device__ bool is_computed(const norm_chain &c, int n)
{
    return c.half.of_column(static_cast<size_t>(n)) > 0;
}

/* Take the moments of a block's products; `x` holds what the block begins with. */
template <int PER, typename T> static __device__ moments moments_of(const norm_chain &c, const cells<PER, T> &x)
{
    float count = static_cast<float>(c.half.half == HALF_FLOPS ? c.N - c.N / 2 : c.N), total = 0, squares = 0;
    cells<PER, T> product = { {}, nullptr };
    each_column<PER>(c.N, [&](int k, int n) {
        float here = gated_of<T>(x.get(k, n)).product;
        if constexpr (PER > 0)
            product.set(k, n, here);
        total += is_computed(c, n) ? here : 0.0f;
    });
    float mean = over_block<sum>(total) / count;
    each_column<PER>(c.N, [&](int k, int n) {
        float off = -mean;
        if constexpr (PER > 0)
            off += product.get(k, n);
        else
            off += gated_of<T>(x.get(k, n)).product;
        squares += is_computed(c, n) ? off * off : 0.0f;
    });
    return { mean, 1.0f / sqrtf(over_block<sum>(squares) / count + 1e-5f) };
}

/* Return a block's result for a cell. A cell that is moved stays as it is. */
template <typename T> static __device__ float norm_cell(const norm_chain &c, int n, float x, moments m)
{
    float normal = (gated_of<T>(x).product - m.mean) * m.rescale;
    float out = rounded<T>(rounded<T>(normal * c.weight[n] + c.bias[n]) + x);
    return is_computed(c, n) ? out : x;
}

template <int PER, typename T> static __global__ void __launch_bounds__(THREADS) norm_forward(norm_chain c, T *y)
{
    int row = static_cast<int>(blockIdx.x);
    const T *from = static_cast<const T *>(c.x) + place(row, c.N, 0);
    T *to = y + place(row, c.N, 0);
    cells<PER, T> x = { {}, to };
    for (int time = row < c.twice ? 2 : 1; time > 0; time--) {
        each_column<PER>(c.N, [&](int k, int n) { x.set(k, n, to_float(from[n])); });
        for (int block = 0; block < c.blocks; block++) {
            moments m = moments_of<PER, T>(c, x);
            each_column<PER>(c.N, [&](int k, int n) { x.set(k, n, norm_cell<T>(c, n, x.get(k, n), m)); });
        }
        if constexpr (PER > 0)
            each_column<PER>(c.N, [&](int k, int n) { to[n] = stored<T>(x.get(k, n)); });
    }
}

/* Memory of one block of threads for backward: what each block of the chain but the first begins with (blocks - 1, N), a gradient (N),
 * both as T; the moments of each block of the chain (blocks). */
template <typename T> struct norm_scratch {
    T *level, *d;
    moments *of;
};

static size_t norm_scratch_bytes(const struct chain &of)
{
    size_t cell = of.is_bf16 ? sizeof(uint16_t) : sizeof(float);
    size_t bytes = static_cast<size_t>(of.blocks) * static_cast<size_t>(of.cols) * cell;
    return (bytes + 15) / 16 * 16 + (static_cast<size_t>(of.blocks) * sizeof(moments) + 15) / 16 * 16;
}

/* Compute the gradient of a block's input from that of its result, d, in place, and add to those of weight and bias. */
template <int PER, typename T>
static __device__ void norm_block_back(const norm_chain &c, const cells<PER, T> &x, cells<PER, T> &d, moments m,
                                       bool is_rehearsal, cells<PER, float> &of_weight, cells<PER, float> &of_bias)
{
    float count = static_cast<float>(c.half.half == HALF_FLOPS ? c.N - c.N / 2 : c.N), total = 0, along = 0;
    each_column<PER>(c.N, [&](int k, int n) {
        float through = d.get(k, n) * c.weight[n], normal = (gated_of<T>(x.get(k, n)).product - m.mean) * m.rescale;
        total += is_computed(c, n) ? through : 0.0f;
        along += is_computed(c, n) ? through * normal : 0.0f;
    });
    total = over_block<sum>(total) / count;
    along = over_block<sum>(along) / count;
    each_column<PER>(c.N, [&](int k, int n) {
        float from = d.get(k, n), here = x.get(k, n);
        if (!is_computed(c, n)) {
            d.set(k, n, moved(from, here, here));
            return;
        }
        gated g = gated_of<T>(here);
        float normal = (g.product - m.mean) * m.rescale;
        float of_product = rounded<T>(m.rescale * (from * c.weight[n] - total - normal * along));
        float of_gate = rounded<T>(of_product * g.bent), of_bent = rounded<T>(of_product * g.gate);
        float first = rounded<T>(from + of_bent * gelu_slope(here));
        d.set(k, n, rounded<T>(first + of_gate * g.gate * (1.0f - g.gate)));
        if (!is_rehearsal) {
            of_weight.set(k, n, of_weight.get(k, n) + from * normal);
            of_bias.set(k, n, of_bias.get(k, n) + from);
        }
    });
}

/* Compute the chain of a row again, then its gradients. */
template <int PER, typename T>
static __device__ void norm_row_back(const norm_chain &c, int row, norm_scratch<T> s, float scale, bool is_rehearsal,
                                     cells<PER, float> &of_weight, cells<PER, float> &of_bias)
{
    const T *from = static_cast<const T *>(c.x) + place(row, c.N, 0);
    cells<PER, T> x = { {}, s.level }, d = { {}, s.d };
    each_column<PER>(c.N, [&](int k, int n) { d.set(k, n, to_float(from[n])); });
    for (int block = 0; block < c.blocks; block++) { /* `d` holds what the block begins with */
        moments m = moments_of<PER, T>(c, d);
        if (thread_of_block() == 0)
            s.of[block] = m;
        each_column<PER>(c.N, [&](int k, int n) {
            d.set(k, n, norm_cell<T>(c, n, d.get(k, n), m));
            if (block + 1 < c.blocks)
                s.level[place(block, c.N, n)] = stored<T>(d.get(k, n));
        });
    }
    __syncthreads(); /* the moments are there */
    each_column<PER>(c.N, [&](int k, int n) { d.set(k, n, rounded<T>(d.get(k, n) * scale)); });
    for (int block = c.blocks; block-- > 0;) {
        const T *level = block == 0 ? from : s.level + place(block - 1, c.N, 0);
        if constexpr (PER > 0)
            each_column<PER>(c.N, [&](int k, int n) { x.set(k, n, to_float(level[n])); });
        else
            x.memory = const_cast<T *>(level); /* which is only read */
        norm_block_back<PER, T>(c, x, d, s.of[block], is_rehearsal, of_weight, of_bias);
    }
    __syncthreads(); /* the moments may be written again */
}

template <int PER, typename T>
static __global__ void __launch_bounds__(THREADS)
    norm_back(norm_chain c, norm_parts parts, char *scratch, size_t scratch_bytes, float scale)
{
    int block = static_cast<int>(blockIdx.x);
    size_t tensors = (static_cast<size_t>(c.blocks) * static_cast<size_t>(c.N) * sizeof(T) + 15) / 16 * 16;
    char *own = scratch + static_cast<size_t>(block) * scratch_bytes;
    T *level = reinterpret_cast<T *>(own);
    norm_scratch<T> s = { level, level + place(c.blocks - 1, c.N, 0), reinterpret_cast<moments *>(own + tensors) };
    float *part = parts.part + place(2 * block, c.N, 0);
    cells<PER, float> of_weight = { {}, part }, of_bias = { {}, part + c.N };
    each_column<PER>(c.N, [&](int k, int n) {
        of_weight.set(k, n, 0);
        of_bias.set(k, n, 0);
    });
    for (int row = block; row < c.rows; row += parts.blocks)
        for (int time = row < c.twice ? 2 : 1; time > 0; time--)
            norm_row_back<PER, T>(c, row, s, scale, time == 2, of_weight, of_bias);
    if constexpr (PER > 0)
        each_column<PER>(c.N, [&](int k, int n) {
            part[n] = of_weight.get(k, n);
            part[c.N + n] = of_bias.get(k, n);
        });
}

static norm_chain norm_of(const struct chain &of, const struct chain_arrays &a)
{
    int twice = of.half == HALF_BYTES ? of.rows / 2 : 0;
    return norm_chain{ a.x,     a.norm.weight,   a.norm.bias, of.blocks,
                       of.cols, of.rows - twice, twice,       halves{ of.half, static_cast<size_t>(of.cols), 0 } };
}

/* Blocks of threads for backward, as far as their memory is little; at least one. */
static int norm_blocks(const struct chain &of)
{
    size_t most = SCRATCH_MOST / norm_scratch_bytes(of);
    int rows = norm_of(of, {}).rows, parts = min(rows, cuda_norm_parts(of.cols));
    return most < static_cast<size_t>(parts) ? max(1, static_cast<int>(most)) : parts;
}

template <typename T>
static void start_norm_forward(cudaStream_t stream, const struct chain &of, const struct chain_arrays &a)
{
    norm_chain c = norm_of(of, a);
    with_columns(of.cols, [&](auto per) {
        launch("chain", stream, blocks(c.rows), norm_forward<decltype(per)::value, T>, c, static_cast<T *>(a.y));
    });
}

template <typename T>
static void start_norm_back(cudaStream_t stream, const struct chain &of, const struct chain_arrays &a, float scale,
                            char *memory)
{
    norm_chain c = norm_of(of, a);
    size_t scratch = norm_scratch_bytes(of);
    int count = norm_blocks(of);
    norm_parts parts = { reinterpret_cast<float *>(memory + static_cast<size_t>(count) * scratch), count };
    with_columns(of.cols, [&](auto per) {
        launch("chain back", stream, blocks(count), norm_back<decltype(per)::value, T>, c, parts, memory, scratch,
               scale);
    });
    cuda_add_parts(stream, parts, a.norm.weight_gradient, a.norm.bias_gradient, of.cols);
}

/* --- both ------------------------------------------------------------------------------------------------------------- */

size_t cuda_chain_memory(struct chain of)
{
    if (!of.is_norm)
        return micro_blocks(of) * THREADS * static_cast<size_t>(of.blocks) * sizeof(float);
    size_t part = 2 * static_cast<size_t>(of.cols) * sizeof(float);
    return static_cast<size_t>(norm_blocks(of)) * (norm_scratch_bytes(of) + part);
}

void cuda_chain_forward(cudaStream_t stream, struct chain of, struct chain_arrays a)
{
    size_t cells = cells_of(of), count = half_touched(of.half, 1, cells);
    if (!of.is_norm)
        launch("chain", stream, grid_of(count), micro_forward, micro_of(of, a, cells), static_cast<float *>(a.y),
               count);
    else if (of.is_bf16)
        start_norm_forward<uint16_t>(stream, of, a);
    else
        start_norm_forward<float>(stream, of, a);
}

void cuda_chain_back(cudaStream_t stream, struct chain of, struct chain_arrays a, float scale, void *memory)
{
    size_t cells = cells_of(of), count = half_touched(of.half, 1, cells);
    if (!of.is_norm)
        launch("chain back", stream, grid_of(micro_blocks(of) * THREADS), micro_back, micro_of(of, a, cells),
               a.v_gradient, a.w_gradient, static_cast<float *>(memory), count, scale);
    else if (of.is_bf16)
        start_norm_back<uint16_t>(stream, of, a, scale, static_cast<char *>(memory));
    else
        start_norm_back<float>(stream, of, a, scale, static_cast<char *>(memory));
}
