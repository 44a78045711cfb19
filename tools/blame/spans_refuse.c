#include "base/die.h"
#include "spans_parts.h"

#include <stdarg.h>
#include <stdio.h>

void spans_file_refuse(const struct spans_file *file, int line, const char *format, ...)
{
    char *reason = NULL;
    va_list words;
    va_start(words, format);
    if (vasprintf(&reason, format, words) < 0)
        reason = NULL;
    va_end(words);
    die(STATUS_USAGE, "%s:%d: %s", file->path, line, reason ? reason : "cannot be understood");
}
