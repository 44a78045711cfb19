/* blas_kernel: chooses OpenBLAS's fastest matrix-multiplication kernel on this machine.
 *
 * OpenBLAS has a kernel for each processor family and picks one by the processor's name. The pick is not always the fastest. On a
 * Zen 4 with two cores OpenBLAS picked Cooperlake, and Haswell was 4 to 24 % faster, depending on the shape. So each kernel is
 * timed once per machine and build. build/lib/cores/time_products multiplies one layer of the published MLP with each kernel in
 * turn. The results are saved beside that program in kernels.csv. OpenBLAS's own choice stays unless another kernel is faster
 * by KERNEL_GAIN.
 *
 * OpenBLAS reads OPENBLAS_CORETYPE only when it is loaded, so a program that switches kernels restarts itself by exec. If the
 * user sets OPENBLAS_CORETYPE, that value stays and nothing is timed. Nothing is timed with another BLAS either. */
#ifndef LOCKSTEP_BLAS_KERNEL_H
#define LOCKSTEP_BLAS_KERNEL_H

/* Kernels timed besides OpenBLAS's own choice; NULL-terminated. Each runs in a process of its own, which may crash if the
 * processor cannot run the kernel. On other architectures OpenBLAS ignores these names and uses its own choice. */
extern const char *const kernel_others[];

/* Set the kernel for programs started from now on; NULL: OpenBLAS's own choice. Return the previous setting, to be freed. */
char *blas_kernel_set(const char *name);

/* Choose a kernel. Call this before ranks are started on cores, or in a program that multiplies matrices itself. `arguments` is the
 * program's own argv. The choice goes into the environment for child processes. If OpenBLAS now uses another kernel, the program
 * restarts and this call does not return. */
void blas_kernel_choose(char *const *arguments);

/* Use the choice saved on this machine, for a rank of another launcher. Nothing is timed, because all ranks would do so at once. */
void blas_kernel_use_saved(char *const *arguments);

#endif
