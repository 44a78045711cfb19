#include "launch/mpirun_output.h"

#include "base/die.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    LINE = 2048,      /* most bytes of a line */
    ROW = 40,         /* least dashes of a row around a launcher's message; Open MPI writes 74 */
    WORDS_MOST = 600, /* most bytes kept of the launcher's messages */
    CHUNK = 1 << 14,  /* bytes read at a time */
    ENDS = 2,         /* of a pipe: read, write */
};

struct launcher_output {
    int out[ENDS], error[ENDS];
    int ending; /* eventfd; set when the job has ended */
    pthread_t thread;
    bool has_ranks; /* ranks wrote to standard error */
    enum {
        RANKS,
        IN_BRACKETS,
        BETWEEN_ROWS
    } source;        /* of the next byte; a line in brackets may come from a rank or the launcher */
    bool is_in_line; /* part of a rank's line has been passed on */
    size_t dashes;   /* consecutive dashes, held back because they may be a row */
    char line[LINE]; /* launcher's current line so far */
    size_t length;
    char words[WORDS_MOST + 1]; /* launcher's complete lines */
};

/* --- output ------------------------------------------------------------------------------------------------------- */

/* Write all bytes. If the reader has closed our output, drop the bytes and let the job continue. */
static void pass_on(int to, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(to, bytes, count);
        if (written < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = to, .events = POLLOUT }, 1, -1);
        else if (written < 0 && errno != EINTR)
            return;
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        }
    }
}

/* --- launcher messages -------------------------------------------------------------------------------------------- */

/* Append the line to `words`, with blanks for line breaks and runs of blanks collapsed. */
static void keep_line(struct launcher_output *o)
{
    size_t kept = strlen(o->words);
    for (size_t i = 0; i < o->length && kept < WORDS_MOST; i++) {
        bool is_blank = o->line[i] == ' ' || o->line[i] == '\t';
        bool is_second = kept == 0 || o->words[kept - 1] == ' ';
        if (!is_blank || !is_second)
            o->words[kept++] = is_blank ? ' ' : o->line[i];
    }
    if (kept > 0 && kept < WORDS_MOST && o->words[kept - 1] != ' ')
        o->words[kept++] = ' ';
    o->words[kept] = '\0';
}

/* True for a line of our own program inside a launcher's message; the row of dashes after that message was lost. */
static bool is_ours(const struct launcher_output *o)
{
    size_t name = strlen(program_invocation_short_name);
    return o->length > name + 2 && strncmp(o->line, program_invocation_short_name, name) == 0 &&
           strncmp(o->line + name, ": ", 2) == 0;
}

/* True for "[host:4242] ..." and "[host][[62360,1],0] ...", which Open MPI prints in mpirun or in a rank, and for "[warn] ..." of
 * libevent, which Open MPI uses. */
static bool is_of_library(const char *line, size_t length)
{
    char text[LINE + 1], end = 0;
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    int process = 0;
    return (sscanf(text, "[%*[^]:]:%d%c", &process, &end) == 2 && end == ']') ||
           (sscanf(text, "[%*[^]]][[%d%c", &process, &end) == 2 && end == ',') || strncmp(text, "[warn] ", 7) == 0;
}

/* Bytes of one read that are passed on. */
struct passed {
    size_t count;
    char bytes[CHUNK + LINE + ROW];
};

static void collect(struct launcher_output *o, char c, struct passed *passed)
{
    if (c != '\n') {
        if (o->length < LINE - 1)
            o->line[o->length++] = c;
        return;
    }
    bool is_of_rank = o->source == IN_BRACKETS ? !is_of_library(o->line, o->length) : is_ours(o);
    if (is_of_rank) {
        o->line[o->length++] = '\n';
        memcpy(passed->bytes + passed->count, o->line, o->length);
        passed->count += o->length;
    } else {
        keep_line(o);
    }
    if (is_of_rank || o->source == IN_BRACKETS)
        o->source = RANKS;
    o->length = 0;
}

static void route(struct launcher_output *o, char c, struct passed *passed)
{
    if (o->source == RANKS && !o->is_in_line && c == '[')
        o->source = IN_BRACKETS;
    if (o->source == RANKS) {
        passed->bytes[passed->count++] = c;
        o->is_in_line = c != '\n';
    } else {
        collect(o, c, passed);
    }
}

/* Release the held-back dashes, which turned out to be no row. */
static void release_dashes(struct launcher_output *o, struct passed *passed)
{
    for (; o->dashes > 0; o->dashes--)
        route(o, '-', passed);
}

