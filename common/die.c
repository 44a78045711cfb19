#include "die.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The launchers we meet tell a process its rank in one of these: Open MPI, any PMIx, Slurm's PMI; and srun, where it starts
 * tasks that are no ranks, tells their number. */
static bool is_first_rank(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank)
            return strcmp(rank, "0") == 0;
    }
    return true;
}

/* Whoever started us may want to repeat at the end why we ended. */
static void keep(const char *text)
{
    const char *path = getenv(DIE_COMPLAINTS);
    FILE *file = path ? fopen(path, "a") : NULL; /* appending, a short line of one process stays whole */
    if (!file)
        return;
    fprintf(file, "%s\n", text);
    fclose(file);
}

/* One line, whatever a user's word may hold. */
static void say(const char *format, va_list arguments, bool is_last)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        return;
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    if (is_last)
        keep(text);
    free(text);
}

static void (*act_before)(void);

void die_before(void (*act)(void))
{
    act_before = act;
}

void die(enum status status, const char *format, ...)
{
    if (act_before)
        act_before();
    bool alike_everywhere = status == STATUS_USAGE || status == STATUS_CANNOT;
    if (!alike_everywhere || is_first_rank()) {
        va_list arguments;
        va_start(arguments, format);
        say(format, arguments, true);
        va_end(arguments);
    } else {
        /* A launcher ends the whole job at the first bad exit; let the first rank speak before. */
        nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
    }
    fflush(NULL);
    _exit(status); /* at once, and where ranks share a process (world_sim.c) for all of them */
}

void warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments, false);
    va_end(arguments);
}
