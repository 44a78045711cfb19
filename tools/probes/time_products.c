/* time_products: times matrix products with OpenBLAS's current kernel
 *
 *     OPENBLAS_CORETYPE=Haswell time_products '128x1024x1024,nn 128x1024x1024,nt'
 *     kernel Haswell seconds 0.0052
 *
 * A product MxNxK,AB is C (M,N) = A (M,K) B (K,N), row-major. A and B are t if that matrix is stored transposed, else n.
 * Seconds are the sum over products of the fastest of REPEATS runs, with one thread.
 *
 * Without arguments the program reads products from standard input, one per line. It answers with the same words, the product's
 * floating-point operations and the mean milliseconds of a window (tools/bench/reference.h). The benchmark uses this to let
 * kernels take turns.
 *
 * Exit status: 0 done, 2 malformed product, 77 the BLAS is not OpenBLAS. */
#include "base/die.h"
#include "base/memory.h"
#include "base/random.h"
#include "card/brief.h"
#include "world/world.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { REPEATS = 6, LINE = 256, SIDE_MOST = 65536, LEAST = 5, MOST = 1000, TIMEOUT_S = 30 };
static const double WINDOW = 0.01; /* seconds; LEAST to MOST products */

/* OpenBLAS's functions; NULL in another BLAS. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

struct product {
    int M, N, K;
    bool is_a_transposed, is_b_transposed;
    float *a, *b, *c;
};

static bool parse(struct product *p, const char *word)
{
    char a = 0, b = 0, more = 0;
    if (sscanf(word, "%dx%dx%d,%c%c%c", &p->M, &p->N, &p->K, &a, &b, &more) != 5)
        return false;
    const int sides[] = { p->M, p->N, p->K };
    for (int i = 0; i < 3; i++)
        if (sides[i] < 1 || sides[i] > SIDE_MOST)
            return false;
    p->is_a_transposed = a == 't';
    p->is_b_transposed = b == 't';
    return (a == 'n' || a == 't') && (b == 'n' || b == 't');
}

/* Return random numbers: zeros may be faster. Scaled so that products do not grow. */
static float *draw(size_t count, int K)
{
    struct random random;
    float *drawn = memory_new(count, sizeof *drawn);
    random_seed(&random, 2025);
    random_fill(&random, drawn, count, 1.0 / sqrt(K));
    return drawn;
}

static void open_product(struct product *p)
{
    size_t M = (size_t)p->M, N = (size_t)p->N, K = (size_t)p->K;
    p->a = draw(M * K, p->K);
    p->b = draw(K * N, p->K);
    p->c = memory_new(M * N, sizeof *p->c);
}

static void close_product(struct product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
}

static void multiply(const struct product *p)
{
    cblas_sgemm(CblasRowMajor, p->is_a_transposed ? CblasTrans : CblasNoTrans,
                p->is_b_transposed ? CblasTrans : CblasNoTrans, p->M, p->N, p->K, 1, p->a,
                p->is_a_transposed ? p->M : p->K, p->b, p->is_b_transposed ? p->K : p->N, 0, p->c, p->N);
}

static double seconds_of(const struct product *p)
{
    double began = world_now();
    multiply(p);
    return world_now() - began;
}

static double fastest(struct product *p)
{
    double best = INFINITY;
    open_product(p);
    for (int i = 0; i < REPEATS; i++)
        best = fmin(best, seconds_of(p));
    close_product(p);
    return best;
}

/* Return the mean seconds per product of a window, after two that only set the window's length. */
static double mean_of_window(struct product *p)
{
    open_product(p);
    double once = fmin(seconds_of(p), seconds_of(p));
    int times = card_is_brief() ? 1 : (int)fmin(MOST, fmax(LEAST, ceil(WINDOW / once)));
    double began = world_now();
    for (int i = 0; i < times; i++)
        multiply(p);
    double mean = (world_now() - began) / times;
    close_product(p);
    return mean;
}

static void print_total(char *words)
{
    double seconds = 0;
    struct product p;
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        if (!parse(&p, word))
            die(STATUS_USAGE, "'%s' is not a product; write MxNxK,nn, with t for a transposed matrix", word);
        seconds += fastest(&p);
    }
    printf("kernel %s seconds %.9f\n", openblas_get_corename(), seconds);
}

static void answer_all(void)
{
    char line[LINE];
    struct product p;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready OpenBLAS %s\n", openblas_get_corename());
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (!parse(&p, line)) {
            printf("absent '%s' is no product\n", line);
            exit(STATUS_USAGE);
        }
        printf("%s,%.0f,%.6f\n", line, 2.0 * p.M * p.N * p.K, 1e3 * mean_of_window(&p));
    }
}

int main(int argc, char **argv)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 }); /* no core dump if the kernel does not fit the processor */
    if (!openblas_get_corename || !openblas_set_num_threads)
        die(STATUS_CANNOT, "another BLAS than OpenBLAS has no kernels to choose from");
    openblas_set_num_threads(1);
    if (argc > 1 && *argv[1]) {
        alarm(TIMEOUT_S); /* end a kernel that hangs */
        print_total(argv[1]);
    } else {
        answer_all();
    }
    return STATUS_RIGHT;
}
