/* wide: loops as wide as the processor. */
#ifndef LOCKSTEP_WIDE_H
#define LOCKSTEP_WIDE_H

/* A function of loops is compiled for several vector widths; the loader picks the widest this CPU has, so that one
 * binary runs anywhere. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

#endif
