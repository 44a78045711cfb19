/* Kernels that only sequences need, except attention: gather and scatter of table rows, and mean pooling. */
#include "device/device_cuda_kernel.cuh"

/* --- gather ------------------------------------------------------------------------------------------------------- */

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

void cuda_gather(cudaStream_t stream, float *out, const float *table, const int32_t *index, int B, int N)
{
    launch_cells("gather", stream, gather{ out, table, index, N }, B, N, { out, table });
}

/* --- scatter ------------------------------------------------------------------------------------------------------ */

/* A block sums WIDTH columns of TABLE_ROWS rows of the table. It scans all indices for these rows, most of which do not
 * occur. Each warp scans every DOWN-th group of SCAN indices, lists its matches, and adds them to sums of its own. The
 * padding's row occurs more often than all others together. Its adds are therefore spread over the warps, and rows of x
 * are loaded AHEAD at a time. With 8192 table rows and 2048 indices, 1024 blocks read 8 KB of indices each. */
constexpr int TABLE_ROWS = 8, WIDTH = 2 * ACROSS, SCAN = 4 * ACROSS, AHEAD = 8;

struct warp_sums {
    float of[TABLE_ROWS][WIDTH];
    int found[SCAN]; /* offset of the index x TABLE_ROWS + row within the block */
};

/* List which of the SCAN indices from b on, below B, name one of the block's rows, which begin at `row`. Return their
 * number. */
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
            mine.found[count + __popc(here & ((1u << lane) - 1))] = (k * ACROSS + lane) * TABLE_ROWS + which[k];
        count += __popc(here);
    }
    __syncwarp(); /* the list can be read */
    return count;
}

/* Add the listed rows of x; the list counts from row `first` on. Each lane adds columns n and n + ACROSS. */
static __device__ void add_found(warp_sums &mine, int count, const float *x, int first, int N, int n)
{
    int lane = static_cast<int>(threadIdx.x);
    for (int i = 0; i < count; i += AHEAD) {
        float near[AHEAD], far[AHEAD];
        UNROLLED
        for (int k = 0; k < AHEAD; k++) {
            bool is_one = i + k < count;
            int b = is_one ? first + mine.found[i + k] / TABLE_ROWS : 0;
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
        add_found(mine, count, x, b, N, first + lane);
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

/* --- mean pool: a block per sequence and ACROSS columns ------------------------------------------------------------ */

static __global__ void __launch_bounds__(THREADS)
    mean_pool(float *out, const float *x, const struct sequence *text, int N)
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
    mean_pool_back(float *d, const float *back, const struct sequence *text, int N)
{
    int t = static_cast<int>(blockIdx.x), n = static_cast<int>(blockIdx.y * ACROSS + threadIdx.x);
    int first = text[t].first, tokens = text[t].tokens, extent = text[t].extent;
    if (n >= N)
        return;
    float share = back[place(t, N, n)] * (1.0f / static_cast<float>(tokens));
    for (int row = static_cast<int>(threadIdx.y); row < extent; row += DOWN)
        d[place(first + row, N, n)] = row < tokens ? share : 0.0f;
}

void cuda_mean_pool(cudaStream_t stream, float *out, const float *x, const struct sequence *text, int texts, int N)
{
    launch("mean pool", stream, blocks(texts, divide_up(N, ACROSS)), mean_pool, out, x, text, N);
}

void cuda_mean_pool_back(cudaStream_t stream, float *d, const float *back, const struct sequence *text, int texts,
                         int N)
{
    launch("mean pool back", stream, blocks(texts, divide_up(N, ACROSS)), mean_pool_back, d, back, text, N);
}
