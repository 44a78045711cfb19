/* runtime.cpp: devices, streams, events and memory of the stand-in (README.md).
 *
 * A stream is a queue with its own thread, so that its work is really asynchronous to the host. Code that forgets to wait
 * reads old data. All state has one lock and one condition variable, for simplicity. */
#include "stand_in.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes)   ((void)(memory), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#endif

/* Operations that a stream captured instead of running them, in their order: a graph without branches. */
struct CUgraph_st {
    std::vector<std::function<void()>> operations;
};

struct CUgraphExec_st {
    int device;
    std::shared_ptr<const CUgraph_st> graph; /* launches share it, so that it outlives its handle */
};

/* A capture that has begun. */
struct capture {
    CUgraph_st graph;
    std::thread::id thread; /* which began it */
    bool is_invalid;        /* a call that must not be in a capture */
};

/* Queued operations of a stream, and how many are done. */
struct CUstream_st {
    int device;
    std::deque<std::function<void()>> operations;
    uint64_t queued, done;
    bool started, closing;
    std::unique_ptr<capture> capturing; /* NULL: operations run */
};

/* One call of cudaEventRecord(). Waiting operations share it, so that it outlives the event. */
struct recorded {
    bool done;
    double at; /* ms */
};

struct CUevent_st {
    int device;
    unsigned int flags;
    std::shared_ptr<recorded> last;
};

