/* kernel: which of OpenBLAS's kernels multiplies matrices here.
 *
 * OpenBLAS has a kernel for each family of processors and takes one by the processor's name. That is not always the fastest:
 * on a Zen 4 of two cores it took Cooperlake's, and Haswell's was 4 to 24 % faster, by shape. So they are tried, once for a
 * machine and a build: build/lib/cores/time_products multiplies a layer of the published MLP under each of them, in turns, and
 * what came out is kept beside it in kernels.csv. OpenBLAS's own choice stands unless another was KERNEL_GAIN faster.
 *
 * The library reads OPENBLAS_CORETYPE when it is loaded and never again, so the program that takes another kernel starts
 * itself anew. A person's own OPENBLAS_CORETYPE stands, and nothing is tried; nor is it with another BLAS. */
#ifndef LOCKSTEP_KERNEL_H
#define LOCKSTEP_KERNEL_H

/* Those that are tried beside OpenBLAS's own choice; NULL ends them. One that a processor cannot run ends in a process of its
 * own; of other kinds of processors OpenBLAS knows none of these, and takes its own. */
extern const char *const kernel_others[];

/* The kernel of programs that are started from now on; NULL is OpenBLAS's own choice. Returns the one before, or NULL; free it. */
char *blas_kernel_print(const char *name);

/* To be called where ranks are about to be started on cores, or where this program itself multiplies: `arguments` are its
 * own. Either returns, with the choice in the environment for those that will be started, or does not, and the program begins
 * again. */
void blas_kernel_choose(char *const *arguments);

/* The same for a rank of another launcher: takes what was kept on this machine, and tries nothing, for all would at once. */
void blas_kernel_take(char *const *arguments);

#endif
