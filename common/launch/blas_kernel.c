#include "launch/blas_kernel.h"

#include "base/cores.h"
#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "launch/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL_VARIABLE "OPENBLAS_CORETYPE"

/* Less may be noise, and a choice that changes, changes the last bits of all results. */
static const double KERNEL_GAIN = 0.03;

enum { TURNS = 3, NAME = 32, KERNELS_MOST = 8, CPU = 128 };

const char *const kernel_others[] = { "Haswell", "Zen", "SkylakeX", NULL };

/* OpenBLAS's own names; another BLAS does without them. */
extern char *openblas_get_corename(void) __attribute__((weak));
extern char *openblas_get_config(void) __attribute__((weak));

struct kernel {
    char name[NAME];
    double seconds; /* of the products that are tried; infinite where they cannot be */
};

struct trial {
    struct kernel kernel[KERNELS_MOST]; /* the first is OpenBLAS's own choice */
    int count;
};

char *blas_kernel_print(const char *name)
{
    const char *told = getenv(KERNEL_VARIABLE);
    char *before = told ? memory_text("%s", told) : NULL;
    if (name)
        setenv(KERNEL_VARIABLE, name, 1);
    else
        unsetenv(KERNEL_VARIABLE);
    return before;
}

/* --- what is kept ------------------------------------------------------------------------------------------------ */

static char *path_of(const char *name)
{
    return job_library("cores", name);
}

/* What a choice is good for: this processor, by its name and by what OpenBLAS takes it for (a cloud calls several the same), and
 * this library. Before a choice is made. */
static char *key_now(void)
{
    char cpu[CPU], library[NAME] = "";
    cores_name(cpu, sizeof cpu);
    sscanf(openblas_get_config(), "%*s %31s",
           library); /* "OpenBLAS 0.3.21 …", of which the rest tells the kernel in use */
    return memory_text("%s; OpenBLAS %s, %s; lockstep %s", cpu, library, openblas_get_corename(), LOCKSTEP_VERSION);
}

static void keep(const struct trial *trial, const struct kernel *chosen)
{
    char *folder = path_of("");
    if (access(folder, W_OK) == 0) { /* else it is tried anew each time */
        char *key = key_now();
        struct file file = file_begin(folder, "kernels.csv");
        struct csv csv = { .out = file.out };
        fprintf(file.out, "# for: %s\n", key);
        for (int i = 0; i < trial->count; i++)
            do {
                csv_text(&csv, "kernel", trial->kernel[i].name);
                csv_ms(&csv, "products_ms", isinf(trial->kernel[i].seconds) ? (double)NAN : trial->kernel[i].seconds);
                csv_integer(&csv, "is_own_choice", i == 0);
                csv_integer(&csv, "is_taken", &trial->kernel[i] == chosen);
            } while (csv_end_row(&csv));
        file_commit(&file);
        free(key);
    }
    free(folder);
}

/* The kernel that was taken before; false where none was, or for another machine. */
static bool recall(char name[NAME])
{
    struct csv_table table;
    char why[256], *path = path_of("kernels.csv");
    bool is_there = access(path, R_OK) == 0 && csv_read(path, &table, why, sizeof why);
    free(path);
    if (!is_there)
        return false;
    char *key = key_now(), *told = csv_comment(&table, "for", 0);
    int row = told && strcmp(key, told) == 0 ? csv_find(&table, "is_taken", "1") : -1;
    const char *taken = csv_field(&table, row, "kernel");
    if (taken)
        snprintf(name, NAME, "%s", taken);
    free(key);
    free(told);
    csv_free(&table);
    return taken != NULL;
}

/* --- trying ------------------------------------------------------------------------------------------------------- */

/* Seconds, by a process of its own; infinite where it took another kernel than it was told, or ended. */
static double try_once(const char *program, const char *name)
{
    /* Forward, the gradient that flows back and that of the weights: labs 01 to 04, at the published batch. */
    static const char products[] = "128x1024x1024,nn 128x1024x1024,nt 1024x1024x128,tn";
    char taken[NAME] = "", line[256];
    double seconds = INFINITY;
    char *before = blas_kernel_print(name);
    FILE *lines = job_listen(program, products, "");
    free(blas_kernel_print(before));
    free(before);
    while (fgets(line, sizeof line, lines))
        sscanf(line, "kernel %31s seconds %lf", taken, &seconds);
    pclose(lines);
    return strcmp(taken, name) == 0 ? seconds : INFINITY;
}

static void add(struct trial *trial, const char *name)
{
    struct kernel *kernel = &trial->kernel[trial->count++];
    snprintf(kernel->name, NAME, "%s", name);
    kernel->seconds = INFINITY;
}

static void try_all(struct trial *trial, const char *program)
{
    add(trial, openblas_get_corename());
    for (int i = 0; kernel_others[i]; i++)
        if (strcmp(kernel_others[i], trial->kernel[0].name) != 0)
            add(trial, kernel_others[i]);
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < trial->count; i++)
            trial->kernel[i].seconds = fmin(trial->kernel[i].seconds, try_once(program, trial->kernel[i].name));
}

static const struct kernel *fastest(const struct trial *trial)
{
    const struct kernel *own = &trial->kernel[0], *best = own;
    for (int i = 1; i < trial->count; i++)
        if (trial->kernel[i].seconds < best->seconds)
            best = &trial->kernel[i];
    return best->seconds * (1 + KERNEL_GAIN) < own->seconds ? best : own;
}

static void tell(const struct trial *trial, const struct kernel *chosen)
{
    char *text = memory_text("%s", "");
    for (int i = 0; i < trial->count; i++) {
        const struct kernel *kernel = &trial->kernel[i];
        if (isinf(kernel->seconds))
            continue;
        char *longer = memory_text("%s%s %.2f ms%s", *text ? ", " : "", kernel->name, 1e3 * kernel->seconds,
                                   i == 0 ? " (its own choice)" : "");
        char *joined = memory_text("%s%s", text, longer);
        free(text);
        free(longer);
        text = joined;
    }
    fprintf(stderr, "OpenBLAS's kernels, a layer's products: %s; taking %s (%s=NAME overrides)\n", text, chosen->name,
            KERNEL_VARIABLE);
    free(text);
}

static bool can_choose(void)
{
    const char *told = getenv(KERNEL_VARIABLE);
    return !(told && *told) && openblas_get_corename && openblas_get_config;
}

/* False where nothing can be tried. */
static bool find(char name[NAME])
{
    char *program = path_of("time_products");
    bool is_there = access(program, X_OK) == 0;
    if (is_there) {
        struct trial trial = { .count = 0 };
        try_all(&trial, program);
        const struct kernel *chosen = fastest(&trial);
        if (!isinf(chosen->seconds))
            tell(&trial, chosen);
        keep(&trial, chosen);
        snprintf(name, NAME, "%s", chosen->name);
    }
    free(program);
    return is_there;
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

static void take(const char *name, char *const *arguments)
{
    setenv(KERNEL_VARIABLE, name, 1);
    if (strcmp(name, openblas_get_corename()) == 0)
        return;
    fflush(NULL);
    char *program = job_program();
    execv(program, arguments);
    free(program);
    warn("cannot start again with OpenBLAS's kernel %s; going on with %s", name, openblas_get_corename());
}

void blas_kernel_choose(char *const *arguments)
{
    char name[NAME];
    if (can_choose() && (recall(name) || find(name)))
        take(name, arguments);
}

void blas_kernel_take(char *const *arguments)
{
    char name[NAME];
    if (can_choose() && recall(name))
        take(name, arguments);
}
