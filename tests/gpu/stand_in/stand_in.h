/* stand_in: what the stand-in's own files share (README.md). */
#ifndef STAND_IN_H
#define STAND_IN_H

#include "cuda_runtime.h"

#include <functional>
#include <string>

namespace stand_in
{

/* One line on standard error, and the end of the process: for what no error code of the real library would tell. */
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A whole number from the environment. */
long number_of(const char *variable, long otherwise);

/* ---- launch.cpp */

/* Runs every thread of a grid, in the calling thread. */
void grid_run(dim3 grid, dim3 block, const std::function<void()> &thread);

/* "a kernel of grid (2,1,1), block (256,1,1)" */
std::string launch_name(dim3 grid, dim3 block);

/* ---- runtime.cpp */

/* Queues an operation, for a stream's own thread. The error is the runtime's, and cudaGetLastError() has it. */
cudaError_t stream_queue(cudaStream_t stream, std::function<void()> operation);

/* Whether this process sees a device, and why not. */
cudaError_t device_seen();

/* Whether `bytes` from `memory` on lie within one allocation of the device. */
bool memory_is_device(const void *memory, size_t bytes);

/* "0000:01:00.0" of the calling thread's device, and its number. */
std::string device_address();
int device_number();

} // namespace stand_in

#endif
