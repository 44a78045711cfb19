/* step_counts: counts the work of one training step before anything is measured: forward, backward and AdamW of either model,
 * on a batch in device memory.
 *
 * Legend: B rows of a layer's input, K columns of its input, N columns of its output. */
#ifndef LOCKSTEP_STEP_COUNTS_H
#define LOCKSTEP_STEP_COUNTS_H

#include "model/workload.h"
#include "options/run.h"
#include "options/work.h"

#include <stdbool.h>
#include <stddef.h>

/* Sizes of both models. */
struct step_sizes {
    int input_dim, hidden_dim, num_classes;       /* the MLP: input-hidden-hidden-classes */
    int vocab_size, width, num_heads, num_topics; /* the transformer; topics are its classes */
};

/* Return the labs' sizes; and small ones, for tests. */
struct step_sizes step_sizes_published(void);
struct step_sizes step_sizes_toy(void);

struct step {
    enum work_model model;
    int batch;      /* samples, or sequences (texts) */
    int tokens;     /* rows per sequence, padding included; 0 for the MLP */
    bool is_packed; /* sequences without padding: a row per token */
};

/* Return the model of a step, in these sizes. */
struct workload step_workload(const struct step_sizes *sizes, const struct step *step);

/* Return the tokens of a sequence: from all rows for the first to half of them for the last. */
int step_text_length(const struct step *step, int text);

/* Return the rows of one sequence in the batch, and of all sequences. */
int step_text_extent(const struct step *step, int text);
int step_rows(const struct step *step);

struct step_counts {
    double parameters;
    double flops;         /* by workload_flops() */
    double product_flops; /* part of flops in matrix products; the rest is attention */
    double product_bytes; /* per product: both factors and the result, once */
    double other_bytes;   /* all other operations: each array once per operation that reads or writes it */
    int operations;       /* calls of device.h, matrix products included */
};
struct step_counts step_count(const struct step_sizes *sizes, const struct step *step);

/* The matrix products of a step. Forward, layer by layer: y (B,N) = x w. Backward, from the last layer to the first: the
 * gradient of w (K,N), x^T dy, and of x, dx = dy w^T. Arrays are numbered because layers share them. */
enum { STEP_LAYERS_MOST = 5, STEP_ARRAYS_MOST = 13, STEP_NO_ARRAY = -1 };
struct step_layers {
    int count, arrays;
    struct step_layer {
        int B, K, N;
        int x, y, dy, dx; /* dx may be STEP_NO_ARRAY */
    } of[STEP_LAYERS_MOST];
    size_t floats[STEP_ARRAYS_MOST]; /* size of each array */
};
struct step_layers step_layers(const struct step_sizes *sizes, const struct step *step);

#endif
