#include "faults.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void faults_add(struct faults *faults, const char *format, ...)
{
    if (faults->count++ > 0)
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(faults->first, sizeof faults->first, format, values);
    va_end(values);
}

void faults_join(struct faults *faults, const struct faults *more, const char *where, ...)
{
    if (faults->count == 0 && more->count > 0) {
        va_list values;
        va_start(values, where);
        vsnprintf(faults->first, sizeof faults->first, where, values);
        va_end(values);
        size_t length = strlen(faults->first);
        snprintf(faults->first + length, sizeof faults->first - length, "%s", more->first);
    }
    faults->count += more->count;
}
