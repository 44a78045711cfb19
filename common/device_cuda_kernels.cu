/* What device.h's operations are on a GPU, but for matrix products, which are the library's.
 *
 * None of this has much to compute: a kernel here is as fast as memory delivers, 4.8 TB/s on an H200, and where its data
 * fit into the L2 cache (50 MB; all but the parameters of the MLP does) it is as fast as it is launched, in about 2 us.
 * Hence one launch per operation, 16 bytes per access where addresses allow it, and otherwise the plainest loops.
 *
 * Sums are taken in an order that depends on sizes alone, never by atomic additions of floats: replicas are compared bit
 * by bit.
 *
 * Legend: B rows, N columns, b and n one of them; V columns that one thread takes together; a warp is 32 threads that
 * step together, and blocks are (32,8) threads: threadIdx.y is the warp's number, threadIdx.x the lane's. */
#include "device_cuda.h"

#include <cuda_runtime.h>

#include <initializer_list>
#include <math.h>

/* Before a loop: so many rounds as it has, known when compiled, stand one after the other, and arrays stay in registers. */
#ifdef __CUDACC__
#define UNROLLED _Pragma("unroll")
#else /* compiled for the CPU, by the tests */
#define UNROLLED
#endif

constexpr int ACROSS = 32, DOWN = 8, THREADS = ACROSS * DOWN;
constexpr unsigned int WHOLE_WARP = 0xffffffff;

static int divide_up(int x, int by)
{
    return (x + by - 1) / by;
}

/* Every launch of this file. No blocks is no work. */
template <typename... Expected, typename... Actual>
static void launch(const char *what, cudaStream_t stream, dim3 grid, void (*kernel)(Expected...), Actual... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(ACROSS, DOWN);
    config.stream = stream;
    if (grid.x > 0)
        cuda_must(cudaLaunchKernelEx(&config, kernel, arguments...), what);
}

static dim3 blocks(int x, int y = 1)
{
    return dim3(static_cast<unsigned int>(x), static_cast<unsigned int>(y));
}

/* --- V numbers at once -------------------------------------------------------------------------------------------- */

/* Loaded and stored by one instruction. */
template <int V, typename T = float> struct alignas(V * sizeof(T)) pack {
    T at[V];
};

template <int V, typename T> static __device__ pack<V, T> load(const T *from)
{
    return *reinterpret_cast<const pack<V, T> *>(from);
}

template <int V, typename T> static __device__ void store(T *to, const pack<V, T> &x)
{
    *reinterpret_cast<pack<V, T> *>(to) = x;
}

/* Whether rows of N floats may be taken four at a time, in each of these arrays. */
static bool by_fours(size_t N, std::initializer_list<const void *> arrays)
{
    bool fits = N % 4 == 0;
    for (const void *array : arrays)
        fits = fits && reinterpret_cast<uintptr_t>(array) % 16 == 0;
    return fits;
}

static __device__ int thread_of_block()
{
    return static_cast<int>(threadIdx.y) * ACROSS + static_cast<int>(threadIdx.x);
}

static __device__ size_t place(int b, int N, int n)
{
    return static_cast<size_t>(b) * static_cast<size_t>(N) + static_cast<size_t>(n);
}

/* --- array by array: item.at<V>(i) does elements i to i + V ------------------------------------------------------- */

template <int V, typename Item> static __global__ void __launch_bounds__(THREADS) each_element(Item item, size_t count)
{
    size_t packs = count / V, i = static_cast<size_t>(blockIdx.x) * THREADS + static_cast<size_t>(thread_of_block());
    if (i < packs)
        item.template at<V>(i * V);
    if (i < count % V) /* the rest, fewer than V */
        item.template at<1>(packs * V + i);
}

template <typename Item>
static void launch_elements(const char *what, cudaStream_t stream, Item item, size_t count,
                            std::initializer_list<const void *> arrays)
{
    bool fours = by_fours(0, arrays);
    size_t packs = fours ? (count + 3) / 4 : count;
    dim3 grid(static_cast<unsigned int>((packs + THREADS - 1) / THREADS));
    launch(what, stream, grid, fours ? each_element<4, Item> : each_element<1, Item>, item, count);
}

struct fill {
    float *out, value;

    template <int V> __device__ void at(size_t i) const
    {
        pack<V> x;
        for (int k = 0; k < V; k++)
            x.at[k] = value;
        store<V>(out + i, x);
    }
};

struct scale {
    float *out;
    const float *x;
    float by;

    template <int V> __device__ void at(size_t i) const
    {
        pack<V> all = load<V>(x + i);
        for (int k = 0; k < V; k++)
            all.at[k] *= by;
        store<V>(out + i, all);
    }
};

struct add {
    float *sum;
    const float *x;

    template <int V> __device__ void at(size_t i) const
    {
        pack<V> to = load<V>(sum + i), more = load<V>(x + i);
        for (int k = 0; k < V; k++)
            to.at[k] += more.at[k];
        store<V>(sum + i, to);
    }
};

