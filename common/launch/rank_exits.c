#include "launch/rank_exits.h"

#include "base/memory.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAUSE_MS = 500, JOINING_MS = 50 }; /* longest waits; JOINING_MS while ranks are still missing */

enum { UNKNOWN = -1, ENDED = -2 }; /* poll() ignores negative descriptors */

struct rank_exits {
    struct flight_recorder *recorder;
    int ranks, known;
    struct pollfd *all; /* one per process, then the signals */
};

struct rank_exits *rank_exits_open(struct flight_recorder *recorder, int ranks, const sigset_t *signals)
{
    struct rank_exits *watch = memory_new(1, sizeof *watch);
    watch->recorder = recorder;
    watch->ranks = ranks;
    watch->all = memory_new((size_t)ranks + 1, sizeof *watch->all);
    for (int rank = 0; rank < ranks; rank++)
        watch->all[rank] = (struct pollfd){ .fd = UNKNOWN, .events = POLLIN };
    watch->all[ranks] = (struct pollfd){ .fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN };
    return watch;
}

void rank_exits_close(struct rank_exits *watch)
{
    for (int i = 0; i <= watch->ranks; i++)
        if (watch->all[i].fd >= 0)
            close(watch->all[i].fd);
    free(watch->all);
    free(watch);
}

/* Open a descriptor for each rank's process that has joined. Kernels before 5.3 have none; the launcher's end then wakes the
 * supervisor. */
static void find_new(struct rank_exits *watch)
{
    for (int rank = 0; rank < watch->ranks && watch->known < watch->ranks; rank++) {
        int process = watch->all[rank].fd == UNKNOWN ? flight_recorder_process(watch->recorder, rank) : 0;
        if (process == 0)
            continue;
        int descriptor = (int)syscall(SYS_pidfd_open, process, 0);
        watch->all[rank].fd = descriptor >= 0 ? descriptor : ENDED;
        watch->known++;
    }
}

int rank_exits_wait(struct rank_exits *watch)
{
    find_new(watch);
    struct pollfd *signals = &watch->all[watch->ranks];
    poll(watch->all, (nfds_t)watch->ranks + 1, watch->known < watch->ranks ? JOINING_MS : PAUSE_MS);
    for (int rank = 0; rank < watch->ranks; rank++)
        if (watch->all[rank].fd >= 0 && watch->all[rank].revents) {
            flight_recorder_note_end(watch->recorder, rank);
            close(watch->all[rank].fd);
            watch->all[rank].fd = ENDED;
        }
    struct signalfd_siginfo signal;
    bool has_signal = signals->revents && read(signals->fd, &signal, sizeof signal) == sizeof signal;
    return has_signal ? (int)signal.ssi_signo : 0;
}
