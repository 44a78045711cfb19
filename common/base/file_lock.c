#include "base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

bool file_lock(int descriptor)
{
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

bool file_lock_folder(const char *folder, int *lock)
{
    enum { TRIES = 1000 }; /* of 10 ms */
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0)
        return true;
    for (int i = 0; i < TRIES; i++) {
        if (file_lock(*lock) || errno != EWOULDBLOCK)
            return true;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return false;
}
