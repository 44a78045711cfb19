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
    LINE = 2048,      /* bytes, at most, of one */
    ROW = 40,         /* dashes, at least, of a row before or behind the launcher's words: it writes 74 */
    WORDS_MOST = 600, /* bytes that are kept of them */
    CHUNK = 1 << 14,  /* bytes read at a time */
    ENDS = 2,         /* of a pipe: for reading, for writing */
};

struct launcher_output {
    int out[ENDS], error[ENDS];
    int ending; /* an eventfd: the job has ended */
    pthread_t thread;
    bool has_ranks; /* wrote to standard error */
    enum {
        RANKS,
        IN_BRACKETS,
        BETWEEN_ROWS
    } whose;         /* what comes now: a line that begins with a bracket may be either's */
    bool is_in_line; /* of ranks: something of it has been passed on */
    size_t dashes;   /* seen in a row, and held back until it is clear what they are */
    char line[LINE]; /* of the launcher's words: what stands in it so far */
    size_t length;
    char words[WORDS_MOST + 1]; /* of all complete lines */
};

/* --- to the person ---------------------------------------------------------------------------------------------- */

/* The reader of our output may have closed it; the job goes on all the same. */
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

/* --- the launcher's words --------------------------------------------------------------------------------------- */

/* Appends without a break, and with one blank for many. */
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

/* A line of our programs among the launcher's words: the row behind those got lost. */
static bool is_ours(const struct launcher_output *o)
{
    size_t name = strlen(program_invocation_short_name);
    return o->length > name + 2 && strncmp(o->line, program_invocation_short_name, name) == 0 &&
           strncmp(o->line + name, ": ", 2) == 0;
}

/* "[host:4242] ..." and "[host][[62360,1],0] ..." are of Open MPI, in mpirun or in a rank; "[warn] ..." of libevent, below it. */
static bool is_of_library(const char *line, size_t length)
{
    char text[LINE + 1], end = 0;
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    int process = 0;
    return (sscanf(text, "[%*[^]:]:%d%c", &process, &end) == 2 && end == ']') ||
           (sscanf(text, "[%*[^]]][[%d%c", &process, &end) == 2 && end == ',') || strncmp(text, "[warn] ", 7) == 0;
}

/* What goes on to the person, of one read. */
struct passed {
    size_t count;
    char bytes[CHUNK + LINE + ROW];
};

static void quote(struct launcher_output *o, char c, struct passed *passed)
{
    if (c != '\n') {
        if (o->length < LINE - 1)
            o->line[o->length++] = c;
        return;
    }
    bool is_of_rank = o->whose == IN_BRACKETS ? !is_of_library(o->line, o->length) : is_ours(o);
    if (is_of_rank) {
        o->line[o->length++] = '\n';
        memcpy(passed->bytes + passed->count, o->line, o->length);
        passed->count += o->length;
    } else {
        keep_line(o);
    }
    if (is_of_rank || o->whose == IN_BRACKETS)
        o->whose = RANKS;
    o->length = 0;
}

static void sort(struct launcher_output *o, char c, struct passed *passed)
{
    if (o->whose == RANKS && !o->is_in_line && c == '[')
        o->whose = IN_BRACKETS;
    if (o->whose == RANKS) {
        passed->bytes[passed->count++] = c;
        o->is_in_line = c != '\n';
    } else {
        quote(o, c, passed);
    }
}

/* What was held back is no row. */
static void let_go(struct launcher_output *o, struct passed *passed)
{
    for (; o->dashes > 0; o->dashes--)
        sort(o, '-', passed);
}

static void sieve(struct launcher_output *o, const char *bytes, size_t count)
{
    struct passed passed = { 0 };
    for (size_t i = 0; i < count; i++) {
        char c = bytes[i];
        if (c == '\0' || (c == '-' && o->dashes == ROW)) /* Open MPI 5 ends its words with a zero */
            continue;
        if (c == '-') {
            o->dashes++;
        } else if (o->dashes == ROW) {
            o->dashes = 0;
            o->whose = o->whose == BETWEEN_ROWS ? RANKS : BETWEEN_ROWS;
            if (c != '\n') /* which belongs to the row */
                sort(o, c, &passed);
        } else {
            let_go(o, &passed);
            sort(o, c, &passed);
        }
    }
    o->has_ranks |= passed.count > 0;
    pass_on(STDERR_FILENO, passed.bytes, passed.count);
}

/* --- the thread ------------------------------------------------------------------------------------------------- */

/* Reads once. False at the end, or when there is nothing now. */
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
        *from = -1; /* poll() passes over it */
        return false;
    }
    if (from == &o->error[0])
        sieve(o, bytes, (size_t)count);
    else
        pass_on(STDOUT_FILENO, bytes, (size_t)count);
    return true;
}

/* Standard error first: what a rank wrote there to clear its line of progress came before its table. */
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

/* --- the life of it --------------------------------------------------------------------------------------------- */

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
    sigfillset(&all); /* signals are the supervisor's; a write into a closed pipe fails, and raises nothing here */
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
    let_go(o, &left);
    if (o->whose == IN_BRACKETS && o->length > 0)
        quote(o, '\n', &left);
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
