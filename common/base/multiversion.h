/* multiversion: vector loops for the processor that runs the program. */
#ifndef LOCKSTEP_MULTIVERSION_H
#define LOCKSTEP_MULTIVERSION_H

/* Compile a function for several vector widths. The loader picks the widest that this CPU has, so one binary runs anywhere. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

#endif
