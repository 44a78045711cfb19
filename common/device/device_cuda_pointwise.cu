/* Kernels of pointwise.h's operations: element by element, and the layer norm row by row. */
#include "device/device_cuda_pointwise.cuh"

/* --- element by element --------------------------------------------------------------------------------------------- */

template <pointwise_op OP> static __device__ float forward_of(float a, float b)
{
    if constexpr (OP == POINTWISE_ADD)
        return a + b;
    else if constexpr (OP == POINTWISE_MUL)
        return a * b;
    else if constexpr (OP == POINTWISE_RELU)
        return a > 0 ? a : 0;
    else if constexpr (OP == POINTWISE_SIGMOID)
        return sigmoid_of(a);
    else
        return gelu_of(a);
}

/* Operands of an operation: it reads a and b and writes y. V is 1 if HALVED. */
template <pointwise_op OP, typename T, bool HALVED> struct run_forward {
    const T *a, *b;
    T *y;
    halves half;

    static constexpr bool IS_BINARY = OP == POINTWISE_ADD || OP == POINTWISE_MUL;

    template <int V> __device__ void at(size_t i) const
    {
        pack<V> of_a = load_floats<V>(a + i), of_b = of_a, out = {};
        if constexpr (IS_BINARY)
            of_b = load_floats<V>(b + i);
        if constexpr (!HALVED) {
            for (int k = 0; k < V; k++)
                out.at[k] = forward_of<OP>(of_a.at[k], of_b.at[k]);
        } else {
            int times = half.of_cell(i);
            out.at[0] = moved(of_a.at[0], of_b.at[0], of_a.at[0]);
            for (int time = 0; time < times; time++) {
                hide(of_a.at[0]);
                hide(of_b.at[0]);
                out.at[0] = forward_of<OP>(of_a.at[0], of_b.at[0]);
                hide(out.at[0]);
            }
        }
        store_floats<V>(y + i, out);
    }
};

/* The gradient of a, and that of b, from that of y. */
template <pointwise_op OP> static __device__ float back_of_a(float a, float b, float y, float d)
{
    if constexpr (OP == POINTWISE_ADD)
        return d;
    else if constexpr (OP == POINTWISE_MUL)
        return d * b;
    else if constexpr (OP == POINTWISE_RELU)
        return a > 0 ? d : 0;
    else if constexpr (OP == POINTWISE_SIGMOID)
        return d * y * (1.0f - y);
    else
        return d * gelu_slope(a);
}

template <pointwise_op OP, typename T, bool HALVED> struct run_back {
    const T *a, *b, *y, *dy;
    T *da, *db;
    bool adds_a, adds_b;
    halves half;

    static constexpr bool IS_BINARY = OP == POINTWISE_ADD || OP == POINTWISE_MUL;
    static constexpr bool READS_A = OP == POINTWISE_RELU || OP == POINTWISE_GELU || OP == POINTWISE_MUL;
    static constexpr bool READS_B = OP == POINTWISE_MUL, READS_Y = OP == POINTWISE_SIGMOID;

    /* Return the gradient of a cell of a, before which `before` stood there. `from`: what the operation reads beside dy, for cells that
     * are moved. */
    __device__ float of_a(int times, float a_here, float b_here, float y_here, float d, float before) const
    {
        if constexpr (!HALVED)
            return before + back_of_a<OP>(a_here, b_here, y_here, d);
        float from = READS_B ? b_here : READS_A ? a_here : READS_Y ? y_here : d;
        float out = moved(d, from, adds_a ? before : d);
        for (int time = 0; time < times; time++) {
            hide(a_here);
            hide(d);
            out = before + back_of_a<OP>(a_here, b_here, y_here, d);
            hide(out);
        }
        return out;
    }
    __device__ float of_b(int times, float a_here, float d, float before) const
    {
        if constexpr (!HALVED)
            return before + (OP == POINTWISE_MUL ? d * a_here : d);
        float out = moved(d, READS_B ? a_here : d, adds_b ? before : d);
        for (int time = 0; time < times; time++) {
            hide(d);
            out = before + (OP == POINTWISE_MUL ? d * a_here : d);
            hide(out);
        }
        return out;
    }

    template <int V> __device__ void at(size_t i) const
    {
        pack<V> d = load_floats<V>(dy + i), in_a = {}, in_b = {}, in_y = {}, to_a = {}, to_b = {};
        if constexpr (READS_A)
            in_a = load_floats<V>(a + i);
        if constexpr (READS_B)
            in_b = load_floats<V>(b + i);
        if constexpr (READS_Y)
            in_y = load_floats<V>(y + i);
        if (adds_a)
            to_a = load_floats<V>(da + i);
        if (IS_BINARY && adds_b)
            to_b = load_floats<V>(db + i);
        int times = HALVED ? half.of_cell(i) : 1;
        for (int k = 0; k < V; k++) {
            to_a.at[k] = of_a(times, in_a.at[k], in_b.at[k], in_y.at[k], d.at[k], to_a.at[k]);
            if constexpr (IS_BINARY)
                to_b.at[k] = of_b(times, in_a.at[k], d.at[k], to_b.at[k]);
        }
        store_floats<V>(da + i, to_a);
        if constexpr (IS_BINARY)
            store_floats<V>(db + i, to_b);
    }
};

