/* products: times the matrix products of a step, each with its fastest OpenBLAS kernel and layout. OpenBLAS chooses its kernel
 * when it is loaded, so each kernel has its own process (tools/probes/time_products.c), which multiplies on request. */
#ifndef LOCKSTEP_BENCH_PRODUCTS_H
#define LOCKSTEP_BENCH_PRODUCTS_H

#include "base/csv.h"
#include "bench/reference.h"
#include "bench/step_counts.h"

enum { MAKERS_MOST = 8, PRODUCTS_MOST = 3 * STEP_LAYERS_MOST, PRODUCT_WORDS = 48 };

/* Processes for the available kernels: OpenBLAS's own choice, and those of blas_kernel.h that the processor can run. */
struct makers {
    struct reference maker[MAKERS_MOST];
    int count;
};
void makers_open(struct makers *makers);
void makers_close(struct makers *makers);

/* The distinct products of a step. */
struct best_products {
    struct best_product {
        int times;               /* occurrences in a step */
        int M, N, K;             /* (M,N) = (M,K) (K,N) */
        const char *as_made;     /* layout in our models, such as "nt" */
        struct reference *maker; /* process with the fastest kernel */
        char words[PRODUCT_WORDS] /* product in the fastest layout, as the question to `maker` */;
    } of[PRODUCTS_MOST];
    int count;
};

/* List the products of a step, without kernels and layouts. */
struct best_products products_list(const struct step_sizes *sizes, const struct step *step);

/* Find the fastest kernel and layout of each product, best of `turns` windows. */
void products_find(struct best_products *best, struct makers *makers, int turns);

/* Write them, a row per product of the case called `name`; read them in another process. False if a product's row is missing or
 * its kernel is not among the makers. */
void products_write(const struct best_products *best, const char *name, struct csv *csv);
bool products_read(struct best_products *best, struct makers *makers, const char *name, const struct csv_table *table);

/* Floating-point operations of all products of a step. */
double products_flops(const struct best_products *best);

/* Seconds of all products of a step, each timed in its own window; NaN if a process has ended. */
double products_seconds(const struct best_products *best);

#endif
