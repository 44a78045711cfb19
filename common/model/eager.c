#include "model/eager.h"

#include "base/die.h"
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A call on the tape. */
struct node {
    struct pointwise call;
    struct tensor *a, *b, *y;
    struct norm_weights norm;
};

/* An array that grows. */
struct list {
    void *at;
    size_t count, room;
};

struct eager {
    size_t rows, cols;
    bool is_bf16, is_recording;
    enum half half;
    float *scratch;                /* of layer norms; NULL before the first */
    struct list tape;              /* of struct node */
    struct list forward, back;     /* recorded: of struct pointwise, struct pointwise_back */
    struct list unused;            /* of void *: memory for tensors, kept for the next: a caching allocator */
    struct list moments;           /* of float *, likewise */
    struct list kept;              /* of struct tensor * */
    struct device_graph *graph[2]; /* of the recorded calls: forward, backward; NULL: not captured */
    struct eager_count count;
    eager_watcher *after;
    void *context;
};

static void *list_add(struct list *list, size_t size)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->at = memory_grow(list->at, list->room * size);
    }
    return (char *)list->at + list->count++ * size;
}

static void *list_take(struct list *list)
{
    return list->count > 0 ? ((void **)list->at)[--list->count] : NULL;
}

static void list_give(struct list *list, void *memory)
{
    *(void **)list_add(list, sizeof memory) = memory;
}

struct eager *eager_open(size_t rows, size_t cols, bool is_bf16, enum half half)
{
    struct eager *e = memory_new(1, sizeof *e);
    *e = (struct eager){ .rows = rows, .cols = cols, .is_bf16 = is_bf16, .half = half };
    return e;
}

static size_t tensor_bytes(const struct eager *e)
{
    return e->rows * e->cols * (e->is_bf16 ? sizeof(uint16_t) : sizeof(float));
}

/* --- tensors ------------------------------------------------------------------------------------------------------- */

static void *allocate(struct eager *e)
{
    void *memory = list_take(&e->unused);
    return memory ? memory : device_new(MEMORY_ACTIVATIONS, tensor_bytes(e), 1);
}

static void release(struct eager *e, void *memory)
{
    if (memory)
        list_give(&e->unused, memory);
}

static struct tensor *new_tensor(struct eager *e)
{
    struct tensor *tensor =
        memory_grow(NULL, sizeof *tensor); /* malloc(), as a framework's objects are: not aligned or touched */
    *tensor = (struct tensor){ .data = allocate(e) };
    return tensor;
}

static void drop_tensor(struct eager *e, struct tensor *tensor)
{
    release(e, tensor->gradient);
    tensor->gradient = NULL;
    if (tensor->is_kept)
        return;
    release(e, tensor->data);
    free(tensor);
}

struct tensor *eager_keep(struct eager *e)
{
    struct tensor *tensor = new_tensor(e);
    tensor->is_kept = true;
    list_give(&e->kept, tensor);
    return tensor;
}

/* Free the results on the tape. */
static void drop_tape(struct eager *e)
{
    struct node *node = e->tape.at;
    for (size_t i = 0; i < e->tape.count; i++) {
        drop_tensor(e, node[i].y);
        if (node[i].call.moments)
            list_give(&e->moments, node[i].call.moments);
    }
    e->tape.count = 0;
}

void eager_begin(struct eager *e)
{
    drop_tape(e);
    for (size_t i = 0; i < e->kept.count; i++) {
        struct tensor *tensor = ((struct tensor **)e->kept.at)[i];
        release(e, tensor->gradient);
        tensor->gradient = NULL;
    }
    e->count = (struct eager_count){ 0 };
}

static void free_all(struct list *list, void (*free_one)(void *memory))
{
    for (void *memory; (memory = list_take(list));)
        free_one(memory);
    free(list->at);
}

static void drop_graphs(struct eager *e)
{
    for (int i = 0; i < 2; i++) {
        device_graph_free(e->graph[i]);
        e->graph[i] = NULL;
    }
}

void eager_close(struct eager *e)
{
    drop_graphs(e);
    eager_begin(e);
    for (size_t i = 0; i < e->kept.count; i++)
        release(e, ((struct tensor **)e->kept.at)[i]->data);
    free_all(&e->kept, free);
    free_all(&e->unused, device_free);
    free_all(&e->moments, device_free);
    free(e->tape.at);
    free(e->forward.at);
    free(e->back.at);
    device_free(e->scratch);
    free(e);
}

/* --- forward ------------------------------------------------------------------------------------------------------- */

static void add_count(struct eager *e, struct pointwise_count work)
{
    e->count.dispatched++;
    e->count.work.bytes += work.bytes;
    e->count.work.flops += work.flops;
}

