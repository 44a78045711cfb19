/* Kernels that process a matrix cell by cell, along its rows or down its columns: GELU, residual, column sums,
 * cross-entropy, layer norm. */
#include "device/device_cuda_kernel.cuh"

/* --- cell by cell -------------------------------------------------------------------------------------------------- */

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

void cuda_gelu(cudaStream_t stream, float *z, float *slope, const float *bias, int B, int N)
{
    launch_cells("gelu", stream, gelu{ z, slope, bias, N }, B, N, { z, slope, bias });
}

void cuda_residual(cudaStream_t stream, float *x, const float *beside, const float *bias, int B, int N)
{
    launch_cells("residual", stream, residual{ x, beside, bias, N }, B, N, { x, beside, bias });
}

/* --- column sums -------------------------------------------------------------------------------------------------- */

/* A block sums ACROSS columns of one chunk of rows. The last block of these columns then sums the chunks. A thread
 * loads IN_FLIGHT rows before it uses the first. Otherwise a write might change the next read, and the thread would
 * wait for memory once per row. The smallest chunk is IN_FLIGHT rows for each warp. */
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
    int chunks = max(1, divide_up(B, chunk)); /* without rows, sums are zeros */
    return columns{ B, N, divide_up(N, ACROSS), chunk, chunks, static_cast<float *>(parts.part), parts.arrived };
}

/* Add up a thread's share of rows [b, end): every DOWN-th row. source.load(b, n) reads a cell; source.add(sums, cell,
 * b, n) adds it to the sums of column n. */
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

/* Do the work of block `block` of tiles x chunks. Sums of a column go to source.out(s). */
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

/* Kernel with one block per row; the block reads its row three times. After the first pass the row (4 KB for 1000
 * classes) is in the nearest cache. The last block sums the losses of all rows. */
static __global__ void __launch_bounds__(THREADS)
    cross_entropy(double *loss, double *loss_of, unsigned int *arrived, float *logits, const float *bias,
                  const int32_t *labels, int B, int N, float by)
{
    int b = static_cast<int>(blockIdx.x), first = thread_of_block(), label = labels[b];
    float *row = logits + place(b, N, 0);
    float most = -INFINITY, total = 0;
    float of_label = row[label] + bias[label]; /* before any thread writes: over_block() is a barrier */
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

/* Give the first `row_blocks` blocks DOWN rows each, and the others columns. Neither group needs the other's results. */
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
