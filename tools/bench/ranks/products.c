#include "products.h"

#include "base/memory.h"
#include "launch/blas_kernel.h"
#include "launch/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Start a process for this kernel; NULL: OpenBLAS's own choice. Drop it if OpenBLAS takes a kernel that is already listed. */
static void add_maker(struct makers *makers, const char *kernel)
{
    char *program = job_library("cores", "time_products"), *words[] = { program, NULL };
    struct reference *maker = &makers->maker[makers->count];
    char *before = blas_kernel_set(kernel);
    reference_open(maker, words);
    free(blas_kernel_set(before));
    free(before);
    const char *name = strrchr(maker->about, ' ');
    bool is_other = name && (!kernel || strcmp(name + 1, kernel) == 0); /* else OpenBLAS took another kernel */
    for (int i = 0; i < makers->count; i++)
        is_other &= strcmp(makers->maker[i].about, maker->about) != 0;
    if (maker->process && is_other)
        makers->count++;
    else
        reference_close(maker);
    free(program);
}

void makers_open(struct makers *makers)
{
    makers->count = 0;
    add_maker(makers, NULL);
    for (int i = 0; kernel_others[i] && makers->count < MAKERS_MOST; i++)
        add_maker(makers, kernel_others[i]);
}

void makers_close(struct makers *makers)
{
    for (int i = 0; i < makers->count; i++)
        reference_close(&makers->maker[i]);
}

static void add(struct best_products *best, int M, int N, int K, const char *as_made)
{
    for (int i = 0; i < best->count; i++) {
        struct best_product *p = &best->of[i];
        if (p->M == M && p->N == N && p->K == K && strcmp(p->as_made, as_made) == 0) {
            p->times++;
            return;
        }
    }
    best->of[best->count++] = (struct best_product){ .times = 1, .M = M, .N = N, .K = K, .as_made = as_made };
}

static double flops(const struct best_product *p)
{
    return 2.0 * p->M * p->N * p->K;
}

/* Find the fastest kernel and layout, best of `turns` windows. Layouts: either factor stored transposed or not, for the product
 * and for the transposed product, which swaps the factors. */
static void find(struct best_product *p, struct makers *makers, int turns)
{
    enum { LAYOUTS = 8 };
    double fastest = INFINITY;
    for (int turn = 0; turn < turns; turn++)
        for (int i = 0; i < makers->count * LAYOUTS; i++) {
            char words[PRODUCT_WORDS];
            int layout = i % LAYOUTS, is_transposed = layout & 1;
            snprintf(words, sizeof words, "%dx%dx%d,%c%c", is_transposed ? p->N : p->M, is_transposed ? p->M : p->N,
                     p->K, layout & 2 ? 't' : 'n', layout & 4 ? 't' : 'n');
            struct reference *maker = &makers->maker[i / LAYOUTS];
            double seconds = reference_window(maker, words, flops(p));
            if (seconds < fastest) {
                fastest = seconds;
                p->maker = maker;
                memcpy(p->words, words, sizeof words);
            }
        }
}

struct best_products products_list(const struct step_sizes *sizes, const struct step *step)
{
    struct best_products best = { .count = 0 };
    const struct step_layers layers = step_layers(sizes, step);
    for (int i = 0; i < layers.count; i++) {
        const struct step_layer *l = &layers.of[i];
        add(&best, l->B, l->N, l->K, "nn");
        add(&best, l->K, l->N, l->B, "tn");
        if (l->dx != STEP_NO_ARRAY)
            add(&best, l->B, l->K, l->N, "nt");
    }
    return best;
}

void products_find(struct best_products *best, struct makers *makers, int turns)
{
    for (int i = 0; i < best->count; i++)
        find(&best->of[i], makers, turns);
}

void products_write(const struct best_products *best, const char *name, struct csv *csv)
{
    for (int i = 0; i < best->count; i++)
        do {
            csv_text(csv, "case", name);
            csv_text(csv, "maker", best->of[i].maker ? best->of[i].maker->about : "none");
            csv_text(csv, "words", best->of[i].words);
        } while (csv_end_row(csv));
}

bool products_read(struct best_products *best, struct makers *makers, const char *name, const struct csv_table *table)
{
    int row = csv_find(table, "case", name);
    for (int i = 0; i < best->count; i++, row++) {
        const char *of = csv_field(table, row, "case"), *about = csv_field(table, row, "maker");
        if (!of || strcmp(of, name) != 0)
            return false;
        struct best_product *p = &best->of[i];
        snprintf(p->words, sizeof p->words, "%s", csv_field(table, row, "words"));
        for (int m = 0; m < makers->count; m++)
            if (strcmp(makers->maker[m].about, about) == 0)
                p->maker = &makers->maker[m];
        if (!p->maker)
            return false;
    }
    return true;
}

double products_flops(const struct best_products *best)
{
    double sum = 0;
    for (int i = 0; i < best->count; i++)
        sum += best->of[i].times * flops(&best->of[i]);
    return sum;
}

double products_seconds(const struct best_products *best)
{
    double seconds = 0;
    for (int i = 0; i < best->count; i++) {
        const struct best_product *p = &best->of[i];
        seconds += p->maker ? p->times * reference_window(p->maker, p->words, flops(p)) : (double)NAN;
    }
    return seconds;
}
