/* Softmax attention as in FlashAttention (Dao et al., NeurIPS 2022): scores are kept in registers, and backward
 * recomputes them from the log of their sum. A block takes ITEMS queries of one head of one sequence, in forward and
 * for the gradient of the queries. For the gradients of keys and values it takes ITEMS keys. Each block passes over all
 * rows of the sequence on the other side, in tiles of shared memory. LANES neighbouring threads share an item: each takes every
 * LANES-th row, and at the end their results are added up.
 *
 * A row of D columns is stored as W packs of four, the last filled with zeros. */
#include "device/device_cuda_kernel.cuh"

#include <limits.h>

constexpr int LANES = 8, ITEMS = THREADS / LANES;
constexpr int LOADERS = 4, TILE = THREADS / LOADERS; /* threads that load a row together; rows of a tile */
constexpr int AT_ONCE = 4;                           /* rows that a lane processes together */
static_assert(TILE % (AT_ONCE * LANES) == 0, "a tile must be a whole number of rounds");

template <int W> struct vector {
    pack<4> of[W];
};

/* Vectors an odd number of packs apart, so that the rows of LANES neighbours are in different memory banks. */
template <int W> struct alignas(16) padded_vector {
    pack<4> of[W / 2 * 2 + 1];
};

/* Share of the work that a block has. */
struct seat {
    struct sequence text;
    int head, first; /* first item, counted from the sequence's first row */
    size_t pitch;    /* pitch of `projected` */
    int width;       /* HD, the pitch of everything else */
};

static __device__ seat find_seat(const struct cuda_heads &a, int block)
{
    int tiles = (a.longest + ITEMS - 1) / ITEMS, width = a.heads * a.head_width;
    return seat{ a.text[block / tiles / a.heads], block / tiles % a.heads, block % tiles * ITEMS,
                 3 * static_cast<size_t>(width), width };
}

/* Return the number of seats. Backward launches two blocks per seat, and a grid size must fit into an int. */
static int count_seats(const struct cuda_heads &a)
{
    double seats = static_cast<double>(a.texts) * a.heads * divide_up(a.longest, ITEMS);
    cuda_must(2 * seats > INT_MAX ? cudaErrorInvalidConfiguration : cudaSuccess,
              "attention: too many or too long texts");
    return static_cast<int>(seats);
}

enum part { QUERY, KEY, VALUE };

/* Rows of a matrix, and their transformation: (x + bias) * factor. */
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

/* Return the sequence's rows of one head: queries, keys or values. */
static __device__ rows projected_rows(const struct cuda_heads &a, const seat &s, part which)
{
    int column = which * s.width + s.head * a.head_width;
    return rows{ a.projected + static_cast<size_t>(s.text.first) * s.pitch + column, s.pitch, a.bias + column,
                 which == QUERY ? query_factor(a) : 1.0f, a.head_width };
}

/* Return the same of a matrix (B,HD). */
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

/* Load the TILE rows from `first` on into the block's tile, and zeros from `end` on. */
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

/* Sum over an item's lanes; all of them get the sum. */
template <int W> static __device__ void sum_vector(vector<W> &v)
{
    UNROLLED
    for (int c = 0; c < 4 * W; c++)
        v.of[c / 4].at[c % 4] = over_lanes<sum, LANES>(v.of[c / 4].at[c % 4]);
}

/* Write an item's vector; its lanes share the columns. */
template <int W> static __device__ void write_vector(float *to, const vector<W> &v, float by, int D)
{
    int lane = thread_of_block() % LANES;
    UNROLLED
    for (int c = 0; c < 4 * W; c++)
        if (c % LANES == lane && c < D)
            to[c] = v.of[c / 4].at[c % 4] * by;
}

/* Softmax over the keys that a lane has seen: greatest score, sum of e^(score - most), and sum of the values so
 * weighted. */
template <int W> struct weighted {
    float most, total;
    vector<W> values;
};

/* Add AT_ONCE more keys: every LANES-th row from `row` on. Rows from `tokens` on are padding. */
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
    float base = most == -INFINITY ? 0.0f : most; /* only padding so far: e^-infinity must give 0, not NaN */
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

/* Combine the results of an item's lanes. The sequence's first token is valid, so at least one lane has seen a valid
 * key. */
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
        return; /* the whole block: its sequence is shorter than the longest */
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

/* --- backward of attention. With P = e^(score - log_sum), dP = d . value and mean = d . out of the query:
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

/* Data that keys need of the queries in a tile, beside their vectors. */
struct tile_queries {
    float log_sum[TILE], mean[TILE];
};

/* Call after load_tile() of `d`. No barrier is needed: each thread reads only the elements that it has loaded itself. */
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

/* Compute the gradient of queries in even blocks, and those of keys and values in odd ones. */
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