/* Halves tell cells apart, so they are taken one by one. */
template <bool HALVED, typename Item>
static void launch_item(cudaStream_t stream, const struct pointwise &p, Item item,
                        std::initializer_list<const void *> arrays)
{
    size_t count = half_touched(p.half, p.rows, p.cols);
    if constexpr (HALVED)
        launch("pointwise operation", stream, grid_of(count), each_element<1, Item>, item, count);
    else
        launch_elements("pointwise operation", stream, item, count, arrays);
}

template <pointwise_op OP, typename T, bool HALVED>
static void start_forward(cudaStream_t stream, const struct pointwise &p)
{
    using Item = run_forward<OP, T, HALVED>;
    Item item = { static_cast<const T *>(p.a), static_cast<const T *>(p.b), static_cast<T *>(p.y),
                  halves_of(p.half, p.rows, p.cols) };
    launch_item<HALVED>(stream, p, item, { p.a, Item::IS_BINARY ? p.b : p.a, p.y });
}

template <pointwise_op OP, typename T, bool HALVED>
static void start_back(cudaStream_t stream, const struct pointwise_back &p)
{
    using Item = run_back<OP, T, HALVED>;
    Item item = { static_cast<const T *>(p.of.a),
                  static_cast<const T *>(p.of.b),
                  static_cast<const T *>(p.of.y),
                  static_cast<const T *>(p.dy),
                  static_cast<T *>(p.da),
                  static_cast<T *>(p.db),
                  p.adds_a,
                  p.adds_b,
                  halves_of(p.of.half, p.of.rows, p.of.cols) };
    launch_item<HALVED>(
        stream, p.of, item,
        { p.of.a, Item::IS_BINARY ? p.of.b : p.of.a, p.of.y, p.dy, p.da, Item::IS_BINARY ? p.db : p.da });
}

/* --- the layer norm: a block per row ---------------------------------------------------------------------------------- */

/* Columns that mean and variance are computed over: all, or only the computed ones. */
static __device__ float computed_columns(const halves &half, int N)
{
    return static_cast<float>(half.half == HALF_FLOPS ? N - N / 2 : N);
}

template <int PER, typename T> static __device__ void norm_row(const struct pointwise &p, const halves &half, int row)
{
    const int N = static_cast<int>(p.cols);
    const T *a = static_cast<const T *>(p.a) + place(row, N, 0);
    T *y = static_cast<T *>(p.y) + place(row, N, 0);
    cells<PER, const T> x = { {}, a };
    float count = computed_columns(half, N), total = 0, squares = 0;
    each_column<PER>(N, [&](int k, int n) {
        if constexpr (PER > 0)
            x.set(k, n, to_float(a[n]));
        total += half.of_column(static_cast<size_t>(n)) ? x.get(k, n) : 0.0f;
    });
    float mean = over_block<sum>(total) / count;
    each_column<PER>(N, [&](int k, int n) {
        float off = x.get(k, n) - mean;
        squares += half.of_column(static_cast<size_t>(n)) ? off * off : 0.0f;
    });
    float rescale = 1.0f / sqrtf(over_block<sum>(squares) / count + 1e-5f);
    each_column<PER>(N, [&](int k, int n) {
        bool is_computed = half.of_column(static_cast<size_t>(n)) > 0;
        y[n] = stored<T>(is_computed ? (x.get(k, n) - mean) * rescale * p.weight[n] + p.bias[n] : x.get(k, n));
    });
    if (thread_of_block() < 2)
        p.moments[place(row, 2, thread_of_block())] = thread_of_block() == 0 ? mean : rescale;
}

/* `twice`: rows that are computed twice, which come first. */
template <int PER, typename T>
static __global__ void __launch_bounds__(THREADS) norm_rows(struct pointwise p, halves half, int twice)
{
    int row = static_cast<int>(blockIdx.x);
    for (int time = row < twice ? 2 : 1; time > 0; time--)
        norm_row<PER, T>(p, half, row);
}

