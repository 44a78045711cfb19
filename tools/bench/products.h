/* products: the matrix products of a step, each alone at the kernel and layout that are fastest for it. OpenBLAS's kernels
 * are fixed when it is loaded, so each has a process of its own (tools/time_products.c), which multiplies when it is asked. */
#ifndef LOCKSTEP_BENCH_PRODUCTS_H
#define LOCKSTEP_BENCH_PRODUCTS_H

#include "bench/reference.h"
#include "bench/step_counts.h"

enum { MAKERS_MOST = 8, PRODUCTS_MOST = 3 * STEP_LAYERS_MOST, PRODUCT_WORDS = 48 };

/* The kernels that can be had: OpenBLAS's own choice, and those of blas_kernel.h that the processor can run. */
struct makers {
    struct reference maker[MAKERS_MOST];
    int count;
};
void makers_open(struct makers *makers);
void makers_close(struct makers *makers);

/* A step's products; those of the same shape are one. */
struct best_products {
    struct best_product {
        int times;               /* in a step */
        int M, N, K;             /* (M,N) = (M,K) (K,N) */
        const char *as_made;     /* "nt": as our models have it */
        struct reference *maker; /* with whose kernel it was fastest, */
        char words[PRODUCT_WORDS] /* and how its matrices lay */;
    } of[PRODUCTS_MOST];
    int count;
};

/* Tries all kernels and layouts. */
struct best_products products_find(struct makers *makers, const struct step_sizes *sizes, const struct step *step);

/* Floating-point operations of all. */
double products_flops(const struct best_products *best);

/* Seconds that all of them take, each in a window of its own; NaN where a process has ended. */
double products_seconds(const struct best_products *best);

#endif
