#include "bench/reference.h"

#include "base/memory.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Importing PyTorch from a cold disk takes a minute, a window far less. */
enum { TIMEOUT_MS = 300 * 1000 };

/* Kill the program: closing its input may not end a program that does not read. */
static void end(struct reference *r)
{
    if (r->process == 0)
        return;
    close(r->line);
    kill(r->process, SIGKILL);
    waitpid(r->process, NULL, 0);
    r->process = 0;
}

/* Record the reason and end the program. Return NaN. Frees `why`. */
static double give_up(struct reference *r, char *why)
{
    snprintf(r->lacks, sizeof r->lacks, "%s", why);
    free(why);
    end(r);
    return (double)NAN;
}

/* Start the program with a socket as its input and output. CLOEXEC closes the original descriptors in the child, not its copies. */
static int start(struct reference *r, char *const *words)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int error = posix_spawnp(&r->process, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    r->line = ends[0];
    if (error) {
        close(r->line);
        r->process = 0;
    }
    return error;
}

/* Read the next line, without newline. On failure end the program and return false. */
static bool read_line(struct reference *r, char line[REFERENCE_LINE])
{
    for (size_t length = 0; length < REFERENCE_LINE; length++) {
        struct pollfd waits = { .fd = r->line, .events = POLLIN };
        int ready = poll(&waits, 1, TIMEOUT_MS);
        if (ready < 0 && errno == EINTR) {
            length--;
            continue;
        }
        if (ready == 0) {
            give_up(r, memory_text("no answer within %d s", TIMEOUT_MS / 1000));
            return false;
        }
        if (recv(r->line, line + length, 1, 0) != 1) {
            give_up(r, memory_text("it ended without a message"));
            return false;
        }
        if (line[length] == '\n') {
            line[length] = '\0';
            return true;
        }
    }
    give_up(r, memory_text("it printed a line without an end"));
    return false;
}

static const char *after(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 ? line + length : NULL;
}

void reference_open(struct reference *r, char *const *words)
{
    char line[REFERENCE_LINE];
    *r = (struct reference){ 0 };
    int error = start(r, words);
    if (error) {
        give_up(r, memory_text("%.200s cannot be started: %s", words[0], strerror(error)));
        return;
    }
    if (!read_line(r, line))
        return;
    const char *about = after(line, "ready "), *lacks = after(line, "absent ");
    if (about)
        snprintf(r->about, sizeof r->about, "%s", about);
    else
        give_up(r, memory_text("%s%.200s", lacks ? "" : "it printed ", lacks ? lacks : line));
}

void reference_close(struct reference *r)
{
    end(r);
}

double reference_window(struct reference *r, const char *question, double parameters)
{
    char line[REFERENCE_LINE];
    double has = 0, milliseconds = 0, busy = 0;
    if (r->process == 0)
        return (double)NAN;
    int length = snprintf(line, sizeof line, "%s\n", question);
    if (send(r->line, line, (size_t)length, MSG_NOSIGNAL) != length)
        return give_up(r, memory_text("it ended without a message"));
    if (!read_line(r, line))
        return (double)NAN;
    const char *lacks = after(line, "absent "), *numbers = after(line, question);
    if (lacks)
        return give_up(r, memory_text("%.200s", lacks));
    if (!numbers || sscanf(numbers, ",%lf,%lf,%lf", &has, &milliseconds, &busy) < 2 || !(milliseconds > 0))
        return give_up(r, memory_text("asked for %.60s, it answered %.120s", question, line));
    if (has < parameters || has > parameters)
        return give_up(
            r, memory_text("its model has %.0f parameters for %.60s, but ours %.0f", has, question, parameters));
    r->busy += busy;
    return milliseconds * 1e-3;
}
