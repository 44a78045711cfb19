/* ending.h: run code that ends a program in a child process, and capture its exit status and output through pipes. */
#ifndef LOCKSTEP_ENDING_H
#define LOCKSTEP_ENDING_H

#include "support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct ending {
    int status;
    char out[8192], err[8192];
};

static inline void read_to_end(int from, char *text, size_t size)
{
    size_t used = 0;
    for (ssize_t got = 1; got > 0; used += got > 0 ? (size_t)got : 0)
        got = read(from, text + used, size - 1 - used);
    text[used] = '\0';
    close(from);
}

/* Run `act(argument)` in a child process. The status is 99 if `act` returns. */
static inline struct ending ending_of(void (*act)(const void *argument), const void *argument)
{
    int out[2], err[2];
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    fflush(NULL); /* otherwise the child would print buffered output a second time */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        close(out[0]);
        close(err[0]);
        act(argument);
        _exit(99);
    }
    close(out[1]);
    close(err[1]);
    struct ending ending = { 0 };
    read_to_end(err[0], ending.err, sizeof ending.err);
    read_to_end(out[0], ending.out, sizeof ending.out);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    ending.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ending;
}

static inline void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is missing in: %s", part, text);
}

#endif
