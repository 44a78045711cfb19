/* on_device.h: tests of a file that run on one device: AROUND_TESTS(open_device, device_close). */
#ifndef LOCKSTEP_ON_DEVICE_H
#define LOCKSTEP_ON_DEVICE_H

#include "device/device.h"

static inline void open_device(void)
{
    device_open(0, PRECISION_FP32);
}

#endif
