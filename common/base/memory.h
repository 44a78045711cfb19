/* memory: buffers without page faults while they are timed, and memory limits. */
#ifndef LOCKSTEP_MEMORY_H
#define LOCKSTEP_MEMORY_H

#include "base/ledger.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Allocate `count` elements of `size` bytes, 64-byte aligned, zeroed, every page touched. End the program if memory runs out.
 * Release with free(). */
void *memory_new(size_t count, size_t size);

/* Likewise, for an array that the ledger counts. A large one has huge pages of its own, if the kernel has such pages. memory_new() would
 * take small ones from the heap wherever memory_keep_freed() keeps them, and Open MPI then takes 16 ms instead of 8 for a started
 * all-reduce of 24 MiB (two ranks, AMD EPYC, 2026-11-26). Release with memory_free_array(), which ignores NULL. */
void *memory_new_array(enum memory_owner owner, size_t count, size_t size);
void memory_free_array(void *array);

/* Map pages that the kernel supplies at first touch (page faults) and takes back at memory_unmap(). End the program if memory
 * runs out. memory_unmap() ignores NULL. */
void *memory_map(size_t bytes);
void memory_unmap(void *memory, size_t bytes);

/* Keep freed memory in the heap (`mallopt`), also that of libraries, until this was called as often with false: then return it to the
 * kernel again. Do nothing if the environment sets MALLOC_TRIM_THRESHOLD_. */
void memory_keep_freed(bool is_kept);

/* Bytes of freed blocks that the heap keeps. */
double memory_freed(void);

/* Bytes available without swapping, by the kernel's estimate and within the control group's limit; 0 if the kernel reports
 * none. */
double memory_available(void);

/* Print into new memory. Release with free(). */
char *memory_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *memory_vtext(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Join words (NULL-terminated) with `between` between every two of them. Free the text. */
char *memory_join(const char *const *words, const char *between);

/* Resize a block of malloc()'s to `bytes`; new bytes are undefined. End the program if memory runs out. */
void *memory_grow(void *block, size_t bytes);

/* Return a block of `count` elements of `size` bytes with room for one more. It doubles where count is 0 or a power of two, so it must
 * have grown one by one. */
void *memory_grow_by_one(void *block, int count, size_t size);

/* Open a stream into a text that grows (open_memstream()); the text is complete after fclose(). Free it. */
FILE *memory_stream(char **text, size_t *size);

#endif