/* As bf16_round() of bf16.h, bit by bit. */
static __device__ uint16_t round_to_bf16(float value)
{
    uint32_t bits = __float_as_uint(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
    bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return static_cast<uint16_t>(is_nan ? quiet : rounded);
}

struct narrow {
    uint16_t *out;
    const float *x;

    template <int V> __device__ void at(size_t i) const
    {
        pack<V> wide = load<V>(x + i);
        pack<V, uint16_t> halves;
        for (int k = 0; k < V; k++)
            halves.at[k] = round_to_bf16(wide.at[k]);
        store<V>(out + i, halves);
    }
};

struct widen {
    float *out;
    const uint16_t *x;

    template <int V> __device__ void at(size_t i) const
    {
        pack<V, uint16_t> halves = load<V>(x + i);
        pack<V> wide;
        for (int k = 0; k < V; k++)
            wide.at[k] = __uint_as_float(static_cast<uint32_t>(halves.at[k]) << 16);
        store<V>(out + i, wide);
    }
};

/* 28 bytes per parameter, four read and three written: 86 MB for the MLP's 3.07 million. */
struct adamw {
    struct cuda_adamw_step of;

    template <int V> __device__ void at(size_t i) const
    {
        pack<V> p = load<V>(of.p + i), m = load<V>(of.m + i), v = load<V>(of.v + i), g = load<V>(of.g + i);
        for (int k = 0; k < V; k++) {
            m.at[k] = of.beta1 * m.at[k] + (1.0f - of.beta1) * g.at[k];
            v.at[k] = of.beta2 * v.at[k] + (1.0f - of.beta2) * g.at[k] * g.at[k];
            p.at[k] = p.at[k] * of.keep - of.step * m.at[k] / (sqrtf(v.at[k]) * of.shrink + of.epsilon);
        }
        store<V>(of.p + i, p);
        store<V>(of.m + i, m);
        store<V>(of.v + i, v);
    }
};

void cuda_fill(cudaStream_t stream, float *out, float value, size_t count)
{
    launch_elements("fill", stream, fill{ out, value }, count, { out });
}

void cuda_scale(cudaStream_t stream, float *out, const float *x, float scale_by, size_t count)
{
    launch_elements("scale", stream, scale{ out, x, scale_by }, count, { out, x });
}

void cuda_narrow(cudaStream_t stream, uint16_t *out, const float *x, size_t count)
{
    launch_elements("narrow", stream, narrow{ out, x }, count, { out, x });
}

void cuda_widen(cudaStream_t stream, float *out, const uint16_t *x, size_t count)
{
    launch_elements("widen", stream, widen{ out, x }, count, { out, x });
}

void cuda_add(cudaStream_t stream, float *sum, const float *x, size_t count)
{
    launch_elements("add", stream, add{ sum, x }, count, { sum, x });
}

void cuda_adamw(cudaStream_t stream, struct cuda_adamw_step of, size_t count)
{
    launch_elements("AdamW", stream, adamw{ of }, count, { of.p, of.m, of.v, of.g });
}

/* --- row by row: item.at<V>(b, n) does columns n to n + V of row b ------------------------------------------------- */

template <int V, typename Item> static __global__ void __launch_bounds__(THREADS) each_cell(Item item, int B, int N)
{
    int n = V * static_cast<int>(blockIdx.x * ACROSS + threadIdx.x), step = static_cast<int>(gridDim.y) * DOWN;
    if (n < N)
        for (int b = static_cast<int>(blockIdx.y * DOWN + threadIdx.y); b < B; b += step)
            item.template at<V>(b, n);
}

template <typename Item>
static void launch_cells(const char *what, cudaStream_t stream, Item item, int B, int N,
                         std::initializer_list<const void *> arrays)
{
    constexpr int most = 65535; /* blocks downwards that CUDA allows */
    bool fours = by_fours(static_cast<size_t>(N), arrays);
    dim3 grid = blocks(divide_up(fours ? N / 4 : N, ACROSS), min(divide_up(B, DOWN), most));
    launch(what, stream, grid, fours ? each_cell<4, Item> : each_cell<1, Item>, item, B, N);
}

/* Reads 4 bytes per cell and writes 8. */
struct gelu {
    float *z, *slope;
    const float *bias;
    int N;

    template <int V> __device__ void at(int b, int n) const
    {
        size_t i = place(b, N, n);
        pack<V> x = load<V>(z + i), shift = load<V>(bias + n), steep;
        for (int k = 0; k < V; k++) {
            float at = x.at[k] + shift.at[k], phi = 0.5f + 0.5f * erff(at * 0.70710678f);
            x.at[k] = at * phi;
            steep.at[k] = phi + at * 0.39894228f * expf(-0.5f * at * at);
        }
        store<V>(z + i, x);
        store<V>(slope + i, steep);
    }
};

struct residual {
    float *x;
    const float *beside, *bias;
    int N;

    template <int V> __device__ void at(int b, int n) const
    {
        size_t i = place(b, N, n);
        pack<V> to = load<V>(x + i), from = load<V>(beside + i), shift = load<V>(bias + n);
        for (int k = 0; k < V; k++)
            to.at[k] += from.at[k] + shift.at[k];
        store<V>(x + i, to);
    }
};

struct gather {
    float *out;
    const float *table;
    const int32_t *index;
    int N;

    template <int V> __device__ void at(int b, int n) const
    {
        store<V>(out + place(b, N, n), load<V>(table + place(index[b], N, n)));
    }
};

void cuda_gelu(cudaStream_t stream, float *z, float *slope, const float *bias, int B, int N)
{
    launch_cells("gelu", stream, gelu{ z, slope, bias, N }, B, N, { z, slope, bias });
}

void cuda_residual(cudaStream_t stream, float *x, const float *beside, const float *bias, int B, int N)
{
    launch_cells("residual", stream, residual{ x, beside, bias, N }, B, N, { x, beside, bias });
}

void cuda_gather(cudaStream_t stream, float *out, const float *table, const int32_t *index, int B, int N)
{
    launch_cells("gather", stream, gather{ out, table, index, N }, B, N, { out, table });
}

/* --- sums of a warp, of a block and of several -------------------------------------------------------------------- */

struct larger {
    template <typename T> __device__ T operator()(T x, T y) const
    {
        return y > x ? y : x;
    }
};

struct sum {
    template <typename T> __device__ T operator()(T x, T y) const
    {
        return x + y;
    }
};

/* Of groups of LANES neighbours, each lane has its group's. x + y and y + x being the same, all have the same bits. */
template <typename Operation, int LANES = ACROSS, typename T> static __device__ T over_lanes(T mine)
{
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        mine = Operation()(mine, __shfl_xor_sync(WHOLE_WARP, mine, apart));
    return mine;
}

/* Each thread has the block's. */
template <typename Operation, typename T> static __device__ T over_block(T mine)
{
    __shared__ T of_warp[DOWN];
    mine = over_lanes<Operation>(mine);
    if (threadIdx.x == 0)
        of_warp[threadIdx.y] = mine;
    __syncthreads();
    T all = of_warp[0];
    for (int warp = 1; warp < DOWN; warp++)
        all = Operation()(all, of_warp[warp]);
    __syncthreads(); /* `of_warp` is free again */
    return all;
}

/* SUMS numbers of a column. */
template <int SUMS> struct column {
    float of[SUMS];
};

/* Down the block's columns of threads: the threads of warp 0 have the sums. */
template <int SUMS> static __device__ column<SUMS> over_warps(const column<SUMS> &mine)
{
    __shared__ float all[SUMS][DOWN][ACROSS];
    column<SUMS> total = {};
    for (int s = 0; s < SUMS; s++)
        all[s][threadIdx.y][threadIdx.x] = mine.of[s];
    __syncthreads();
    if (threadIdx.y == 0)
        for (int s = 0; s < SUMS; s++)
            for (int warp = 0; warp < DOWN; warp++)
                total.of[s] += all[s][warp][threadIdx.x];
    __syncthreads(); /* `all` is free again */
    return total;
}

/* Whether all other of `blocks` blocks have been here: what they had written before can be read now. */
static __device__ bool is_last_block(unsigned int *arrived, unsigned int blocks)
{
    __shared__ bool is_last;
    __syncthreads();
    if (thread_of_block() == 0) {
        __threadfence();
        is_last = atomicAdd(arrived, 1u) == blocks - 1;
        if (is_last)
            *arrived = 0; /* for the next launch */
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

/* --- column sums -------------------------------------------------------------------------------------------------- */

/* Rows are summed in chunks, a block taking ACROSS columns of one; then the last block of these columns sums the chunks.
 * A thread loads IN_FLIGHT rows before it uses the first: what it writes might otherwise be what it reads next, and it
 * would wait for memory as often as there are rows. The least chunk is that much for all threads. */
constexpr int IN_FLIGHT = 8, LEAST_CHUNK = IN_FLIGHT * DOWN, MOST_CHUNKS = 64, MOST_SUMS = 2;

struct columns {
    int B, N, tiles;
    int chunk, chunks;     /* rows of a chunk */
    float *part;           /* (sums,chunks,N) */
    unsigned int *arrived; /* (tiles) */
};

size_t cuda_column_parts(int N)
{
    return static_cast<size_t>(MOST_SUMS) * MOST_CHUNKS * static_cast<size_t>(N);
}

size_t cuda_column_arrivals(int N)
{
    return static_cast<size_t>(divide_up(N, ACROSS));
}

static columns plan_columns(struct cuda_parts parts, int B, int N)
{
    int chunk = max(LEAST_CHUNK, divide_up(B, MOST_CHUNKS));
    return columns{
        B, N, divide_up(N, ACROSS), chunk, divide_up(B, chunk), static_cast<float *>(parts.part), parts.arrived
    };
}

/* A thread's share of rows [b, end): every DOWN-th. source.load(b, n) reads a cell, source.add(sums, cell, b, n) adds what
 * it has to the sums of column n. */
template <int SUMS, typename Source>
static __device__ column<SUMS> add_cells(const Source &source, int b, int end, int n)
{
    column<SUMS> sums = {};
    for (; b < end; b += IN_FLIGHT * DOWN) {
        typename Source::cell cell[IN_FLIGHT];
        UNROLLED
        for (int k = 0; k < IN_FLIGHT; k++)
            if (b + k * DOWN < end)
                cell[k] = source.load(b + k * DOWN, n);
        UNROLLED
        for (int k = 0; k < IN_FLIGHT; k++)
            if (b + k * DOWN < end)
                source.add(sums, cell[k], b + k * DOWN, n);
    }
    return sums;
}

/* Block `block` of tiles x chunks. The sums of a column are put into source.out(s). */
template <int SUMS, typename Source>
static __device__ void sum_columns(const Source &source, const columns &c, int block)
{
    int tile = block / c.chunks, chunk = block % c.chunks;
    int n = tile * ACROSS + static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    bool writes = warp == 0 && n < c.N;
    column<SUMS> sums = {};
    if (n < c.N)
        sums = add_cells<SUMS>(source, chunk * c.chunk + warp, min(c.B, (chunk + 1) * c.chunk), n);
    sums = over_warps(sums);
    if (writes)
        for (int s = 0; s < SUMS; s++)
            c.part[place(s * c.chunks + chunk, c.N, n)] = sums.of[s];
    if (!is_last_block(&c.arrived[tile], static_cast<unsigned int>(c.chunks)))
        return;
    sums = {};
    if (n < c.N)
        for (int s = 0; s < SUMS; s++)
            for (int of = warp; of < c.chunks; of += DOWN)
                sums.of[s] += c.part[place(s * c.chunks + of, c.N, n)];
    sums = over_warps(sums);
    if (writes)
        for (int s = 0; s < SUMS; s++)
            source.out(s)[n] = sums.of[s];
}

struct plain_columns {
    float *to;
    const float *x;
    int N;

    using cell = float;
    __device__ cell load(int b, int n) const
    {
        return x[place(b, N, n)];
    }
    __device__ void add(column<1> &sums, cell x_here, int, int) const
    {
        sums.of[0] += x_here;
    }
    __device__ float *out(int) const
    {
        return to;
    }
};

/* Reads 8 bytes per cell and writes 4: 6 MB for a hidden layer of the MLP at 512 samples. */
struct gelu_back {
    float *d, *bias_gradient;
    const float *slope;
    int N;

    using cell = float;
    __device__ cell load(int b, int n) const
    {
        return d[place(b, N, n)] * slope[place(b, N, n)];
    }
    __device__ void add(column<1> &sums, cell through, int b, int n) const
    {
        d[place(b, N, n)] = through;
        sums.of[0] += through;
    }
    __device__ float *out(int) const
    {
        return bias_gradient;
    }
};

template <typename Source> static __global__ void __launch_bounds__(THREADS) sum_one(Source source, columns c)
{
    sum_columns<1>(source, c, static_cast<int>(blockIdx.x));
}

void cuda_column_sums(cudaStream_t stream, struct cuda_parts parts, float *out, const float *x, int B, int N)
{
    columns c = plan_columns(parts, B, N);
    launch("column sums", stream, blocks(c.tiles * c.chunks), sum_one<plain_columns>, plain_columns{ out, x, N }, c);
}

void cuda_gelu_back(cudaStream_t stream, struct cuda_parts parts, float *d, const float *slope, float *bias_gradient,
                    int B, int N)
{
    columns c = plan_columns(parts, B, N);
    gelu_back source = { d, bias_gradient, slope, N };
    launch("gelu back", stream, blocks(c.tiles * c.chunks), sum_one<gelu_back>, source, c);
}

/* --- cross-entropy ------------------------------------------------------------------------------------------------ */

/* A block per row, which it passes three times; after the first pass the row (4 KB for 1000 classes) lies in the nearest
 * cache. The last block sums the rows' losses. */
static __global__ void __launch_bounds__(THREADS)
    cross_entropy(double *loss, double *loss_of, unsigned int *arrived, float *logits, const float *bias,
                  const int32_t *labels, int B, int N, float by)
{
    int b = static_cast<int>(blockIdx.x), first = thread_of_block(), label = labels[b];
    float *row = logits + place(b, N, 0);
    float most = -INFINITY, total = 0;
    float of_label = row[label] + bias[label]; /* before anyone writes: over_block() waits for all */
    for (int n = first; n < N; n += THREADS)
        most = larger()(most, row[n] + bias[n]);
    most = over_block<larger>(most);
    for (int n = first; n < N; n += THREADS) {
        float e = expf(row[n] + bias[n] - most);
        row[n] = e;
        total += e;
    }
    total = over_block<sum>(total);
    for (int n = first; n < N; n += THREADS)
        row[n] = row[n] * (by / total) - (n == label ? by : 0.0f);
    if (first == 0)
        loss_of[b] = log(static_cast<double>(total)) - static_cast<double>(of_label - most);
    if (!is_last_block(arrived, gridDim.x))
        return;
    double all = 0;
    for (int i = first; i < B; i += THREADS)
        all += loss_of[i];
    all = over_block<sum>(all);
    if (first == 0)
        *loss = all;
}

void cuda_cross_entropy(cudaStream_t stream, struct cuda_parts parts, double *loss, float *logits, const float *bias,
                        const int32_t *labels, int B, int N, float by)
{
    launch("cross-entropy", stream, blocks(B), cross_entropy, loss, static_cast<double *>(parts.part), parts.arrived,
           logits, bias, labels, B, N, by);
}

/* --- layer norm: a warp per row ----------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS)
    layer_norm(float *y, float *moments, const float *x, const float *weight, const float *bias, int B, int N)
{
    int b = static_cast<int>(blockIdx.x * DOWN + threadIdx.y), first = static_cast<int>(threadIdx.x);
    if (b >= B)
        return; /* the whole warp */
    const float *row = x + place(b, N, 0);
    float *out = y + place(b, N, 0);
    float part = 1.0f / static_cast<float>(N), total = 0, squares = 0;
    for (int n = first; n < N; n += ACROSS)
        total += row[n];
    float mean = over_lanes<sum>(total) * part;
    for (int n = first; n < N; n += ACROSS)
        squares += (row[n] - mean) * (row[n] - mean);
    float rescale = 1.0f / sqrtf(over_lanes<sum>(squares) * part + 1e-5f);
    for (int n = first; n < N; n += ACROSS)
        out[n] = (row[n] - mean) * rescale * weight[n] + bias[n];
    if (first < 2)
        moments[place(b, 2, first)] = first == 0 ? mean : rescale;
}

void cuda_layer_norm(cudaStream_t stream, float *y, float *moments, const float *x, const float *weight,
                     const float *bias, int B, int N)
{
    launch("layer norm", stream, blocks(divide_up(B, DOWN)), layer_norm, y, moments, x, weight, bias, B, N);
}

static __device__ void layer_norm_row_back(const struct cuda_norm &norm, int b, int N)
{
    int first = static_cast<int>(threadIdx.x);
    const float *from = norm.back + place(b, N, 0), *row = norm.x + place(b, N, 0), *weight = norm.weight;
    float *to = norm.d + place(b, N, 0);
    float mean = norm.moments[place(b, 2, 0)], rescale = norm.moments[place(b, 2, 1)];
    float part = 1.0f / static_cast<float>(N), total = 0, along = 0;
    for (int n = first; n < N; n += ACROSS) {
        total += from[n] * weight[n];
        along += from[n] * weight[n] * ((row[n] - mean) * rescale);
    }
    total = over_lanes<sum>(total);
    along = over_lanes<sum>(along);
    for (int n = first; n < N; n += ACROSS)
        to[n] += rescale * (from[n] * weight[n] - part * (total + along * ((row[n] - mean) * rescale)));
}

struct norm_columns {
    struct cuda_norm norm;
    int N;

    struct cell {
        float from, normal;
    };
    __device__ cell load(int b, int n) const
    {
        float mean = norm.moments[place(b, 2, 0)], rescale = norm.moments[place(b, 2, 1)];
        return { norm.back[place(b, N, n)], (norm.x[place(b, N, n)] - mean) * rescale };
    }
    __device__ void add(column<2> &sums, cell here, int, int) const
    {
        sums.of[0] += here.from * here.normal;
        sums.of[1] += here.from;
    }
    __device__ float *out(int s) const
    {
        return s == 0 ? norm.weight_gradient : norm.bias_gradient;
    }
};

/* The first `row_blocks` blocks take DOWN rows each, all others columns: neither needs what the other finds. */
static __global__ void __launch_bounds__(THREADS) layer_norm_back(struct cuda_norm norm, columns c, int row_blocks)
{
    int block = static_cast<int>(blockIdx.x), b = block * DOWN + static_cast<int>(threadIdx.y);
    if (block >= row_blocks)
        sum_columns<2>(norm_columns{ norm, c.N }, c, block - row_blocks);
    else if (b < c.B)
        layer_norm_row_back(norm, b, c.N);
}

void cuda_layer_norm_back(cudaStream_t stream, struct cuda_parts parts, struct cuda_norm norm, int B, int N)
{
    columns c = plan_columns(parts, B, N);
    int row_blocks = divide_up(B, DOWN);
    launch("layer norm back", stream, blocks(row_blocks + c.tiles * c.chunks), layer_norm_back, norm, c, row_blocks);
}

/* --- mean pool: a block per text and ACROSS columns ---------------------------------------------------------------- */

static __global__ void __launch_bounds__(THREADS) mean_pool(float *out, const float *x, const struct text *text, int N)
{
    int t = static_cast<int>(blockIdx.x), n = static_cast<int>(blockIdx.y * ACROSS + threadIdx.x);
    int first = text[t].first, tokens = text[t].tokens;
    column<1> total = {};
    if (n < N)
        for (int row = static_cast<int>(threadIdx.y); row < tokens; row += DOWN)
            total.of[0] += x[place(first + row, N, n)];
    total = over_warps(total);
    if (threadIdx.y == 0 && n < N)
        out[place(t, N, n)] = total.of[0] * (1.0f / static_cast<float>(tokens));
}

static __global__ void __launch_bounds__(THREADS)
    mean_pool_back(float *d, const float *back, const struct text *text, int N)
{
    int t = static_cast<int>(blockIdx.x), n = static_cast<int>(blockIdx.y * ACROSS + threadIdx.x);
    int first = text[t].first, tokens = text[t].tokens, extent = text[t].extent;
    if (n >= N)
        return;
    float share = back[place(t, N, n)] * (1.0f / static_cast<float>(tokens));
    for (int row = static_cast<int>(threadIdx.y); row < extent; row += DOWN)
        d[place(first + row, N, n)] = row < tokens ? share : 0.0f;
}

void cuda_mean_pool(cudaStream_t stream, float *out, const float *x, const struct text *text, int texts, int N)
{
    launch("mean pool", stream, blocks(texts, divide_up(N, ACROSS)), mean_pool, out, x, text, N);
}

void cuda_mean_pool_back(cudaStream_t stream, float *d, const float *back, const struct text *text, int texts, int N)
{
    launch("mean pool back", stream, blocks(texts, divide_up(N, ACROSS)), mean_pool_back, d, back, text, N);
}

/* --- scatter ------------------------------------------------------------------------------------------------------ */

/* A block sums for TABLE_ROWS rows of the table and WIDTH columns: it looks through all indices for those rows, most of
 * which occur nowhere. Each warp looks through every DOWN-th SCAN of them, lists what it finds, and adds that to sums of
 * its own. The padding's row takes more than all others together: its adds are spread over the warps, and rows of x are
 * loaded AHEAD at a time. 8192 rows of a table by 2048 indices: 1024 blocks read 8 KB of indices each. */
constexpr int TABLE_ROWS = 8, WIDTH = 2 * ACROSS, SCAN = 4 * ACROSS, AHEAD = 8;

struct warp_sums {
    float of[TABLE_ROWS][WIDTH];
    int found[SCAN]; /* b * TABLE_ROWS + the row among the block's */
};

/* Lists where the SCAN indices from b on, B at most, name one of the rows from `row` on. Returns how many do. */
static __device__ int scan_indices(warp_sums &mine, const int32_t *index, int b, int B, int row)
{
    int lane = static_cast<int>(threadIdx.x), count = 0, which[SCAN / ACROSS];
    for (int k = 0; k < SCAN / ACROSS; k++) {
        int at = b + k * ACROSS + lane;
        which[k] = at < B ? index[at] - row : -1;
    }
    for (int k = 0; k < SCAN / ACROSS; k++) {
        bool is_here = which[k] >= 0 && which[k] < TABLE_ROWS;
        unsigned int here = __ballot_sync(WHOLE_WARP, is_here);
        if (is_here)
            mine.found[count + __popc(here & ((1u << lane) - 1))] = (b + k * ACROSS + lane) * TABLE_ROWS + which[k];
        count += __popc(here);
    }
    __syncwarp(); /* the list can be read */
    return count;
}

/* Adds the rows of x on the list, columns n and n + ACROSS of each lane. */
static __device__ void add_found(warp_sums &mine, int count, const float *x, int N, int n)
{
    int lane = static_cast<int>(threadIdx.x);
    for (int i = 0; i < count; i += AHEAD) {
        float near[AHEAD], far[AHEAD];
        UNROLLED
        for (int k = 0; k < AHEAD; k++) {
            bool is_one = i + k < count;
            int b = is_one ? mine.found[i + k] / TABLE_ROWS : 0;
            near[k] = is_one && n < N ? x[place(b, N, n)] : 0.0f;
            far[k] = is_one && n + ACROSS < N ? x[place(b, N, n + ACROSS)] : 0.0f;
        }
        UNROLLED
        for (int k = 0; k < AHEAD; k++)
            if (i + k < count) {
                float *to = mine.of[mine.found[i + k] % TABLE_ROWS];
                to[lane] += near[k];
                to[lane + ACROSS] += far[k];
            }
    }
    __syncwarp(); /* the list can be written */
}

static __global__ void __launch_bounds__(THREADS)
    scatter(float *out, int rows, const float *x, const int32_t *index, int B, int N)
{
    __shared__ warp_sums all[DOWN];
    int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    int row = static_cast<int>(blockIdx.x) * TABLE_ROWS, first = static_cast<int>(blockIdx.y) * WIDTH;
    warp_sums &mine = all[warp];
    for (int i = lane; i < TABLE_ROWS * WIDTH; i += ACROSS)
        mine.of[i / WIDTH][i % WIDTH] = 0;
    __syncwarp();
    for (int b = warp * SCAN; b < B; b += DOWN * SCAN) {
        int count = scan_indices(mine, index, b, B, row);
        add_found(mine, count, x, N, first + lane);
    }
    __syncthreads();
    for (int i = thread_of_block(); i < TABLE_ROWS * WIDTH; i += THREADS) {
        int r = i / WIDTH, n = i % WIDTH;
        float total = 0;
        for (int w = 0; w < DOWN; w++)
            total += all[w].of[r][n];
        if (row + r < rows && first + n < N)
            out[place(row + r, N, first + n)] = total;
    }
}

void cuda_scatter(cudaStream_t stream, float *out, int rows, const float *x, const int32_t *index, int B, int N)
{
    launch("scatter", stream, blocks(divide_up(rows, TABLE_ROWS), divide_up(N, WIDTH)), scatter, out, rows, x, index, B,
           N);
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

/* As FlashAttention does it (Dao et al., NeurIPS 2022): scores live in registers, and backward computes them again from
 * the log of their sum. A block takes ITEMS queries of one head of one text, forward and for the queries' gradient; for
 * those of keys and values it takes ITEMS keys. It passes all the text's rows on the other side in tiles of shared memory,
 * and LANES neighbours share an item: each takes every LANES-th row, and in the end they add up what they have.
 *
 * A row of D columns is held as W packs of four, the last filled with zeros. */
constexpr int LANES = 8, ITEMS = THREADS / LANES;
constexpr int LOADERS = 4, TILE = THREADS / LOADERS; /* threads that load a row together; rows of a tile */
constexpr int AT_ONCE = 4;                           /* rows that a lane takes together */
static_assert(TILE % (AT_ONCE * LANES) == 0, "a tile is whole rounds");

template <int W> struct vector {
    pack<4> of[W];
};

/* An odd number of packs apart, so that the rows of LANES neighbours lie in different banks. */
template <int W> struct alignas(16) padded_vector {
    pack<4> of[W / 2 * 2 + 1];
};

/* Which part of the work a block has. */
struct seat {
    struct text text;
    int head, first; /* item, from the text's first row on */
    size_t pitch;    /* of `projected` */
    int width;       /* HD, the pitch of everything else */
};

static __device__ seat find_seat(const struct cuda_heads &a, int block)
{
    int tiles = (a.longest + ITEMS - 1) / ITEMS, width = a.heads * a.head_width;
    return seat{ a.text[block / tiles / a.heads], block / tiles % a.heads, block % tiles * ITEMS,
                 3 * static_cast<size_t>(width), width };
}

static int count_seats(const struct cuda_heads &a)
{
    return a.texts * a.heads * divide_up(a.longest, ITEMS);
}

enum part { QUERY, KEY, VALUE };

/* Where rows of a matrix are found, and what they need: (x + bias) * factor. */
struct rows {
    const float *x;
    size_t pitch;
    const float *bias; /* or NULL */
    float factor;
    int D;
};

static __device__ float query_factor(const struct cuda_heads &a)
{
    return 1.0f / sqrtf(static_cast<float>(a.head_width));
}

/* The head's rows of the text, of which `part` is wanted. */
static __device__ rows projected_rows(const struct cuda_heads &a, const seat &s, part which)
{
    int column = which * s.width + s.head * a.head_width;
    return rows{ a.projected + static_cast<size_t>(s.text.first) * s.pitch + column, s.pitch, a.bias + column,
                 which == QUERY ? query_factor(a) : 1.0f, a.head_width };
}

/* The same of a matrix (B,HD). */
static __device__ rows joined_rows(const float *x, const struct cuda_heads &a, const seat &s)
{
    return rows{ x + place(s.text.first, s.width, s.head * a.head_width), static_cast<size_t>(s.width), nullptr, 1.0f,
                 a.head_width };
}

static __device__ float element(const rows &from, int row, int c)
{
    float x = from.x[static_cast<size_t>(row) * from.pitch + static_cast<size_t>(c)];
    return (from.bias ? x + from.bias[c] : x) * from.factor;
}

template <int W> static __device__ vector<W> load_vector(const rows &from, int row)
{
    vector<W> v;
    UNROLLED
    for (int c = 0; c < 4 * W; c++)
        v.of[c / 4].at[c % 4] = c < from.D ? element(from, row, c) : 0.0f;
    return v;
}

/* The block's tile becomes the TILE rows from `first` on; zeros from `end` on. */
template <int W> static __device__ void load_tile(padded_vector<W> *tile, const rows &from, int first, int end)
{
    int row = thread_of_block() / LOADERS, c = thread_of_block() % LOADERS;
    UNROLLED
    for (int w = 0; w < W; w++, c += LOADERS)
        tile[row].of[w].at[c % LOADERS] = first + row < end && c < from.D ? element(from, first + row, c) : 0.0f;
}
static_assert(LOADERS == 4, "a thread loads one element of each pack");

template <int W, typename Other> static __device__ float dot(const vector<W> &x, const Other &y)
{
    float total = 0;
    UNROLLED
    for (int w = 0; w < W; w++) {
        pack<4> from = y.of[w];
        UNROLLED
        for (int k = 0; k < 4; k++)
            total += x.of[w].at[k] * from.at[k];
    }
    return total;
}

/* to += by * x */
template <int W, typename Other> static __device__ void add_multiple(vector<W> &to, float by, const Other &x)
{
    UNROLLED
    for (int w = 0; w < W; w++) {
        pack<4> from = x.of[w];
        UNROLLED
        for (int k = 0; k < 4; k++)
            to.of[w].at[k] += by * from.at[k];
    }
}

template <int W> static __device__ void multiply_vector(vector<W> &v, float by)
{
    UNROLLED
    for (int c = 0; c < 4 * W; c++)
        v.of[c / 4].at[c % 4] *= by;
}

/* Of an item's lanes, in all of them. */
template <int W> static __device__ void sum_vector(vector<W> &v)
{
    UNROLLED
    for (int c = 0; c < 4 * W; c++)
        v.of[c / 4].at[c % 4] = over_lanes<sum, LANES>(v.of[c / 4].at[c % 4]);
}

/* An item's lanes write its vector together. */
template <int W> static __device__ void write_vector(float *to, const vector<W> &v, float by, int D)
{
    int lane = thread_of_block() % LANES;
    UNROLLED
    for (int c = 0; c < 4 * W; c++)
        if (c % LANES == lane && c < D)
            to[c] = v.of[c / 4].at[c % 4] * by;
}

/* Of the keys that a lane has seen: the greatest score, the sum of e^(score - most), and that of the values so weighted. */
template <int W> struct weighted {
    float most, total;
    vector<W> values;
};

/* AT_ONCE more keys: rows from `row` on, every LANES-th, of which `tokens` are valid. */
template <int W>
static __device__ void take_keys(weighted<W> &sofar, const vector<W> &query, const padded_vector<W> *keys,
                                 const padded_vector<W> *values, int row, int tokens)
{
    float score[AT_ONCE], most = sofar.most;
    UNROLLED
    for (int k = 0; k < AT_ONCE; k++) {
        float product = dot(query, keys[row + k * LANES]);
        score[k] = row + k * LANES < tokens ? product : -INFINITY;
        most = larger()(most, score[k]);
    }
    float base = most == -INFINITY ? 0.0f : most; /* nothing but padding yet: e^-infinity is right, and not NaN */
    float shrink = expf(sofar.most - base);
    sofar.most = most;
    sofar.total *= shrink;
    multiply_vector(sofar.values, shrink);
    UNROLLED
    for (int k = 0; k < AT_ONCE; k++) {
        float weight = expf(score[k] - base);
        sofar.total += weight;
        add_multiple(sofar.values, weight, values[row + k * LANES]);
    }
}

/* What an item's lanes have seen together. The text's first token is valid, so that one of them has seen one. */
template <int W> static __device__ void join_lanes(weighted<W> &sofar)
{
    float most = over_lanes<larger, LANES>(sofar.most), shrink = expf(sofar.most - most);
    sofar.most = most;
    sofar.total = over_lanes<sum, LANES>(sofar.total * shrink);
    multiply_vector(sofar.values, shrink);
    sum_vector(sofar.values);
}

template <int W> static __global__ void __launch_bounds__(THREADS) attention(struct cuda_heads a)
{
    __shared__ padded_vector<W> keys[TILE], values[TILE];
    seat s = find_seat(a, static_cast<int>(blockIdx.x));
    int lane = thread_of_block() % LANES, query = s.first + thread_of_block() / LANES, extent = s.text.extent;
    if (s.first >= extent)
        return; /* the whole block: its text is shorter than the longest */
    vector<W> q = load_vector<W>(projected_rows(a, s, QUERY), min(query, extent - 1));
    weighted<W> sofar = { -INFINITY, 0, {} };
    for (int first = 0; first < extent; first += TILE) {
        load_tile<W>(keys, projected_rows(a, s, KEY), first, extent);
        load_tile<W>(values, projected_rows(a, s, VALUE), first, extent);
        __syncthreads();
        for (int row = lane; row - lane < min(TILE, extent - first); row += AT_ONCE * LANES)
            take_keys(sofar, q, keys, values, row, s.text.tokens - first);
        __syncthreads();
    }
    join_lanes(sofar);
    if (query >= extent)
        return;
    int row = s.text.first + query;
    write_vector(a.out + place(row, s.width, s.head * a.head_width), sofar.values, 1.0f / sofar.total, a.head_width);
    if (lane == 0)
        a.log_sum[place(row, a.heads, s.head)] = sofar.most + logf(sofar.total);
}

/* --- attention's backward. With P = e^(score - log_sum), dP = d . value and mean = d . out of the query:
 * dscore = P (dP - mean), dquery = sum of dscore key, dkey = sum of dscore query, dvalue = sum of P d. --------------- */

static __device__ float *back_row(float *back, const struct cuda_heads &a, const seat &s, part which, int row)
{
    return back + static_cast<size_t>(s.text.first + row) * s.pitch + which * s.width + s.head * a.head_width;
}

template <int W>
static __device__ void queries_back(float *back, const float *d, const struct cuda_heads &a, const seat &s,
                                    padded_vector<W> *keys, padded_vector<W> *values)
{
    int lane = thread_of_block() % LANES, query = s.first + thread_of_block() / LANES, extent = s.text.extent;
    int own = min(query, extent - 1);
    vector<W> q = load_vector<W>(projected_rows(a, s, QUERY), own), from = load_vector<W>(joined_rows(d, a, s), own);
    float mean = dot(from, load_vector<W>(joined_rows(a.out, a, s), own));
    float log_sum = a.log_sum[place(s.text.first + own, a.heads, s.head)];
    vector<W> gradient = {};
    for (int first = 0; first < extent; first += TILE) {
        load_tile<W>(keys, projected_rows(a, s, KEY), first, extent);
        load_tile<W>(values, projected_rows(a, s, VALUE), first, extent);
        __syncthreads();
        for (int row = lane; row < min(TILE, extent - first); row += LANES) {
            float p = expf(dot(q, keys[row]) - log_sum), of_score = p * (dot(from, values[row]) - mean);
            add_multiple(gradient, first + row < s.text.tokens ? of_score : 0.0f, keys[row]);
        }
        __syncthreads();
    }
    sum_vector(gradient);
    if (query < extent)
        write_vector(back_row(back, a, s, QUERY, query), gradient, query_factor(a), a.head_width);
}

/* What keys need of the queries in a tile, beside their vectors. */
struct tile_queries {
    float log_sum[TILE], mean[TILE];
};

/* Call after load_tile() of d, by the same threads: those that loaded a row know it. */
template <int W>
static __device__ void recall_queries(tile_queries &of, const padded_vector<W> *d, const struct cuda_heads &a,
                                      const seat &s, int first)
{
    int row = thread_of_block() / LOADERS, loader = thread_of_block() % LOADERS, query = first + row;
    bool is_there = query < s.text.extent;
    rows out = joined_rows(a.out, a, s);
    float mean = 0;
    UNROLLED
    for (int w = 0; w < W; w++)
        if (is_there && LOADERS * w + loader < a.head_width)
            mean += d[row].of[w].at[loader] * element(out, query, LOADERS * w + loader);
    mean = over_lanes<sum, LOADERS>(mean);
    if (loader == 0) {
        of.mean[row] = mean;
        of.log_sum[row] = is_there ? a.log_sum[place(s.text.first + query, a.heads, s.head)] : 0.0f;
    }
}

template <int W>
static __device__ void keys_back(float *back, const float *d, const struct cuda_heads &a, const seat &s,
                                 padded_vector<W> *queries, padded_vector<W> *gradients, tile_queries &of)
{
    int lane = thread_of_block() % LANES, key = s.first + thread_of_block() / LANES, extent = s.text.extent;
    int own = min(key, extent - 1);
    vector<W> k = load_vector<W>(projected_rows(a, s, KEY), own), v = load_vector<W>(projected_rows(a, s, VALUE), own);
    vector<W> of_key = {}, of_value = {};
    for (int first = 0; first < extent; first += TILE) {
        load_tile<W>(queries, projected_rows(a, s, QUERY), first, extent);
        load_tile<W>(gradients, joined_rows(d, a, s), first, extent);
        recall_queries(of, gradients, a, s, first);
        __syncthreads();
        for (int row = lane; row < min(TILE, extent - first); row += LANES) {
            float p = key < s.text.tokens ? expf(dot(k, queries[row]) - of.log_sum[row]) : 0.0f;
            add_multiple(of_value, p, gradients[row]);
            add_multiple(of_key, p * (dot(v, gradients[row]) - of.mean[row]), queries[row]);
        }
        __syncthreads();
    }
    sum_vector(of_key);
    sum_vector(of_value);
    if (key >= extent)
        return;
    write_vector(back_row(back, a, s, KEY, key), of_key, 1.0f, a.head_width);
    write_vector(back_row(back, a, s, VALUE, key), of_value, 1.0f, a.head_width);
}

/* Every other block takes queries, or keys. */
template <int W>
static __global__ void __launch_bounds__(THREADS) attention_back(float *back, const float *d, struct cuda_heads a)
{
    __shared__ padded_vector<W> left[TILE], right[TILE];
    __shared__ tile_queries of;
    int block = static_cast<int>(blockIdx.x);
    seat s = find_seat(a, block / 2);
    if (s.first >= s.text.extent)
        return;
    if (block % 2 == 0)
        queries_back<W>(back, d, a, s, left, right);
    else
        keys_back<W>(back, d, a, s, left, right, of);
}

void cuda_attention(cudaStream_t stream, struct cuda_heads a)
{
    void (*const kernels[])(struct cuda_heads) = { attention<1>, attention<2>, attention<3>, attention<4> };
    launch("attention", stream, blocks(count_seats(a)), kernels[divide_up(a.head_width, 4) - 1], a);
}

void cuda_attention_back(cudaStream_t stream, float *back, const float *d, struct cuda_heads a)
{
    void (*const kernels[])(float *, const float *, struct cuda_heads) = { attention_back<1>, attention_back<2>,
                                                                           attention_back<3>, attention_back<4> };
    launch("attention back", stream, blocks(2 * count_seats(a)), kernels[divide_up(a.head_width, 4) - 1], back, d, a);
}
