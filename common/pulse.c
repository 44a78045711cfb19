#include "pulse.h"

#include "job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of doubles: a beat is the seconds that the next one may take. */
static const double end = -1;

int pulse_create(void)
{
    return memfd_create("lockstep-pulse", MFD_CLOEXEC);
}

struct pulse pulse_feel(int file)
{
    struct pulse pulse = { 0 };
    struct stat status;
    double last = 0;
    if (fstat(file, &status) == 0)
        pulse.beats = status.st_size / (off_t)sizeof last;
    off_t at = (pulse.beats - 1) * (off_t)sizeof last;
    if (pulse.beats > 0 && pread(file, &last, sizeof last, at) != (ssize_t)sizeof last)
        pulse.beats = 0;
    pulse.has_ended = last < 0;
    pulse.allowed = pulse.has_ended ? 0 : last;
    return pulse;
}

static void write_sign(double sign)
{
    const char *path = getenv(JOB_PULSE);
    int pulse = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (pulse < 0)
        return;
    ssize_t written = write(pulse, &sign, sizeof sign);
    (void)written; /* a lost beat only shortens the deadline */
    close(pulse);
}

void pulse_beat(double allowed)
{
    write_sign(allowed);
}

void pulse_end(void)
{
    write_sign(end);
}
