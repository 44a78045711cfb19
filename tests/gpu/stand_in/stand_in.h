/* stand_in.h: functions shared by the files of the stand-in (README.md). */
#ifndef STAND_IN_H
#define STAND_IN_H

#include "cuda_runtime.h"

#include <functional>
#include <string>

namespace stand_in
{

/* Print one line on standard error and end the process. For mistakes that the real library does not report. */
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return a whole number from the environment, or `otherwise`. */
long number_of(const char *variable, long otherwise);

/* ---- launch.cpp */

/* Run every thread of a grid, in the calling thread. */
void grid_run(dim3 grid, dim3 block, const std::function<void()> &thread);

/* Return "a kernel of grid (2,1,1), block (256,1,1)". */
std::string launch_name(dim3 grid, dim3 block);

/* ---- runtime.cpp */

/* Queue an operation for the stream's thread. Return an error of the runtime, which is also that of cudaGetLastError(). */
cudaError_t stream_queue(cudaStream_t stream, std::function<void()> operation);

/* Return cudaSuccess if this process sees a device, else the reason. */
cudaError_t device_seen();

/* True if `bytes` bytes at `memory` are within one allocation of the device. */
bool memory_is_device(const void *memory, size_t bytes);

/* Return the address ("0000:01:00.0") and the number of the calling thread's device. */
std::string device_address();
int device_number();

} // namespace stand_in

#endif
