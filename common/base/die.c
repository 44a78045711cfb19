#include "base/die.h"

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
const char *die_rank(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return NULL;
}

static bool is_first_rank(void)
{
    const char *rank = die_rank();
    return !rank || strcmp(rank, "0") == 0;
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

/* Takes its middle out of a long text: what is wrong stands at the beginning, the cure at the end. */
static void shorten(char *text)
{
    enum { MOST = 1000, BEGIN = 600, END = 300 };
    static const char gap[] = " ... ";
    size_t length = strlen(text);
    if (length <= MOST)
        return;
    memcpy(text + BEGIN, gap, strlen(gap));
    memmove(text + BEGIN + strlen(gap), text + length - END, END + 1);
}

/* Bytes of the character of UTF-8 that begins here; 0 where none does, or one that is not to be shown: a control. */
static int printable(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    int more = c[0] < 0x80 ? 0 : c[0] < 0xc2 ? -1 : c[0] < 0xe0 ? 1 : c[0] < 0xf0 ? 2 : c[0] < 0xf5 ? 3 : -1;
    for (int i = 1; i <= more; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool is_control = c[0] < ' ' || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
    return is_control ? 0 : 1 + more;
}

/* One line, not a long one, whatever a user's word may hold. */
static void say(const char *format, va_list arguments, bool is_last)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        return;
    shorten(text);
    for (char *c = text; *c;) {
        int bytes = printable(c);
        if (bytes == 0)
            *c = '?';
        c += bytes ? bytes : 1;
    }
    fflush(stdout);
    char *line = NULL; /* in one piece, or a launcher may put what other ranks write in between */
    if (asprintf(&line, "%s: %s\n", program_invocation_short_name, text) > 0)
        fputs(line, stderr);
    free(line);
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
    _exit((int)status); /* at once, and where ranks share a process (world_sim.c) for all of them */
}

void warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments, false);
    va_end(arguments);
}