/* Allocate the result of a call, run it and put it on the tape. */
static struct tensor *dispatch(struct eager *e, struct node node)
{
    const bool needs_b = pointwise_is_binary(node.call.op);
    if (!node.a || needs_b != (node.b != NULL) || node.a == node.b)
        die(STATUS_WRONG, "%s needs %s", pointwise_names[node.call.op],
            needs_b ? "two different tensors" : "one tensor");
    node.call.is_bf16 = e->is_bf16;
    node.call.half = e->half;
    node.call.rows = e->rows;
    node.call.cols = e->cols;
    node.y = new_tensor(e);
    node.call.a = node.a->data;
    node.call.b = node.b ? node.b->data : NULL;
    node.call.y = node.y->data;
    device_pointwise(&node.call);
    add_count(e, pointwise_count_forward(&node.call));
    *(struct node *)list_add(&e->tape, sizeof node) = node;
    if (e->is_recording)
        *(struct pointwise *)list_add(&e->forward, sizeof node.call) = node.call;
    if (e->after)
        e->after(e->context, node.call.op, false);
    return node.y;
}

struct tensor *eager_run(struct eager *e, enum pointwise_op op, struct tensor *a, struct tensor *b)
{
    return dispatch(e, (struct node){ .call.op = op, .a = a, .b = b });
}

struct tensor *eager_layer_norm(struct eager *e, struct tensor *a, struct norm_weights norm)
{
    float *moments = list_take(&e->moments);
    if (!e->scratch)
        e->scratch = device_new(MEMORY_ACTIVATIONS, device_pointwise_scratch(e->cols, e->half), sizeof *e->scratch);
    if (!moments)
        moments = device_new(MEMORY_ACTIVATIONS, 2 * e->rows, sizeof *moments);
    return dispatch(
        e, (struct node){
               .call = { .op = POINTWISE_LAYER_NORM, .weight = norm.weight, .bias = norm.bias, .moments = moments },
               .a = a,
               .norm = norm });
}

/* --- backward ------------------------------------------------------------------------------------------------------ */

void *eager_seed(struct eager *e, struct tensor *last)
{
    if (!last->gradient)
        last->gradient = allocate(e);
    return last->gradient;
}

/* Return the memory of a tensor's gradient; `adds`: it has some already. */
static void *gradient_of(struct eager *e, struct tensor *tensor, bool *adds)
{
    *adds = tensor->gradient != NULL;
    return eager_seed(e, tensor);
}

static void run_back(struct eager *e, const struct node *node)
{
    struct pointwise_back back = { .of = node->call,
                                   .dy = node->y->gradient,
                                   .weight_gradient = node->norm.weight_gradient,
                                   .bias_gradient = node->norm.bias_gradient,
                                   .scratch = e->scratch };
    back.da = gradient_of(e, node->a, &back.adds_a);
    if (node->b)
        back.db = gradient_of(e, node->b, &back.adds_b);
    device_pointwise_back(&back);
    add_count(e, pointwise_count_backward(&back));
    if (e->is_recording)
        *(struct pointwise_back *)list_add(&e->back, sizeof back) = back;
    if (e->after)
        e->after(e->context, back.of.op, true);
}

/* Only later nodes need a node's result, and their backward is done. */
void eager_backward(struct eager *e)
{
    while (e->tape.count > 0) {
        const struct node node = ((struct node *)e->tape.at)[--e->tape.count];
        if (node.y->gradient)
            run_back(e, &node);
        drop_tensor(e, node.y);
        if (node.call.moments)
            list_give(&e->moments, node.call.moments);
    }
}

struct eager_count eager_count(const struct eager *e)
{
    return e->count;
}

/* --- replay -------------------------------------------------------------------------------------------------------- */

void eager_record(struct eager *e)
{
    drop_graphs(e);
    e->forward.count = e->back.count = 0;
    e->is_recording = true;
}

void eager_stop_recording(struct eager *e)
{
    e->is_recording = false;
}

void eager_watch(struct eager *e, eager_watcher *after, void *context)
{
    e->after = after;
    e->context = context;
}

static void call_forward(const struct eager *e)
{
    const struct pointwise *call = e->forward.at;
    for (size_t i = 0; i < e->forward.count; i++) {
        device_pointwise(&call[i]);
        if (e->after)
            e->after(e->context, call[i].op, false);
    }
}

static void call_back(const struct eager *e)
{
    const struct pointwise_back *call = e->back.at;
    for (size_t i = 0; i < e->back.count; i++) {
        device_pointwise_back(&call[i]);
        if (e->after)
            e->after(e->context, call[i].of.op, true);
    }
}

/* Make the calls, or launch their graph, which the first launch captures. */
static void replay(struct eager *e, void (*make_calls)(const struct eager *e), struct device_graph **graph)
{
    if (e->after || !device_is_asynchronous()) {
        make_calls(e);
        return;
    }
    if (!*graph) {
        device_capture_begin();
        make_calls(e);
        *graph = device_capture_end();
    }
    device_graph_launch(*graph);
}

void eager_replay_forward(struct eager *e)
{
    replay(e, call_forward, &e->graph[0]);
}

void eager_replay_backward(struct eager *e)
{
    replay(e, call_back, &e->graph[1]);
}
