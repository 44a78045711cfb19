/* beside_cpu.h: compare the CUDA device with the CPU's functions, which have the same names. A program of such tests (support/unit.h) is
 *
 *     PROGRAM CPU_MODULE          run the tests; exits with 77 without a GPU
 *     PROGRAM CPU_MODULE bits     only print the digest of its results
 *
 * CPU_MODULE is a shared library of the CPU's files. */
#ifndef LOCKSTEP_BESIDE_CPU_H
#define LOCKSTEP_BESIDE_CPU_H

#include <stddef.h>
#include <stdint.h>

/* The CPU's function of this name: cpu(device_gelu)(y, x, bias, B, N). */
#define cpu(function) ((__typeof__(&function))cpu_function(#function))
void (*cpu_function(const char *name))(void);

/* Take bytes into the digest (FNV-1a) of all results. */
void digest(const void *bytes, size_t count);

/* Set the function that computes all results anew, for main(), which the program calls with it. */
int beside_cpu_main(int count, char **argument, void (*compute)(void));

/* Assert that all results have the same bits again, also in new processes in which the stand-in runs blocks and threads in other orders.
 * A real GPU ignores the setting and repeats the operations. */
void assert_same_bits(void (*compute)(void));

/* Run this program with `bits` and this setting of the environment. Return its exit status, and its first line in `line`. */
int run_with(const char *setting, char line[64]);

#endif