static void filter(struct launcher_output *o, const char *bytes, size_t count)
{
    struct passed passed = { 0 };
    for (size_t i = 0; i < count; i++) {
        char c = bytes[i];
        if (c == '\0' || (c == '-' && o->dashes == ROW)) /* Open MPI 5 ends its messages with a zero byte */
            continue;
        if (c == '-') {
            o->dashes++;
        } else if (o->dashes == ROW) {
            o->dashes = 0;
            o->source = o->source == BETWEEN_ROWS ? RANKS : BETWEEN_ROWS;
            if (c != '\n') /* the line break belongs to the row */
                route(o, c, &passed);
        } else {
            release_dashes(o, &passed);
            route(o, c, &passed);
        }
    }
    o->has_ranks |= passed.count > 0;
    pass_on(STDERR_FILENO, passed.bytes, passed.count);
}

/* --- reader thread ------------------------------------------------------------------------------------------------ */

/* Read once. Return false at the end of the pipe, or if nothing is available now. */
static bool read_some(struct launcher_output *o, int *from)
{
    char bytes[CHUNK];
    if (*from < 0)
        return false;
    ssize_t count = read(*from, bytes, sizeof bytes);
    if (count < 0)
        return errno == EINTR;
    if (count == 0) {
        close(*from);
        *from = -1; /* poll() ignores negative descriptors */
        return false;
    }
    if (from == &o->error[0])
        filter(o, bytes, (size_t)count);
    else
        pass_on(STDOUT_FILENO, bytes, (size_t)count);
    return true;
}

/* Read standard error first: a rank clears its progress line there before it prints its table. */
static void *follow(void *argument)
{
    struct launcher_output *o = argument;
    bool has_ended = false;
    while (!has_ended) {
        struct pollfd all[] = { { .fd = o->error[0], .events = POLLIN },
                                { .fd = o->out[0], .events = POLLIN },
                                { .fd = o->ending, .events = POLLIN } };
        if (poll(all, sizeof all / sizeof *all, -1) < 0)
            continue;
        has_ended = all[2].revents != 0;
        while (read_some(o, &o->error[0]))
            ;
        while (read_some(o, &o->out[0]) && has_ended)
            ;
    }
    return NULL;
}

/* --- open to close ------------------------------------------------------------------------------------------------ */

struct launcher_output *mpirun_output_open(void)
{
    struct launcher_output *o = memory_new(1, sizeof *o);
    o->ending = eventfd(0, EFD_CLOEXEC);
    if (o->ending < 0 || pipe2(o->out, O_CLOEXEC) != 0 || pipe2(o->error, O_CLOEXEC) != 0)
        die(STATUS_WRONG, "no pipes to listen to the ranks: %s", strerror(errno));
    return o;
}

void mpirun_output_enter(struct launcher_output *o)
{
    dup2(o->out[1], STDOUT_FILENO);
    dup2(o->error[1], STDERR_FILENO);
}

void mpirun_output_follow(struct launcher_output *o)
{
    close(o->out[1]);
    close(o->error[1]);
    fcntl(o->out[0], F_SETFL, O_NONBLOCK);
    fcntl(o->error[0], F_SETFL, O_NONBLOCK);
    sigset_t all, before;
    sigfillset(&all); /* the supervisor handles signals; a write into a closed pipe only fails here */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&o->thread, NULL, follow, o);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        die(STATUS_WRONG, "no thread to listen to the ranks: %s", strerror(error));
}

void mpirun_output_finish(struct launcher_output *o)
{
    eventfd_write(o->ending, 1);
    pthread_join(o->thread, NULL);
    struct passed left = { 0 };
    release_dashes(o, &left);
    if (o->source == IN_BRACKETS && o->length > 0)
        collect(o, '\n', &left);
    pass_on(STDERR_FILENO, left.bytes, left.count);
    keep_line(o);
    size_t kept = strlen(o->words);
    if (kept > 0 && o->words[kept - 1] == ' ')
        o->words[kept - 1] = '\0';
}

const char *mpirun_output_words(const struct launcher_output *o)
{
    return o->words;
}

bool mpirun_output_has_ranks(const struct launcher_output *o)
{
    return o->has_ranks;
}

void mpirun_output_close(struct launcher_output *o)
{
    if (o->out[0] >= 0)
        close(o->out[0]);
    if (o->error[0] >= 0)
        close(o->error[0]);
    close(o->ending);
    free(o);
}
