#include "base/die.h"
#include "spans_parts.h"

#include <stdarg.h>
#include <stdio.h>

void spans_file_refuse(const struct spans_file *file, int line, const char *format, ...)
{
    char *text = NULL;
    va_list words;
    va_start(words, format);
    if (vasprintf(&text, format, words) < 0)
        text = NULL;
    va_end(words);
    const char *reason = text ? text : "cannot be understood";
    if (line == 0)
        die(STATUS_USAGE, "%s: %s", file->path, reason);
    die(STATUS_USAGE, "%s:%d: %s", file->path, line, reason);
}
