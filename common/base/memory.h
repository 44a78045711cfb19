/* memory: buffers that are there when they are timed. */
#ifndef LOCKSTEP_MEMORY_H
#define LOCKSTEP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* `count` elements of `size` bytes, 64-byte aligned, zero, every page touched; ends the program when there is
 * no such memory. Release with free(). */
void *memory_new(size_t count, size_t size);

/* The opposite: pages that come from the system when they are first touched, and go back at once. Ends the program when
 * there are none. NULL is no memory. */
void *memory_map(size_t bytes);
void memory_unmap(void *memory, size_t bytes);

/* What anyone in this process frees, a library included, stays with it for whoever asks next; or goes back to the system again.
 * Unless the environment has told glibc already (MALLOC_TRIM_THRESHOLD_). */
void memory_keep_freed(bool is_kept);

/* Bytes that could still be had without swapping, by the kernel's own estimate, and within the limit of this process's control
 * group; 0 when the kernel does not tell. */
double memory_available(void);

/* A printf into new memory; release with free(). */
char *memory_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
