/* Functions shared by synchronous devices. Operations finish before they return, and MPI can access device memory. */
#include "device/device.h"

#include "base/hot.h"
#include "world/world.h"

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
    return world_now();
}

double device_event_seconds(double moment)
{
    return moment;
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
}

void device_clock_sync_end(void)
{
}

double device_clock_error(void)
{
    return 0;
}

bool device_is_host_accessible(void)
{
    return true;
}
