#include "memory.h"

#include "die.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 }; /* a cache line, and the widest vector of x86 */

void *memory_new(size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > (size_t)-1 - ALIGNMENT)
        die(STATUS_WRONG, "%zu x %zu bytes is more than memory can address; choose smaller sizes", count, size);
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *memory = aligned_alloc(ALIGNMENT, bytes ? bytes : ALIGNMENT);
    if (!memory)
        die(STATUS_WRONG, "no memory for %zu bytes; choose smaller sizes or fewer ranks", bytes);
    memset(memory, 0, bytes);
    return memory;
}

char *memory_text(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        die(STATUS_WRONG, "no memory for a line of text");
    va_end(arguments);
    return text;
}
