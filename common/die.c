#include "die.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The launchers we meet tell a process its rank in one of these: Open MPI, any PMIx, Slurm's PMI. */
static bool is_first_rank(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank)
            return strcmp(rank, "0") == 0;
    }
    return true;
}

static void say(const char *format, va_list arguments)
{
    fflush(stdout);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void die(enum status status, const char *format, ...)
{
    bool alike_everywhere = status == STATUS_USAGE || status == STATUS_CANNOT;
    if (!alike_everywhere || is_first_rank()) {
        va_list arguments;
        va_start(arguments, format);
        say(format, arguments);
        va_end(arguments);
    }
    exit(status);
}

void warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}
