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

/* Least gain for which another kernel replaces OpenBLAS's own choice. A smaller gain may be noise, and another kernel changes the
 * last bits of all results. */
static const double KERNEL_GAIN = 0.03;

enum { TURNS = 3, NAME = 32, KERNELS_MOST = 8, CPU = 128 };

const char *const kernel_others[] = { "Haswell", "Zen", "SkylakeX", NULL };

/* Functions of OpenBLAS; weak, because other BLAS libraries lack them. */
extern char *openblas_get_corename(void) __attribute__((weak));
extern char *openblas_get_config(void) __attribute__((weak));

struct kernel {
    char name[NAME];
    double seconds; /* of the timed products; infinite if the kernel cannot run here */
};

struct timings {
    struct kernel kernel[KERNELS_MOST]; /* index 0: OpenBLAS's own choice */
    int count;
};

char *blas_kernel_set(const char *name)
{
    const char *value = getenv(KERNEL_VARIABLE);
    char *previous = value ? memory_text("%s", value) : NULL;
    if (name)
        setenv(KERNEL_VARIABLE, name, 1);
    else
        unsetenv(KERNEL_VARIABLE);
    return previous;
}

/* --- saved choice ------------------------------------------------------------------------------------------------- */

static char *path_of(const char *name)
{
    return job_library("cores", name);
}

/* Return the key for which a choice is valid: CPU name, OpenBLAS version, OpenBLAS's own choice, Lockstep version. The CPU name
 * alone is ambiguous, because clouds give several processors the same name. Call this before a kernel is chosen. Free the key. */
static char *cache_key(void)
{
    char cpu[CPU], library[NAME] = "";
    cores_name(cpu, sizeof cpu);
    sscanf(openblas_get_config(), "%*s %31s", library); /* "OpenBLAS 0.3.21 …"; the rest names the kernel in use */
    return memory_text("%s; OpenBLAS %s, %s; lockstep %s", cpu, library, openblas_get_corename(), LOCKSTEP_VERSION);
}

static void save_choice(const struct timings *timings, const struct kernel *chosen)
{
    char *folder = path_of("");
    if (access(folder, W_OK) == 0) { /* otherwise every start times the kernels again */
        char *key = cache_key();
        struct file file = file_begin(folder, "kernels.csv");
        struct csv csv = { .out = file.out };
        fprintf(file.out, "# for: %s\n", key);
        for (int i = 0; i < timings->count; i++)
            do {
                csv_text(&csv, "kernel", timings->kernel[i].name);
                csv_ms(&csv, "products_ms",
                       isinf(timings->kernel[i].seconds) ? (double)NAN : timings->kernel[i].seconds);
                csv_integer(&csv, "is_own_choice", i == 0);
                csv_integer(&csv, "is_taken", &timings->kernel[i] == chosen);
            } while (csv_end_row(&csv));
        file_commit(&file);
        free(key);
    }
    free(folder);
}

/* Read the saved choice into `name`. Return false if there is none, or one with another key. */
static bool read_choice(char name[NAME])
{
    struct csv_table table;
    char why[256], *path = path_of("kernels.csv");
    bool is_there = access(path, R_OK) == 0 && csv_read(path, &table, why, sizeof why);
    free(path);
    if (!is_there)
        return false;
    char *key = cache_key(), *saved_key = csv_comment(&table, "for", 0);
    int row = saved_key && strcmp(key, saved_key) == 0 ? csv_find(&table, "is_taken", "1") : -1;
    const char *taken = csv_field(&table, row, "kernel");
    if (taken)
        snprintf(name, NAME, "%s", taken);
    free(key);
    free(saved_key);
    csv_free(&table);
    return taken != NULL;
}

/* --- timing ------------------------------------------------------------------------------------------------------- */

/* Seconds of the products with this kernel, measured in a new process; infinite if that process fails or uses another kernel. */
static double time_kernel(const char *program, const char *name)
{
    /* Forward, input gradient and weight gradient of one layer: labs 01 to 04 at the published batch size. */
    static const char products[] = "128x1024x1024,nn 128x1024x1024,nt 1024x1024x128,tn";
    char taken[NAME] = "", line[256];
    double seconds = INFINITY;
    char *previous = blas_kernel_set(name);
    FILE *lines = job_listen(program, products, "");
    free(blas_kernel_set(previous));
    free(previous);
    while (fgets(line, sizeof line, lines))
        sscanf(line, "kernel %31s seconds %lf", taken, &seconds);
    pclose(lines);
    return strcmp(taken, name) == 0 ? seconds : INFINITY;
}

static void add(struct timings *timings, const char *name)
{
    struct kernel *kernel = &timings->kernel[timings->count++];
    snprintf(kernel->name, NAME, "%s", name);
    kernel->seconds = INFINITY;
}

static void time_all(struct timings *timings, const char *program)
{
    add(timings, openblas_get_corename());
    for (int i = 0; kernel_others[i]; i++)
        if (strcmp(kernel_others[i], timings->kernel[0].name) != 0)
            add(timings, kernel_others[i]);
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < timings->count; i++)
            timings->kernel[i].seconds =
                fmin(timings->kernel[i].seconds, time_kernel(program, timings->kernel[i].name));
}

static const struct kernel *fastest(const struct timings *timings)
{
    const struct kernel *own = &timings->kernel[0], *best = own;
    for (int i = 1; i < timings->count; i++)
        if (timings->kernel[i].seconds < best->seconds)
            best = &timings->kernel[i];
    return best->seconds * (1 + KERNEL_GAIN) < own->seconds ? best : own;
}

static void print_choice(const struct timings *timings, const struct kernel *chosen)
{
    char *text = memory_text("%s", "");
    for (int i = 0; i < timings->count; i++) {
        const struct kernel *kernel = &timings->kernel[i];
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
    const char *given = getenv(KERNEL_VARIABLE);
    return !(given && *given) && openblas_get_corename && openblas_get_config;
}

/* Time all kernels, save the choice and write its name into `name`. Return false if time_products is missing. */
static bool make_choice(char name[NAME])
{
    char *program = path_of("time_products");
    bool is_there = access(program, X_OK) == 0;
    if (is_there) {
        struct timings timings = { .count = 0 };
        time_all(&timings, program);
        const struct kernel *chosen = fastest(&timings);
        if (!isinf(chosen->seconds))
            print_choice(&timings, chosen);
        save_choice(&timings, chosen);
        snprintf(name, NAME, "%s", chosen->name);
    }
    free(program);
    return is_there;
}

/* --- applying ----------------------------------------------------------------------------------------------------- */

static void use_kernel(const char *name, char *const *arguments)
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
    if (can_choose() && (read_choice(name) || make_choice(name)))
        use_kernel(name, arguments);
}

void blas_kernel_use_saved(char *const *arguments)
{
    char name[NAME];
    if (can_choose() && read_choice(name))
        use_kernel(name, arguments);
}
