#include "fuzz.h"

#include "base/die.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- die() ------------------------------------------------------------------------------------------------------ */

bool fuzz_may_contradict;
static jmp_buf reading;

_Noreturn void __wrap_die(enum status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void __wrap_die(enum status status, const char *format, ...)
{
    char said[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments); /* format the message, so that a sanitizer checks its arguments */
    va_end(arguments);
    if (status != STATUS_USAGE &&
        !(fuzz_may_contradict &&
          status == STATUS_WRONG)) { /* bad input counts as bad usage; any other status is a bug */
        fprintf(stderr, "died of bad input with status %d: %s\n", (int)status, said);
        abort();
    }
    longjmp(reading, 1);
}

void __wrap_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void __wrap_warn(const char *format, ...)
{
    (void)format;
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

enum { KEPT_MOST = 1 << 16 };
static void *kept[KEPT_MOST];
static int count;

void *__real_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);
int __real_vasprintf(char **text, const char *format, va_list arguments);
int __wrap_vasprintf(char **text, const char *format, va_list arguments);

static void *keep(void *memory)
{
    if (memory && count == KEPT_MOST)
        abort();
    if (memory)
        kept[count++] = memory;
    return memory;
}

/* Drop `memory` from the list. Memory that the C library allocated for itself is not in the list. */
static void forget(const void *memory)
{
    int i = count;
    while (i > 0 && kept[i - 1] != memory)
        i--;
    if (i > 0)
        kept[i - 1] = kept[--count];
}

void *__wrap_malloc(size_t size)
{
    return keep(__real_malloc(size));
}

/* A text that memory_text() makes. */
int __wrap_vasprintf(char **text, const char *format, va_list arguments)
{
    const int length = __real_vasprintf(text, format, arguments);
    if (length >= 0)
        keep(*text);
    return length;
}

void *__wrap_realloc(void *memory, size_t size)
{
    forget(memory);
    return keep(__real_realloc(memory, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    const size_t most = (size_t)1 << 30; /* a small file must not make a reader allocate all memory */
    if (size > most) {
        fprintf(stderr, "%zu bytes are asked for\n", size);
        abort();
    }
    return keep(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    forget(memory);
    __real_free(memory);
}

/* --- one input -------------------------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("input", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, bytes, size, 0) != (ssize_t)size)
        abort();
    count = 0;
    bool was_refused = setjmp(reading) != 0;
    if (!was_refused)
        fuzz_read(path);
    if (!was_refused && count > 0) {
        fprintf(stderr, "%d pieces of memory were not given back\n", count);
        abort();
    }
    while (count > 0)
        __real_free(kept[--count]);
    return 0;
}
