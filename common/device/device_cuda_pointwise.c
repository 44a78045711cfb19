/* Implement the pointwise operations, the chains and the graphs of device.h on a GPU. */
#include "base/memory.h"
#include "device/device.h"
#include "device/device_cuda.h"

#include <stdlib.h>

bool device_is_asynchronous(void)
{
    return true;
}

/* --- pointwise operations ------------------------------------------------------------------------------------------- */

void device_pointwise(const struct pointwise *call)
{
    cuda_pointwise(cuda_stream(), *call);
}

void device_pointwise_back(const struct pointwise_back *call)
{
    cuda_pointwise_back(cuda_stream(), *call);
}

size_t device_pointwise_scratch(size_t cols, enum half half)
{
    (void)half;
    return 2 * cols * (size_t)cuda_norm_parts((int)cols);
}

void device_pointwise_scale(void *out, const void *x, float scale, size_t count, bool is_bf16)
{
    cuda_pointwise_scale(cuda_stream(), out, x, scale, count, is_bf16);
}

void device_pointwise_fill(void *out, size_t cells, bool is_bf16, const float *x, size_t count)
{
    cuda_pointwise_fill(cuda_stream(), out, cells, is_bf16, x, count);
}

/* --- chains ---------------------------------------------------------------------------------------------------------- */

struct device_chain {
    struct chain of;
    void *memory;
};

struct device_chain *device_chain_open(struct chain of)
{
    struct device_chain *chain = memory_new(1, sizeof *chain);
    *chain = (struct device_chain){ of, device_new(MEMORY_ACTIVATIONS, cuda_chain_memory(of), 1) };
    return chain;
}

void device_chain_close(struct device_chain *chain)
{
    if (!chain)
        return;
    device_free(chain->memory);
    free(chain);
}

void device_chain_forward(struct device_chain *chain, const struct chain_arrays *arrays)
{
    cuda_chain_forward(cuda_stream(), chain->of, *arrays);
}

void device_chain_back(struct device_chain *chain, const struct chain_arrays *arrays, float scale)
{
    cuda_chain_back(cuda_stream(), chain->of, *arrays, scale, chain->memory);
}

/* --- graphs ---------------------------------------------------------------------------------------------------------- */

struct device_graph {
    cudaGraphExec_t ready;
};

/* Capture in the mode of one thread: loaders of other threads may copy and wait meanwhile. */
void device_capture_begin(void)
{
    cuda_must(cudaStreamBeginCapture(cuda_stream(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

struct device_graph *device_capture_end(void)
{
    struct device_graph *graph = memory_new(1, sizeof *graph);
    cudaGraph_t captured = NULL;
    cuda_must(cudaStreamEndCapture(cuda_stream(), &captured), "cudaStreamEndCapture");
    cuda_must(cudaGraphInstantiateWithFlags(&graph->ready, captured, 0), "cudaGraphInstantiateWithFlags");
    cuda_must(cudaGraphDestroy(captured), "cudaGraphDestroy");
    return graph;
}

void device_graph_launch(const struct device_graph *graph)
{
    cuda_must(cudaGraphLaunch(graph->ready, cuda_stream()), "cudaGraphLaunch");
}

void device_graph_free(struct device_graph *graph)
{
    if (!graph)
        return;
    device_wait();
    cuda_must(cudaGraphExecDestroy(graph->ready), "cudaGraphExecDestroy");
    free(graph);
}
