/* step_counts: what one step of training has to do, counted before anything is measured: forward, backward and AdamW of
 * either model, on a batch that lies on the device.
 *
 * Legend: B rows of a layer's input, K its columns, N those of its output. */
#ifndef LOCKSTEP_STEP_COUNTS_H
#define LOCKSTEP_STEP_COUNTS_H

#include "model/transformer.h"
#include "options/run.h"
#include "options/work.h"

#include <stdbool.h>
#include <stddef.h>

/* Of both models. */
struct step_sizes {
    int input_dim, hidden_dim, num_classes;       /* the MLP: input-hidden-hidden-classes */
    int vocab_size, width, num_heads, num_topics; /* the transformer, and the classes of its texts */
};

/* The labs' own. */
struct step_sizes step_sizes_published(void);

struct step {
    enum work_model model;
    int batch;      /* samples, or texts … */
    int tokens;     /* … of so many rows each, padding included; 0 for the MLP */
    bool is_packed; /* texts without padding: a row for each token */
};

/* As the models take them. */
struct run step_mlp(const struct step_sizes *sizes);
struct transformer_shape step_transformer(const struct step_sizes *sizes);

/* How many of a text's rows are tokens: from all of the first text's to half of the last one's. */
int step_text_length(const struct step *step, int text);

/* Its rows in the batch, and those of all texts. */
int step_text_extent(const struct step *step, int text);
int step_rows(const struct step *step);

struct step_counts {
    double parameters;
    double flops;         /* of mlp_flops(), transformer_flops() */
    double product_flops; /* of these, what matrix products have; the rest is attention's */
    double product_bytes; /* both factors and the result, once per product */
    double other_bytes;   /* of all other operations, each array once per operation that reads or writes it */
    int operations;       /* calls of device.h, products included */
};
struct step_counts step_count(const struct step_sizes *sizes, const struct step *step);

/* The matrix products of a step: y (B,N) = x w for each layer in turn; then from the last one to the first the gradient of
 * w (K,N), x^T dy, and that of x, dx = dy w^T. Arrays have numbers, since layers pass them on to each other. */
enum { STEP_LAYERS_MOST = 5, STEP_ARRAYS_MOST = 13, STEP_NO_ARRAY = -1 };
struct step_layers {
    int count, arrays;
    struct step_layer {
        int B, K, N;
        int x, y, dy, dx; /* dx may be STEP_NO_ARRAY */
    } of[STEP_LAYERS_MOST];
    size_t floats[STEP_ARRAYS_MOST]; /* of each array */
};
struct step_layers step_layers(const struct step_sizes *sizes, const struct step *step);

#endif