namespace stand_in
{

constexpr size_t MEMORY = size_t(4) << 30; /* bytes per device */
constexpr size_t GUARD = 256;              /* bytes before, and at least as many after, every allocation */
constexpr unsigned char GUARD_BYTE = 0xab;
constexpr unsigned char POISON = 0xff; /* so that uninitialized floats are NaN */

struct allocation {
    size_t bytes;  /* requested */
    size_t mapped; /* including guards */
    int device;
};

struct state {
    std::mutex lock;
    std::condition_variable changed;
    std::map<cudaStream_t, std::shared_ptr<CUstream_st>> streams;
    std::map<int, cudaStream_t> default_streams;    /* by device */
    std::map<const char *, allocation> allocations; /* device memory, by address */
    std::map<void *, size_t> host_allocations;
};

/* Return the state. It is never destroyed, since streams may still run while the process exits. */
static state &all()
{
    static state *const one = new state();
    return *one;
}

static thread_local int device_now;
static thread_local cudaError_t last_error;
static thread_local bool in_host_function;

static cudaError_t report(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

/* ---- devices */

/* Return the devices of LOCKSTEP_CUDA_DEVICES that CUDA_VISIBLE_DEVICES selects. */
static const std::vector<int> &devices_visible()
{
    static const std::vector<int> *const visible = [] {
        auto *list = new std::vector<int>;
        const int count = static_cast<int>(number_of("LOCKSTEP_CUDA_DEVICES", 1));
        const char *text = getenv("CUDA_VISIBLE_DEVICES");
        for (int i = 0; !text && i < count; i++)
            list->push_back(i);
        while (text && *text) {
            char *end;
            const long device = strtol(text, &end, 10);
            if (end == text || device < 0 || device >= count)
                break;
            list->push_back(static_cast<int>(device));
            text = *end == ',' ? end + 1 : end;
        }
        return list;
    }();
    return *visible;
}

cudaError_t device_seen()
{
    if (number_of("LOCKSTEP_CUDA_DEVICES", 1) < 0)
        return cudaErrorInsufficientDriver;
    return devices_visible().empty() ? cudaErrorNoDevice : cudaSuccess;
}

int device_number()
{
    return device_now;
}

static int device_bus(int device)
{
    return devices_visible()[static_cast<size_t>(device)] + 1;
}

static bool device_exists(int device)
{
    return device >= 0 && static_cast<size_t>(device) < devices_visible().size();
}

static std::string address_of(int device)
{
    char text[32];
    snprintf(text, sizeof text, "0000:%02x:00.0", static_cast<unsigned int>(device_bus(device)));
    return text;
}

std::string device_address()
{
    return address_of(device_now);
}

/* Return an error if there is no device, or if this thread must not call the runtime. Every function checks this first. */
static cudaError_t may_call()
{
    return in_host_function ? cudaErrorNotPermitted : device_seen();
}

/* ---- streams */

static void operation_run(const std::function<void()> &operation)
{
    static const long delay = number_of("LOCKSTEP_CUDA_DELAY_US", 0);
    if (delay > 0)
        usleep(static_cast<useconds_t>(delay));
    operation();
}

static void stream_work(std::shared_ptr<CUstream_st> stream)
{
    std::unique_lock<std::mutex> hold(all().lock);
    for (;;) {
        all().changed.wait(hold, [&] { return stream->closing || !stream->operations.empty(); });
        if (stream->operations.empty())
            return;
        std::function<void()> operation = std::move(stream->operations.front());
        stream->operations.pop_front();
        hold.unlock();
        operation_run(operation);
        operation = nullptr; /* free what it captured, without the lock */
        hold.lock();
        stream->done++;
        all().changed.notify_all();
    }
}

/* Start the stream's thread with all signals blocked, so that the program's own threads get them. */
static void stream_start(const std::shared_ptr<CUstream_st> &stream)
{
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    std::thread(stream_work, stream).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    stream->started = true;
}

static cudaStream_t stream_new(int device)
{
    auto stream = std::make_shared<CUstream_st>();
    stream->device = device;
    all().streams[stream.get()] = stream;
    return stream.get();
}

/* Return a stream, or NULL; the caller holds the lock. The default stream is an ordinary stream that waits for no other. */
static std::shared_ptr<CUstream_st> stream_find(cudaStream_t stream)
{
    if (!stream) {
        cudaStream_t &standard = all().default_streams[device_now];
        if (!standard)
            standard = stream_new(device_now);
        stream = standard;
    }
    auto found = all().streams.find(stream);
    return found == all().streams.end() ? nullptr : found->second;
}

static void stream_add(const std::shared_ptr<CUstream_st> &stream, std::function<void()> operation)
{
    stream->operations.push_back(std::move(operation));
    stream->queued++;
    if (!stream->started)
        stream_start(stream);
    all().changed.notify_all();
}

/* Wait until everything queued so far is done. Releases the lock meanwhile. */
static void stream_wait(const std::shared_ptr<CUstream_st> &stream, std::unique_lock<std::mutex> &hold)
{
    const uint64_t until = stream->queued;
    all().changed.wait(hold, [&] { return stream->done >= until; });
}

static void streams_wait(std::unique_lock<std::mutex> &hold)
{
    const auto streams = all().streams;
    for (const auto &entry : streams)
        stream_wait(entry.second, hold);
}

/* Refuse a call that waits, or that reads events of the stream: nothing of a capture runs. The capture is lost. */
static cudaError_t capture_refuse(CUstream_st &stream)
{
    stream.capturing->is_invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

/* Return an error if a capture of this thread forbids it to allocate or to wait for everything. The caller holds the lock. */
static cudaError_t captures_allow()
{
    for (const auto &entry : all().streams) {
        const auto &c = entry.second->capturing;
        if (c && c->thread == std::this_thread::get_id())
            return capture_refuse(*entry.second);
    }
    return cudaSuccess;
}

/* Queue an operation. As in the real runtime, kernels and events need a stream of the current device, copies do not. */
static cudaError_t queue(cudaStream_t stream, bool anywhere, std::function<void()> operation)
{
    if (cudaError_t error = may_call())
        return report(error);
    std::lock_guard<std::mutex> hold(all().lock);
    const std::shared_ptr<CUstream_st> found = stream_find(stream);
    if (!found || (!anywhere && found->device != device_now))
        return report(cudaErrorInvalidResourceHandle);
    if (found->capturing && found->capturing->is_invalid)
        return report(cudaErrorStreamCaptureInvalidated);
    if (found->capturing)
        found->capturing->graph.operations.push_back(std::move(operation));
    else
        stream_add(found, std::move(operation));
    return cudaSuccess;
}

cudaError_t stream_queue(cudaStream_t stream, std::function<void()> operation)
{
    return queue(stream, false, std::move(operation));
}

static double now_ms()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

/* ---- memory */

/* Return the device allocation that contains an address; the caller holds the lock. */
static auto allocation_around(const void *memory)
{
    const char *address = static_cast<const char *>(memory);
    auto next = all().allocations.upper_bound(address);
    if (next == all().allocations.begin())
        return all().allocations.end();
    auto found = std::prev(next);
    return address < found->first + std::max<size_t>(found->second.bytes, 1) ? found : all().allocations.end();
}

static bool within_device(const void *memory, size_t bytes)
{
    const auto found = allocation_around(memory);
    return found != all().allocations.end() &&
           bytes <= found->second.bytes - static_cast<size_t>(static_cast<const char *>(memory) - found->first);
}

static bool outside_device(const void *memory)
{
    return memory && allocation_around(memory) == all().allocations.end();
}

bool memory_is_device(const void *memory, size_t bytes)
{
    std::lock_guard<std::mutex> hold(all().lock);
    return within_device(memory, bytes);
}

static size_t memory_used(int device)
{
    size_t used = 0;
    for (const auto &entry : all().allocations)
        if (entry.second.device == device)
            used += entry.second.mapped;
    return used;
}

/* Check that the guard bytes before and after an allocation are unchanged. */
static void guard_check(const char *memory, const allocation &a)
{
    const size_t behind = a.mapped - GUARD - a.bytes;
    ASAN_UNPOISON_MEMORY_REGION(memory - GUARD, GUARD);
    ASAN_UNPOISON_MEMORY_REGION(memory + a.bytes, behind);
    const auto touched = [](char byte) { return static_cast<unsigned char>(byte) != GUARD_BYTE; };
    if (std::any_of(memory - GUARD, memory, touched))
        fail("something was written before the %zu bytes of device memory at %p", a.bytes,
             static_cast<const void *>(memory));
    const char *end = memory + a.bytes;
    const char *at = std::find_if(end, end + behind, touched);
    if (at != end + behind)
        fail("something was written %td bytes behind the end of the %zu bytes of device memory at %p", at - end,
             a.bytes, static_cast<const void *>(memory));
}

/* Return new device memory; the caller holds the lock. */
static cudaError_t device_memory_new(void **memory, size_t bytes)
{
    const size_t page = 4096;
    const size_t mapped = (bytes + 2 * GUARD + page - 1) / page * page;
    if (bytes > MEMORY || mapped > MEMORY - memory_used(device_now))
        return cudaErrorMemoryAllocation;
    void *base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    ASAN_UNPOISON_MEMORY_REGION(base, mapped); /* an earlier allocation here may have left poison */
    char *const start = static_cast<char *>(base) + GUARD;
    const size_t behind = mapped - GUARD - bytes;
    memset(start - GUARD, GUARD_BYTE, GUARD);
    memset(start, POISON, bytes);
    memset(start + bytes, GUARD_BYTE, behind);
    ASAN_POISON_MEMORY_REGION(start - GUARD, GUARD);
    ASAN_POISON_MEMORY_REGION(start + bytes, behind);
    all().allocations[start] = allocation{ bytes, mapped, device_now };
    *memory = start;
    return cudaSuccess;
}

/* Free device memory without waiting. The real function may wait for work that uses the memory, but need not; code that
 * relies on this accesses unmapped memory here. The caller holds the lock. */
static cudaError_t device_memory_free(void *memory)
{
    const auto found = all().allocations.find(static_cast<const char *>(memory));
    if (found == all().allocations.end())
        return cudaErrorInvalidValue;
    guard_check(found->first, found->second);
    munmap(static_cast<char *>(memory) - GUARD, found->second.mapped);
    all().allocations.erase(found);
    return cudaSuccess;
}

/* True if one side of a copy is in the memory that the call names. */
static bool side_fits(const void *memory, size_t bytes, bool device, bool any)
{
    if (any)
        return within_device(memory, bytes) || outside_device(memory);
    return device ? within_device(memory, bytes) : outside_device(memory);
}

/* Return the bytes from the first to the last byte of a copy of rows. */
static size_t extent(size_t pitch, size_t width, size_t height)
{
    return height ? pitch * (height - 1) + width : 0;
}

struct rows {
    void *to;
    size_t to_pitch;
    const void *from;
    size_t from_pitch;
    size_t width, height;
};

static cudaError_t copy_check(const rows &c, cudaMemcpyKind kind)
{
    const bool any = kind == cudaMemcpyDefault;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (c.width > c.to_pitch || c.width > c.from_pitch)
        return cudaErrorInvalidPitchValue;
    std::lock_guard<std::mutex> hold(all().lock);
    if (!side_fits(c.to, extent(c.to_pitch, c.width, c.height), to_device, any) ||
        !side_fits(c.from, extent(c.from_pitch, c.width, c.height), from_device, any))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* Queue a copy. Host memory, page-locked or not, is accessed only when the stream runs the copy. */
static cudaError_t copy_queue(const rows &c, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (cudaError_t error = may_call())
        return report(error);
    if (c.width && c.height)
        if (cudaError_t error = copy_check(c, kind))
            return report(error);
    return queue(stream, true, [c] {
        for (size_t row = 0; row < c.height; row++)
            memmove(static_cast<char *>(c.to) + row * c.to_pitch,
                    static_cast<const char *>(c.from) + row * c.from_pitch, c.width);
    });
}

/* ---- errors */

static const char *text_of(cudaError_t error)
{
    static const std::map<cudaError_t, const char *> texts = {
        { cudaSuccess, "no error" },
        { cudaErrorInvalidValue, "invalid argument" },
        { cudaErrorMemoryAllocation, "out of memory" },
        { cudaErrorInvalidConfiguration, "invalid configuration argument" },
        { cudaErrorInvalidPitchValue, "invalid pitch argument" },
        { cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy" },
        { cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version" },
        { cudaErrorNoDevice, "no CUDA-capable device is detected" },
        { cudaErrorInvalidDevice, "invalid device ordinal" },
        { cudaErrorInvalidResourceHandle, "invalid resource handle" },
        { cudaErrorNotReady, "device not ready" },
        { cudaErrorNotPermitted, "operation not permitted" },
        { cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing" },
        { cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture" },
        { cudaErrorStreamCaptureUnmatched, "the capture was not initiated in this stream" },
        { cudaErrorStreamCaptureWrongThread,
          "attempt to terminate a thread-local capture sequence from another thread" },
    };
    const auto found = texts.find(error);
    return found == texts.end() ? "unrecognized error code" : found->second;
}

} // namespace stand_in

/* ---- the interface */

using namespace stand_in;

using lock = std::unique_lock<std::mutex>;
using stream_pointer = std::shared_ptr<CUstream_st>;

/* Run a function of the interface, with the lock, if this thread may call it. Keep its error for cudaGetLastError(). */
template <typename Body> static cudaError_t call(Body body)
{
    if (cudaError_t error = may_call())
        return report(error);
    lock hold(all().lock);
    return report(body(hold));
}

/* The same, of a stream that exists. */
template <typename Body> static cudaError_t call_on(cudaStream_t stream, Body body)
{
    return call([&](lock &hold) {
        const stream_pointer found = stream_find(stream);
        return found ? body(found, hold) : cudaErrorInvalidResourceHandle;
    });
}

/* The same, of a stream that does not capture. A call on a stream that captures invalidates its capture. */
template <typename Body> static cudaError_t call_beside_captures(cudaStream_t stream, Body body)
{
    return call_on(stream, [&](const stream_pointer &found, lock &hold) {
        return found->capturing ? capture_refuse(*found) : body(found, hold);
    });
}

/* Delete a handle; NULL is an error. */
template <typename Handle> static cudaError_t destroy(Handle *handle, cudaError_t error_of_null)
{
    if (!handle)
        return report(error_of_null);
    delete handle;
    return report(may_call());
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = static_cast<int>(devices_visible().size());
    return report(may_call());
}

cudaError_t cudaSetDevice(int device)
{
    return call([=](lock &) {
        if (!device_exists(device))
            return cudaErrorInvalidDevice;
        device_now = device;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDevice(int *device)
{
    *device = device_now;
    return report(may_call());
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *prop, int device)
{
    return call([=](lock &) {
        if (!device_exists(device))
            return cudaErrorInvalidDevice;
        *prop = cudaDeviceProp();
        snprintf(prop->name, sizeof prop->name, "stand-in on the CPU");
        prop->major = 9;
        prop->pciBusID = device_bus(device);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    return call([=](lock &) {
        if (!device_exists(device))
            return cudaErrorInvalidDevice;
        const std::string address = address_of(device);
        if (!pciBusId || len <= static_cast<int>(address.size()))
            return cudaErrorInvalidValue;
        memcpy(pciBusId, address.c_str(), address.size() + 1);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize(void)
{
    return call([](lock &hold) {
        const cudaError_t error = captures_allow();
        if (!error)
            streams_wait(hold);
        return error;
    });
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    *driverVersion = number_of("LOCKSTEP_CUDA_DEVICES", 1) < 0 ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return text_of(error);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    return call([=](lock &) {
        if (!pStream || flags > cudaStreamNonBlocking)
            return cudaErrorInvalidValue;
        *pStream = stream_new(device_now);
        return cudaSuccess;
    });
}

/* Queued operations still run; this function does not wait for them. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return call([=](lock &) {
        const auto found = all().streams.find(stream);
        if (found == all().streams.end())
            return cudaErrorInvalidResourceHandle;
        found->second->closing = true;
        all().streams.erase(found);
        all().changed.notify_all();
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return call_beside_captures(stream, [](const stream_pointer &found, lock &hold) {
        stream_wait(found, hold);
        return cudaSuccess;
    });
}

/* Wait a little before the answer "not ready": a caller that polls would take the core that the stream's thread needs. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return call_beside_captures(stream, [](const stream_pointer &found, lock &hold) {
        const bool ready =
            all().changed.wait_for(hold, std::chrono::microseconds(200), [&] { return found->done == found->queued; });
        return ready ? cudaSuccess : cudaErrorNotReady;
    });
}

/* A graph has no other streams: events cannot be part of it. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int)
{
    if (!event)
        return report(cudaErrorInvalidResourceHandle);
    std::shared_ptr<recorded> last;
    {
        std::lock_guard<std::mutex> hold(all().lock);
        const std::shared_ptr<CUstream_st> found = stream_find(stream);
        if (found && found->capturing)
            return report(capture_refuse(*found));
        last = event->last;
    }
    if (!last)
        return report(may_call());
    return queue(stream, true, [last] {
        std::unique_lock<std::mutex> hold(all().lock);
        all().changed.wait(hold, [&] { return last->done; });
    });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    if (!fn)
        return report(cudaErrorInvalidValue);
    return queue(stream, true, [=] {
        in_host_function = true;
        fn(userData);
        in_host_function = false;
    });
}

/* ---- graphs */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    return call_on(stream, [=](const stream_pointer &found, lock &) {
        if (mode != cudaStreamCaptureModeThreadLocal)
            return cudaErrorInvalidValue;
        if (!stream) /* the default stream cannot capture */
            return cudaErrorStreamCaptureUnsupported;
        if (found->capturing)
            return cudaErrorInvalidValue;
        found->capturing.reset(new capture{ {}, std::this_thread::get_id(), false });
        return cudaSuccess;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    *pGraph = nullptr;
    return call_on(stream, [=](const stream_pointer &found, lock &) {
        if (!found->capturing)
            return cudaErrorStreamCaptureUnmatched;
        if (found->capturing->thread != std::this_thread::get_id())
            return cudaErrorStreamCaptureWrongThread;
        const std::unique_ptr<capture> ended = std::move(found->capturing);
        if (ended->is_invalid)
            return cudaErrorStreamCaptureInvalidated;
        *pGraph = new CUgraph_st(std::move(ended->graph));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
    return call([=](lock &) {
        if (!graph || flags)
            return cudaErrorInvalidValue;
        *pGraphExec = new CUgraphExec_st{ device_now, std::make_shared<const CUgraph_st>(*graph) };
        return cudaSuccess;
    });
}

/* Run the operations one after the other, as the stream would. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    if (!graphExec)
        return report(cudaErrorInvalidValue);
    return queue(stream, false, [graph = graphExec->graph] {
        for (const std::function<void()> &operation : graph->operations)
            operation_run(operation);
    });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    return destroy(graphExec, cudaErrorInvalidValue);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return destroy(graph, cudaErrorInvalidValue);
}

/* ---- events */

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    return call([=](lock &) {
        if (!event || (flags & ~static_cast<unsigned int>(cudaEventDisableTiming)))
            return cudaErrorInvalidValue;
        *event = new CUevent_st{ device_now, flags, nullptr };
        return cudaSuccess;
    });
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return destroy(event, cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return call_beside_captures(stream, [=](const stream_pointer &found, lock &) {
        if (!event || found->device != event->device)
            return cudaErrorInvalidResourceHandle;
        const auto last = event->last = std::make_shared<recorded>();
        stream_add(found, [last] {
            std::lock_guard<std::mutex> inner(all().lock);
            last->at = now_ms();
            last->done = true;
        });
        return cudaSuccess;
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return call([=](lock &) {
        if (!event)
            return cudaErrorInvalidResourceHandle;
        return event->last && !event->last->done ? cudaErrorNotReady : cudaSuccess;
    });
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return call([=](lock &) {
        if (!start || !end || !start->last || !end->last || (start->flags | end->flags) & cudaEventDisableTiming)
            return cudaErrorInvalidResourceHandle;
        if (!start->last->done || !end->last->done)
            return cudaErrorNotReady;
        *ms = static_cast<float>(end->last->at - start->last->at);
        return cudaSuccess;
    });
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    return call([=](lock &) {
        if (!devPtr)
            return cudaErrorInvalidValue;
        *devPtr = nullptr;
        const cudaError_t error = captures_allow();
        return error || !size ? error : device_memory_new(devPtr, size);
    });
}

cudaError_t cudaFree(void *devPtr)
{
    return call([=](lock &) {
        const cudaError_t error = captures_allow();
        return error || !devPtr ? error : device_memory_free(devPtr);
    });
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    return call([=](lock &) {
        if (!free || !total)
            return cudaErrorInvalidValue;
        *total = MEMORY;
        *free = MEMORY - memory_used(device_now);
        return cudaSuccess;
    });
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    return call([=](lock &) {
        if (!ptr)
            return cudaErrorInvalidValue;
        *ptr = nullptr;
        const cudaError_t error = captures_allow();
        if (error || size == 0)
            return error;
        if (posix_memalign(ptr, 4096, size))
            return cudaErrorMemoryAllocation;
        memset(*ptr, POISON, size);
        all().host_allocations[*ptr] = size;
        return cudaSuccess;
    });
}

cudaError_t cudaFreeHost(void *ptr)
{
    return call([=](lock &) {
        const cudaError_t error = captures_allow();
        if (error || !ptr)
            return error;
        const auto found = all().host_allocations.find(ptr);
        if (found == all().host_allocations.end())
            return cudaErrorInvalidValue;
        memset(ptr, POISON, found->second);
        all().host_allocations.erase(found);
        free(ptr);
        return cudaSuccess;
    });
}

/* Copy on the default stream and wait. Does not wait for other streams, as if they were all created non-blocking. */
cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, cudaMemcpyKind kind)
{
    const cudaError_t error = cudaMemcpyAsync(dst, src, count, kind, nullptr);
    return error ? error : cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_queue(rows{ dst, count, src, count, count, 1 }, kind, stream);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_queue(rows{ dst, dpitch, src, spitch, width, height }, kind, stream);
}

/* Does not wait, like the real function. */
cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
    return cudaMemsetAsync(devPtr, value, count, nullptr);
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    if (cudaError_t error = may_call())
        return report(error);
    if (count && !memory_is_device(devPtr, count))
        return report(cudaErrorInvalidValue);
    return queue(stream, true, [=] { memset(devPtr, value, count); });
}
