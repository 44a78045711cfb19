/* Implement the events and the clock of device.h on a GPU. */
#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "device/device_cuda.h"
#include "world/world.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Events of this rank's GPU. A static variable, because the functions of device.h take no device. */
static struct {
    cudaEvent_t *note; /* (note_room) events, `notes` of them recorded since the last device_clock_sync_begin() */
    size_t notes, note_room;
    struct anchor { /* event at `time` on the world's clock, +- `error` */
        cudaEvent_t event;
        double time, error;
    } begin, end;
    cudaEvent_t candidate;
    double rate; /* seconds of the world's clock per second of the GPU's */
} stamps;

void cuda_events_open(void)
{
    cuda_must(cudaEventCreate(&stamps.begin.event), "cudaEventCreate");
    cuda_must(cudaEventCreate(&stamps.end.event), "cudaEventCreate");
    cuda_must(cudaEventCreate(&stamps.candidate), "cudaEventCreate");
    device_clock_sync_begin();
}

void cuda_events_close(void)
{
    for (size_t i = 0; i < stamps.note_room; i++)
        cuda_must(cudaEventDestroy(stamps.note[i]), "cudaEventDestroy");
    free(stamps.note);
    cuda_must(cudaEventDestroy(stamps.begin.event), "cudaEventDestroy");
    cuda_must(cudaEventDestroy(stamps.end.event), "cudaEventDestroy");
    cuda_must(cudaEventDestroy(stamps.candidate), "cudaEventDestroy");
    memset(&stamps, 0, sizeof stamps);
}

void device_reserve_events(size_t moments)
{
    if (moments <= stamps.note_room)
        return;
    stamps.note = memory_grow(stamps.note, moments * sizeof *stamps.note);
    for (; stamps.note_room < moments; stamps.note_room++)
        cuda_must(cudaEventCreate(&stamps.note[stamps.note_room]), "cudaEventCreate");
}

/* Return -1 for the first event, -2 for the second, and so on. */
static double record(cudaStream_t stream)
{
    device_reserve_events(stamps.notes + 1);
    cuda_must(cudaEventRecord(stamps.note[stamps.notes], stream), "cudaEventRecord");
    return -(double)++stamps.notes;
}

double device_record_event(void)
{
    return record(cuda_stream());
}

double device_record_copies(void)
{
    return record(cuda_copies());
}

/* Return the seconds between two events. CUDA gives them as a float, in milliseconds: its resolution is 0.06 us one
 * second after the first event, 4 us after a minute, 0.25 ms after an hour. */
static double elapsed(cudaEvent_t from, cudaEvent_t to)
{
    float milliseconds = 0;
    cuda_must(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
}

double device_event_seconds(double moment)
{
    if (moment >= 0)
        return moment;
    size_t note = (size_t)-moment - 1;
    if (note >= stamps.notes)
        die(STATUS_WRONG, "event %zu of the GPU was discarded; the GPU has %zu", note, stamps.notes);
    return stamps.begin.time + stamps.rate * elapsed(stamps.begin.event, stamps.note[note]);
}

/* Set an anchor: an event on an idle GPU happens between two readings of the host's clock. Keep the narrowest of
 * several tries. */
static void set_anchor(struct anchor *anchor)
{
    enum { TRIES = 16 };
    anchor->error = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        double before = world_now();
        cuda_must(cudaEventRecord(stamps.candidate, cuda_stream()), "cudaEventRecord");
        device_wait();
        double after = world_now();
        if ((after - before) / 2 >= anchor->error)
            continue;
        cudaEvent_t best = stamps.candidate;
        stamps.candidate = anchor->event;
        *anchor = (struct anchor){ .event = best, .time = (before + after) / 2, .error = (after - before) / 2 };
    }
}

void device_clock_sync_begin(void)
{
    device_wait();
    stamps.notes = 0;
    stamps.rate = 1;
    set_anchor(&stamps.begin);
    stamps.end.error = 0;
}

/* Correct for drift: clocks of two crystals differ by millionths. Between two anchors the error is at most that of the
 * anchors. */
void device_clock_sync_end(void)
{
    device_wait();
    set_anchor(&stamps.end);
    double between = elapsed(stamps.begin.event, stamps.end.event);
    stamps.rate = (stamps.end.time - stamps.begin.time) / between;
    stamps.end.error += between * (double)FLT_EPSILON; /* rounding of the float that holds `between` */
}

double device_clock_error(void)
{
    return fmax(stamps.begin.error, stamps.end.error);
}
