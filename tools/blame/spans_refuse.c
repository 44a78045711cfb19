#include "base/die.h"
#include "base/memory.h"
#include "spans_parts.h"

#include <stdarg.h>
#include <stdio.h>

void spans_file_refuse(const struct spans_file *file, int line, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    const char *reason = memory_vtext(format, words);
    va_end(words);
    if (line == 0)
        die(STATUS_USAGE, "%s: %s", file->path, reason);
    die(STATUS_USAGE, "%s:%d: %s", file->path, line, reason);
}