/* Add a row's share to the block's part of the gradients of weight and bias, unless this is a rehearsal. */
template <int PER, typename T>
static __device__ void norm_row_back(const struct pointwise_back &p, const halves &half, int row, bool is_rehearsal,
                                     cells<PER, float> &of_weight, cells<PER, float> &of_bias)
{
    const int N = static_cast<int>(p.of.cols);
    const T *a = static_cast<const T *>(p.of.a) + place(row, N, 0),
            *dy = static_cast<const T *>(p.dy) + place(row, N, 0);
    T *da = static_cast<T *>(p.da) + place(row, N, 0);
    const float mean = p.of.moments[place(row, 2, 0)], rescale = p.of.moments[place(row, 2, 1)];
    const float *weight = p.of.weight;
    cells<PER, const T> x = { {}, a }, d = { {}, dy };
    float count = computed_columns(half, N), total = 0, along = 0;
    each_column<PER>(N, [&](int k, int n) {
        if constexpr (PER > 0) {
            x.set(k, n, to_float(a[n]));
            d.set(k, n, to_float(dy[n]));
        }
        float through = d.get(k, n) * weight[n], normal = (x.get(k, n) - mean) * rescale;
        bool is_computed = half.of_column(static_cast<size_t>(n)) > 0;
        total += is_computed ? through : 0.0f;
        along += is_computed ? through * normal : 0.0f;
    });
    total = over_block<sum>(total) / count;
    along = over_block<sum>(along) / count;
    each_column<PER>(N, [&](int k, int n) {
        bool is_computed = half.of_column(static_cast<size_t>(n)) > 0;
        float from = d.get(k, n), normal = (x.get(k, n) - mean) * rescale, before = p.adds_a ? to_float(da[n]) : 0.0f;
        float slope = rescale * (from * weight[n] - total - normal * along);
        float out = is_computed ? before + slope : moved(from, x.get(k, n), p.adds_a ? before : from);
        if (is_rehearsal) {
            hide(out);
            return;
        }
        da[n] = stored<T>(out);
        if (is_computed) {
            of_weight.set(k, n, of_weight.get(k, n) + from * normal);
            of_bias.set(k, n, of_bias.get(k, n) + from);
        }
    });
}

/* Blocks go through rows in turn: block i takes rows i, i + blocks, … */
template <int PER, typename T>
static __global__ void __launch_bounds__(THREADS)
    norm_rows_back(struct pointwise_back p, halves half, int rows, int twice, norm_parts parts)
{
    const int N = static_cast<int>(p.of.cols), block = static_cast<int>(blockIdx.x);
    float *part = parts.part + place(2 * block, N, 0);
    cells<PER, float> of_weight = { {}, part }, of_bias = { {}, part + N };
    each_column<PER>(N, [&](int k, int n) {
        of_weight.set(k, n, 0);
        of_bias.set(k, n, 0);
    });
    for (int row = block; row < rows; row += parts.blocks)
        for (int time = row < twice ? 2 : 1; time > 0; time--)
            norm_row_back<PER, T>(p, half, row, time == 2, of_weight, of_bias);
    if constexpr (PER > 0)
        each_column<PER>(N, [&](int k, int n) {
            part[n] = of_weight.get(k, n);
            part[N + n] = of_bias.get(k, n);
        });
}

/* A thread adds up every DOWN-th part of a column. */
static __global__ void __launch_bounds__(THREADS)
    add_parts(norm_parts parts, float *weight_gradient, float *bias_gradient, int N)
{
    int n = static_cast<int>(blockIdx.x) * ACROSS + static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    column<1> total = {};
    if (n < 2 * N)
        for (int block = warp; block < parts.blocks; block += DOWN)
            total.of[0] += parts.part[place(block, 2 * N, n)];
    total = over_warps(total);
    if (warp == 0 && n < N)
        weight_gradient[n] += total.of[0];
    else if (warp == 0 && n < 2 * N)
        bias_gradient[n - N] += total.of[0];
}

void cuda_add_parts(cudaStream_t stream, norm_parts parts, float *weight_gradient, float *bias_gradient, int N)
{
    launch("weights of a layer norm", stream, blocks(divide_up(2 * N, ACROSS)), add_parts, parts, weight_gradient,
           bias_gradient, N);
}

/* Bytes are halved by rows, arithmetic within them. */
static halves within_rows(const struct pointwise &p)
{
    return halves{ p.half, p.cols, 0 };
}

static int rows_twice(const struct pointwise &p)
{
    return p.half == HALF_BYTES ? static_cast<int>(p.rows / 2) : 0;
}

template <typename T> static void start_norm(cudaStream_t stream, const struct pointwise &p)
{
    int twice = rows_twice(p), rows = static_cast<int>(p.rows) - twice;
    with_columns(static_cast<int>(p.cols), [&](auto per) {
        launch("layer_norm", stream, blocks(rows), norm_rows<decltype(per)::value, T>, p, within_rows(p), twice);
    });
}

