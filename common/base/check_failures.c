#include "base/check_failures.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void check_failures_add(struct check_failures *failures, const char *format, ...)
{
    if (failures->count++ > 0)
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(failures->first, sizeof failures->first, format, values);
    va_end(values);
}

void check_failures_join(struct check_failures *failures, const struct check_failures *more, const char *where, ...)
{
    if (failures->count == 0 && more->count > 0) {
        va_list values;
        va_start(values, where);
        vsnprintf(failures->first, sizeof failures->first, where, values);
        va_end(values);
        size_t length = strlen(failures->first);
        snprintf(failures->first + length, sizeof failures->first - length, "%s", more->first);
    }
    failures->count += more->count;
}
