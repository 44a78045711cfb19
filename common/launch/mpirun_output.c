#include "launch/mpirun_output.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/mpirun_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ENDS = 2 }; /* of a pipe: read, write */

struct mpirun_output {
    int out[ENDS], error[ENDS];
    int ending; /* eventfd; set when the job has ended */
    pthread_t thread;
    struct mpirun_filter filter; /* of standard error */
};

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

/* --- reader thread ------------------------------------------------------------------------------------------------ */

/* Read once. Return false at the end of the pipe, or if nothing is available now. */
static bool read_some(struct mpirun_output *o, int *from)
{
    char bytes[MPIRUN_CHUNK];
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
    if (from == &o->error[0]) {
        struct passed passed;
        mpirun_filter_read(&o->filter, bytes, (size_t)count, &passed);
        pass_on(STDERR_FILENO, passed.bytes, passed.count);
    } else {
        pass_on(STDOUT_FILENO, bytes, (size_t)count);
    }
    return true;
}

/* Read standard error first: a rank clears its progress line there before it prints its table. */
static void *follow(void *argument)
{
    struct mpirun_output *o = argument;
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

struct mpirun_output *mpirun_output_open(void)
{
    struct mpirun_output *o = memory_new(1, sizeof *o);
    o->ending = eventfd(0, EFD_CLOEXEC);
    if (o->ending < 0 || pipe2(o->out, O_CLOEXEC) != 0 || pipe2(o->error, O_CLOEXEC) != 0)
        die(STATUS_WRONG, "no pipes to listen to the ranks: %s", strerror(errno));
    return o;
}

void mpirun_output_enter(struct mpirun_output *o)
{
    dup2(o->out[1], STDOUT_FILENO);
    dup2(o->error[1], STDERR_FILENO);
}

void mpirun_output_follow(struct mpirun_output *o)
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

void mpirun_output_finish(struct mpirun_output *o)
{
    eventfd_write(o->ending, 1);
    pthread_join(o->thread, NULL);
    struct passed left;
    mpirun_filter_end(&o->filter, &left);
    pass_on(STDERR_FILENO, left.bytes, left.count);
}

const char *mpirun_output_words(const struct mpirun_output *o)
{
    return o->filter.words;
}

bool mpirun_output_has_ranks(const struct mpirun_output *o)
{
    return o->filter.has_ranks;
}

void mpirun_output_close(struct mpirun_output *o)
{
    if (o->out[0] >= 0)
        close(o->out[0]);
    if (o->error[0] >= 0)
        close(o->error[0]);
    close(o->ending);
    free(o);
}
