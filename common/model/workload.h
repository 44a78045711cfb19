/* workload: what a rank trains: a type of model and its settings. The questions below are answered before anything is opened: by
 * formulas, the machine card, the prompt for a prediction, the refusal of models too large.
 *
 * A model consists of layers, which are numbered in the order of forward. */
#ifndef LOCKSTEP_WORKLOAD_H
#define LOCKSTEP_WORKLOAD_H

#include "model/mlp.h"
#include "model/transformer.h"
#include "options/memory_estimate.h"
#include "options/options.h"
#include "options/run.h"
#include "options/work.h"

#include <stddef.h>

struct model_type;

enum { LAYERS_MOST = 260 };

/* Copied as a value, so a case may change it. */
struct workload {
    const struct model_type *type;
    union model_settings {
        struct mlp_settings mlp;
        struct transformer_settings transformer;
    } of;
};

/* Workloads of the blog posts: MLP 1024-1024-1024-1000 with 3,124,200 parameters, and a transformer with 412,960: vocabulary 8192,
 * width 48, 4 heads, one block, 16 classes. */
extern const struct workload published_mlp, published_transformer;

/* An MLP of about as many parameters and operations in more layers: 12 of 512 x 512, with 3,151,872. */
extern const struct workload stacked_mlp;

/* A transformer of eight blocks of width 128, whose activations take as much memory as its parameters: 1,194,256 parameters. */
extern const struct workload stacked_transformer;

/* Return the options of the model; offsets in struct workload. */
const struct option_row *workload_options(const struct workload *workload);

/* Return a unique name, to be freed: "mlp 1024-1024-1024-1000". */
char *workload_name(const struct workload *workload);

/* End the program with STATUS_USAGE if settings contradict each other. */
void workload_refuse(const struct workload *workload, const struct run *run);

/* Return the model whose costs a simulated machine charges. */
enum work_model workload_costs(const struct workload *workload);

/* Return the published learning rate. */
double workload_learning_rate(const struct workload *workload);

int workload_layers(const struct workload *workload);

/* Return the number of a layer's parameters; the number of all; the bytes of all gradients, which one synchronisation sums. */
size_t workload_layer_parameters(const struct workload *workload, int layer);
size_t workload_parameters(const struct workload *workload);
double workload_gradient_bytes(const struct workload *workload);

/* Return the work of a batch of `samples` samples: rows, or sequences of fixed_length; of a rank's usual batch. */
struct work workload_work(const struct workload *workload, int samples);
struct work workload_usual(const struct workload *workload, const struct run *run);

/* A tensor of parameters: the weights of a layer, its bias. They are numbered in the order of the parameters. */
struct model_tensor {
    size_t begin, count; /* within the model's parameters */
    int layer;
    size_t rows; /* of a matrix; 0: a vector */
};

/* Return the number of tensors, and write them to `tensors` (that number) unless it is NULL. */
int workload_tensors(const struct workload *workload, struct model_tensor *tensors);

/* Floating-point operations of forward and backward: 2 per multiply-add of the matrix products. Not counted: gradients of the
 * model's input, scores that backward recomputes, operations row by row. */
double workload_flops(const struct workload *workload, struct work work);

/* Return the first layer whose forward runs again, up to `layer`, before backward of `layer`; layer + 1: none. */
int workload_again_from(const struct workload *workload, int layer);

/* Return the share of forward's operations that backward computes again, because their results were not kept. */
double workload_again_share(const struct workload *workload, struct work work);

/* Return how many times as long as the published model of its type it takes on a modelled machine: per tensor, for what is fixed (calls of
 * operations); per operation of a sample, a token or a pair of tokens; per parameter, for an update. */
struct cost_scale workload_scale(const struct workload *workload);

/* Return the share of a layer's backward in both passes of the whole model, by their floating-point operations. */
double workload_backward_share(const struct workload *workload, struct work work, int layer);

#endif
