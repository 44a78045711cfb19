/* Functions shared by synchronous devices. Operations finish before they return, and MPI can access device memory. */
#include "device/device.h"

#include "base/die.h"
#include "base/hot.h"
#include "world/stamps.h"

#include <math.h>

void device_close(void)
{
}

int device_gpus(void)
{
    return 0;
}

const char *device_about(void)
{
    return "";
}

HOT double device_record_event(void)
{
    return stamp_now();
}

double device_event_seconds(double moment)
{
    return stamp_seconds(moment);
}

void device_reserve_events(size_t moments)
{
    (void)moments;
}

HOT void device_wait(void)
{
}

void device_clock_sync_begin(void)
{
    stamps_begin();
}

void device_clock_sync_end(void)
{
    stamps_end();
}

double device_clock_error(void)
{
    return stamps_error();
}

bool device_is_asynchronous(void)
{
    return false;
}

/* There is nothing to capture or to run beside: an operation is done when its call returns. */
static void refuse(const char *what)
{
    die(STATUS_WRONG, "the device %s has no %s", device_name(), what);
}

void device_capture_begin(void)
{
    refuse("graphs");
}

struct device_graph *device_capture_end(void)
{
    refuse("graphs");
    return NULL;
}

void device_graph_launch(const struct device_graph *graph)
{
    (void)graph;
    refuse("graphs");
}

void device_copy_beside(void *out, const void *host, size_t bytes)
{
    (void)out, (void)host, (void)bytes;
    refuse("copies beside operations");
}

void device_copies_follow(void)
{
    refuse("copies beside operations");
}

void device_operations_follow(void)
{
    refuse("copies beside operations");
}

double device_record_copies(void)
{
    refuse("copies beside operations");
    return 0;
}

void device_graph_free(struct device_graph *graph)
{
    (void)graph;
}

HOT bool device_is_host_accessible(void)
{
    return true;
}

double device_bytes_taken(void)
{
    return (double)NAN;
}

enum memory_place device_place(void)
{
    return MEMORY_HOST;
}