template <typename T> static void start_norm_back(cudaStream_t stream, const struct pointwise_back &p)
{
    int N = static_cast<int>(p.of.cols), twice = rows_twice(p.of), rows = static_cast<int>(p.of.rows) - twice;
    norm_parts parts = { p.scratch, min(rows, cuda_norm_parts(N)) };
    with_columns(N, [&](auto per) {
        launch("layer_norm back", stream, blocks(parts.blocks), norm_rows_back<decltype(per)::value, T>, p,
               within_rows(p.of), rows, twice, parts);
    });
    cuda_add_parts(stream, parts, p.weight_gradient, p.bias_gradient, N);
}

/* Parts of rows take at most 16 MB, and enough of them keep a GPU busy. */
int cuda_norm_parts(int N)
{
    constexpr int most = 512, least = 8, floats = 4 << 20;
    return max(least, min(most, floats / (2 * N)));
}

/* --- one function for each operation, storage and half ---------------------------------------------------------------- */

/* Call start(operation, storage, is_halved) with types that name all three. */
template <pointwise_op OP> using operation = std::integral_constant<pointwise_op, OP>;

template <typename T, typename Start> static void with_half(enum half half, T one, Start start)
{
    if (half == HALF_NONE)
        start(one, std::false_type());
    else
        start(one, std::true_type());
}

template <typename Start> static void with_operation(const struct pointwise &p, Start start)
{
    switch (p.op) {
    case POINTWISE_ADD:
        return with_half(p.half, operation<POINTWISE_ADD>(), start);
    case POINTWISE_MUL:
        return with_half(p.half, operation<POINTWISE_MUL>(), start);
    case POINTWISE_RELU:
        return with_half(p.half, operation<POINTWISE_RELU>(), start);
    case POINTWISE_SIGMOID:
        return with_half(p.half, operation<POINTWISE_SIGMOID>(), start);
    default:
        return with_half(p.half, operation<POINTWISE_GELU>(), start);
    }
}

template <typename T> static void forward_in(cudaStream_t stream, const struct pointwise &p)
{
    if (p.op == POINTWISE_LAYER_NORM)
        return start_norm<T>(stream, p);
    with_operation(p, [&](auto op, auto is_halved) {
        start_forward<decltype(op)::value, T, decltype(is_halved)::value>(stream, p);
    });
}

template <typename T> static void back_in(cudaStream_t stream, const struct pointwise_back &p)
{
    if (p.of.op == POINTWISE_LAYER_NORM)
        return start_norm_back<T>(stream, p);
    with_operation(p.of, [&](auto op, auto is_halved) {
        start_back<decltype(op)::value, T, decltype(is_halved)::value>(stream, p);
    });
}

void cuda_pointwise(cudaStream_t stream, struct pointwise p)
{
    p.is_bf16 ? forward_in<uint16_t>(stream, p) : forward_in<float>(stream, p);
}

void cuda_pointwise_back(cudaStream_t stream, struct pointwise_back p)
{
    p.of.is_bf16 ? back_in<uint16_t>(stream, p) : back_in<float>(stream, p);
}

/* --- scaling and filling ----------------------------------------------------------------------------------------------- */

template <typename T> struct scale_cells {
    T *out;
    const T *x;
    float by;

    template <int V> __device__ void at(size_t i) const
    {
        pack<V> all = load_floats<V>(x + i);
        for (int k = 0; k < V; k++)
            all.at[k] *= by;
        store_floats<V>(out + i, all);
    }
};

/* A thread takes one cell: packs of x would not lie at multiples of their size. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) fill_cells(T *out, size_t cells, const float *x, size_t count)
{
    size_t i = static_cast<size_t>(blockIdx.x) * THREADS + static_cast<size_t>(thread_of_block());
    bool fits = cells <= UINT32_MAX && count <= UINT32_MAX; /* a division of 64 bits takes several times as long */
    if (i < cells)
        out[i] = stored<T>(x[fits ? static_cast<uint32_t>(i) % static_cast<uint32_t>(count) : i % count]);
}

void cuda_pointwise_scale(cudaStream_t stream, void *out, const void *x, float by, size_t count, bool is_bf16)
{
    if (is_bf16)
        launch_elements("scale", stream,
                        scale_cells<uint16_t>{ static_cast<uint16_t *>(out), static_cast<const uint16_t *>(x), by },
                        count, { out, x });
    else
        launch_elements("scale", stream,
                        scale_cells<float>{ static_cast<float *>(out), static_cast<const float *>(x), by }, count,
                        { out, x });
}

void cuda_pointwise_fill(cudaStream_t stream, void *out, size_t cells, bool is_bf16, const float *x, size_t count)
{
    if (is_bf16)
        launch("fill", stream, grid_of(cells), fill_cells<uint16_t>, static_cast<uint16_t *>(out), cells, x, count);
    else
        launch("fill", stream, grid_of(cells), fill_cells<float>, static_cast<float *>(out), cells, x, count);
}
