#include "base/die.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Return the first of these variables that a launcher set: Open MPI, any PMIx, Slurm's PMI, srun. For srun tasks that are no
 * ranks, SLURM_PROCID is the task number. */
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

/* Append the message to the file named by DIE_COMPLAINTS, so that the calling script can repeat it at its end. */
static void append_complaint(const char *text)
{
    const char *path = getenv(DIE_COMPLAINTS);
    FILE *file = path ? fopen(path, "a") : NULL; /* in append mode a short line is not split by other processes */
    if (!file)
        return;
    fprintf(file, "%s\n", text);
    fclose(file);
}

/* Cut the middle out of a long text: the error stands at the beginning, the cure at the end. */
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

/* Static, because die() and warn() take no context: any function may call them. One listener per process. */
static struct {
    void (*take)(void *to, const char *message);
    void *to;
} listener;

void warn_also(void (*take)(void *to, const char *message), void *to)
{
    listener.take = take;
    listener.to = to;
}

/* Print one line of limited length, with '?' for control characters and invalid UTF-8 in a user's words. */
static void print_message(const char *format, va_list arguments, bool is_last)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        return;
    shorten(text);
    for (char *c = text; *c;) {
        int bytes = utf8_printable(c);
        if (bytes == 0)
            *c = '?';
        c += bytes ? bytes : 1;
    }
    fflush(stdout);
    char *line = NULL; /* in one write, or a launcher may mix in output of other ranks */
    if (asprintf(&line, "%s: %s\n", program_invocation_short_name, text) > 0)
        fputs(line, stderr);
    free(line);
    if (is_last)
        append_complaint(text);
    else if (listener.take)
        listener.take(listener.to, text);
    free(text);
}

static void (*before_exit)(void); /* static for the same reason; it acts on the process */

void die_before(void (*act)(void))
{
    before_exit = act;
}

void die(enum status status, const char *format, ...)
{
    if (before_exit)
        before_exit();
    bool same_on_all_ranks = status == STATUS_USAGE || status == STATUS_CANNOT;
    if (!same_on_all_ranks || is_first_rank()) {
        va_list arguments;
        va_start(arguments, format);
        print_message(format, arguments, true);
        va_end(arguments);
    } else {
        /* Wait for the first rank's message: a launcher ends the whole job at the first bad exit. */
        nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
    }
    fflush(NULL);
    _exit((int)status); /* at once; ends all ranks that share a process (world_sim.c) */
}

void warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments, false);
    va_end(arguments);
}
