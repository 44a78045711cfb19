/* nccl.cpp: all-reduces of the stand-in (README.md) between processes of one host.
 *
 * The processes share unnamed memory. It belongs to the process that made the unique id; the others open it through /proc,
 * so it disappears with the processes. Each rank has data about itself there, two counters that only this rank writes, and
 * space for one piece of a message; the initial state is zeros. There is no lock that a dead process could hold. A rank
 * whose peer never arrives waits until ncclCommAbort().
 *
 * A nonblocking communicator (config.blocking = 0) behaves like the real one: init, finalize, group end and every
 * all-reduce return ncclInProgress and continue in a thread, until ncclCommGetAsyncError() returns another state. An event
 * recorded before that does not cover the operation. */
#include "include/nccl.h"
#include "stand_in.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <random>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace stand_in
{

constexpr size_t PIECE = size_t(1) << 20; /* bytes of a message that are summed at once */
constexpr size_t PAGE_BYTES = 4096;

/* Contents of the 128 bytes of a unique id. */
struct identity {
    pid_t process;
    int descriptor; /* in that process */
    uint64_t token; /* detects other memory with the same process and descriptor */
};

enum seat_state : int { SEAT_EMPTY, SEAT_TAKEN, SEAT_READY };

struct alignas(64) seat {
    std::atomic<int> state;
    ncclResult_t failed; /* why this rank cannot take part */
    char host[160];
    char bus[16];
    size_t bytes;                /* size of the current message */
    std::atomic<uint64_t> given; /* pieces that this rank has provided */
    std::atomic<uint64_t> taken; /* pieces that this rank has summed */
};

struct alignas(64) table {
    uint64_t token;
    std::atomic<int> ranks;
};

struct communicator {
    ~communicator();

    int rank = 0, ranks = 0, device = 0;
    bool blocking = true;
    std::atomic<ncclResult_t> state{ ncclInProgress };
    std::atomic<bool> aborted{ false };
    std::atomic<int> busy{ 0 }; /* threads and stream operations that use the communicator */
    std::atomic<uint64_t> turn{ 0 };
    uint64_t issued = 0; /* all-reduces run in the order in which they were issued */
    uint64_t piece = 0;  /* number of pieces of all messages so far */
    char *memory = nullptr;
    size_t bytes = 0;
};

communicator::~communicator()
{
    if (memory)
        munmap(memory, bytes);
}

} // namespace stand_in

struct ncclComm {
    std::shared_ptr<stand_in::communicator> it;
};

namespace stand_in
{

static std::mutex text_lock;
static char last_text[512];

static ncclResult_t refuse(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
static ncclResult_t refuse(ncclResult_t result, const char *format, ...)
{
    std::lock_guard<std::mutex> hold(text_lock);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_text, sizeof last_text, format, arguments);
    va_end(arguments);
    return result;
}

/* ---- the memory between the ranks */

static table *table_of(const communicator &c)
{
    return reinterpret_cast<table *>(c.memory);
}

static seat &seat_of(const communicator &c, int rank)
{
    return reinterpret_cast<seat *>(c.memory + sizeof(table))[rank];
}

static size_t rooms_begin(int ranks)
{
    const size_t seats = sizeof(table) + static_cast<size_t>(ranks) * sizeof(seat);
    return (seats + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static char *room_of(const communicator &c, int rank)
{
    return c.memory + rooms_begin(c.ranks) + static_cast<size_t>(rank) * PIECE;
}

/* Descriptors of the ids that this process made. */
static std::mutex made_lock;
static std::map<uint64_t, int> &made()
{
    static auto *const one = new std::map<uint64_t, int>;
    return *one;
}

static ncclResult_t identity_make(identity *id)
{
    std::random_device random;
    *id = identity{ getpid(), memfd_create("nccl stand-in", MFD_CLOEXEC), uint64_t(random()) << 32 | random() };
    if (id->descriptor < 0 || pwrite(id->descriptor, &id->token, sizeof id->token, 0) != sizeof id->token)
        return refuse(ncclSystemError, "no memory to share between ranks");
    std::lock_guard<std::mutex> hold(made_lock);
    made()[id->token] = id->descriptor;
    return ncclSuccess;
}

/* Close the descriptor in the process that made the id, after all ranks have opened the memory. */
static void identity_close(const identity &id)
{
    std::lock_guard<std::mutex> hold(made_lock);
    const auto found = made().find(id.token);
    if (found == made().end() || id.process != getpid())
        return;
    close(found->second);
    made().erase(found);
}

static ncclResult_t memory_open(communicator *c, const identity &id)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", id.process, id.descriptor);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    uint64_t token = 0;
    if (file < 0 || pread(file, &token, sizeof token, 0) != sizeof token || token != id.token) {
        if (file >= 0)
            close(file);
        return refuse(ncclSystemError, "process %d, which made the unique id, is gone", id.process);
    }
    c->bytes = rooms_begin(c->ranks) + static_cast<size_t>(c->ranks) * PIECE;
    struct stat now;
    /* Never shrink the memory. If ranks disagree about their number, seat_take() reports it. */
    const bool fits = fstat(file, &now) == 0 && (static_cast<size_t>(now.st_size) >= c->bytes ||
                                                 ftruncate(file, static_cast<off_t>(c->bytes)) == 0);
    void *memory = fits ? mmap(nullptr, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    if (memory == MAP_FAILED)
        return refuse(ncclSystemError, "no memory to share between %d ranks", c->ranks);
    c->memory = static_cast<char *>(memory);
    return ncclSuccess;
}

/* Wait for a condition, first polling often, then with sleeps. Return false if the communicator is aborted. */
template <typename Condition> static bool wait_until(const communicator &c, Condition condition)
{
    for (int looks = 0; !condition(); looks++) {
        if (c.aborted)
            return false;
        if (looks < 20)
            sched_yield();
        else
            usleep(50);
    }
    return !c.aborted;
}

/* ---- init */

static void line_read(const char *path, char *line, size_t size)
{
    line[0] = '\0';
    if (FILE *file = fopen(path, "r")) {
        if (!fgets(line, static_cast<int>(size), file))
            line[0] = '\0';
        fclose(file);
    }
}

/* Write a name that is unique per host. */
static void host_name(char *name, size_t size)
{
    if (const char *given = getenv("NCCL_HOSTID")) {
        snprintf(name, size, "%s", given);
        return;
    }
    char host[65] = "", boot[64];
    gethostname(host, sizeof host - 1);
    line_read("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    snprintf(name, size, "%s %s", host, boot);
}

static ncclResult_t seat_take(communicator *c, ncclResult_t failed)
{
    int counted = 0;
    if (!table_of(*c)->ranks.compare_exchange_strong(counted, c->ranks) && counted != c->ranks)
        return refuse(ncclInvalidArgument, "rank %d counts %d ranks, another one %d", c->rank, c->ranks, counted);
    seat &mine = seat_of(*c, c->rank);
    int empty = SEAT_EMPTY;
    if (!mine.state.compare_exchange_strong(empty, SEAT_TAKEN))
        return refuse(ncclInvalidUsage, "there are two ranks %d", c->rank);
    mine.failed = failed;
    host_name(mine.host, sizeof mine.host);
    if (!failed)
        cudaDeviceGetPCIBusId(mine.bus, sizeof mine.bus, c->device);
    mine.state = SEAT_READY;
    return ncclSuccess;
}

/* Return the bus id as NCCL prints it: "0000:01:00.0" gives 1000. */
static unsigned long bus_number(const char *bus)
{
    std::string digits;
    for (; *bus; bus++)
        if (*bus != ':' && *bus != '.')
            digits += *bus;
    return strtoul(digits.c_str(), nullptr, 16);
}

/* Check all ranks on every rank, so that all get the same result. (The real library checks only its own pairs.) */
static ncclResult_t seats_check(const communicator &c)
{
    for (int i = 0; i < c.ranks; i++)
        if (seat_of(c, i).failed)
            return refuse(ncclRemoteError, "rank %d could not take part: %s", i,
                          ncclGetErrorString(seat_of(c, i).failed));
    for (int i = 0; i < c.ranks; i++)
        for (int j = i + 1; j < c.ranks; j++) {
            const seat &one = seat_of(c, i), &other = seat_of(c, j);
            if (strcmp(one.host, other.host) == 0 && strcmp(one.bus, other.bus) == 0)
                return refuse(ncclInvalidUsage, "Duplicate GPU detected : rank %d and rank %d both on CUDA device %lx",
                              i, j, bus_number(one.bus));
        }
    return ncclSuccess;
}

/* Join the communicator. A rank without a device informs the others and fails. */
static ncclResult_t init_run(communicator *c, const identity &id, cudaError_t device)
{
    const ncclResult_t failed = device ? ncclUnhandledCudaError : ncclSuccess;
    if (ncclResult_t result = memory_open(c, id))
        return failed ? refuse(failed, "Cuda failure '%s'", cudaGetErrorString(device)) : result;
    if (ncclResult_t result = seat_take(c, failed))
        return result;
    if (failed)
        return refuse(failed, "Cuda failure %d '%s'", device, cudaGetErrorString(device));
    for (int i = 0; i < c->ranks; i++)
        if (!wait_until(*c, [&] { return seat_of(*c, i).state == SEAT_READY; }))
            return refuse(ncclInternalError, "aborted while rank %d had not come", i);
    identity_close(id);
    return seats_check(*c);
}

/* ---- all-reduce */

static float wide(uint16_t x)
{
    return bits_as<float>(uint32_t(x) << 16);
}

static uint16_t narrow(float x)
{
    const uint32_t bits = bits_as<uint32_t>(x);
    if (x != x)
        return 0x7fff;
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void sum_into(float *sum, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += x[i];
}

static void sum_into(double *sum, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += x[i];
}

/* Add bf16 numbers, rounding every sum to the nearest, ties to even. */
static void sum_into(uint16_t *sum, const uint16_t *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] = narrow(wide(sum[i]) + wide(x[i]));
}

struct message {
    const char *from;
    char *to;
    size_t bytes;
    ncclDataType_t type;
};

static size_t size_of(ncclDataType_t type)
{
    switch (type) {
    case ncclFloat32:
        return sizeof(float);
    case ncclFloat64:
        return sizeof(double);
    case ncclBfloat16:
        return sizeof(uint16_t);
    default:
        return 0;
    }
}

template <typename T> static void rooms_sum(const communicator &c, char *to, size_t bytes)
{
    T *sum = reinterpret_cast<T *>(to);
    memcpy(sum, room_of(c, 0), bytes);
    for (int rank = 1; rank < c.ranks; rank++)
        sum_into(sum, reinterpret_cast<const T *>(room_of(c, rank)), bytes / sizeof(T));
}

/* Sum a piece in rank order, so that all ranks get the same bits. */
static void piece_sum(const communicator &c, char *to, size_t bytes, ncclDataType_t type)
{
    if (type == ncclFloat32)
        rooms_sum<float>(c, to, bytes);
    else if (type == ncclFloat64)
        rooms_sum<double>(c, to, bytes);
    else
        rooms_sum<uint16_t>(c, to, bytes);
}

static bool piece_run(communicator *c, const message &m, size_t at)
{
    const size_t bytes = std::min(PIECE, m.bytes - at);
    seat &mine = seat_of(*c, c->rank);
    for (int rank = 0; rank < c->ranks; rank++) /* wait until all ranks have summed my last piece */
        if (!wait_until(*c, [&] { return seat_of(*c, rank).taken >= c->piece; }))
            return false;
    mine.bytes = m.bytes;
    memcpy(room_of(*c, c->rank), m.from + at, bytes);
    mine.given = c->piece + 1;
    for (int rank = 0; rank < c->ranks; rank++) {
        if (!wait_until(*c, [&] { return seat_of(*c, rank).given > c->piece; }))
            return false;
        if (seat_of(*c, rank).bytes != m.bytes)
            fail("NCCL: rank %d sums %zu bytes while rank %d sums %zu", c->rank, m.bytes, rank,
                 seat_of(*c, rank).bytes);
    }
    piece_sum(*c, m.to + at, bytes, m.type);
    mine.taken = ++c->piece;
    return true;
}

/* Run an all-reduce; called in a stream's thread. */
static void message_run(communicator *c, const message &m, uint64_t turn)
{
    bool goes_on = wait_until(*c, [&] { return c->turn == turn; });
    for (size_t at = 0; goes_on && at < m.bytes; at += PIECE)
        goes_on = piece_run(c, m, at);
    c->turn++;
    c->busy--;
}

static ncclResult_t message_queue(const std::shared_ptr<communicator> &c, const message &m, cudaStream_t stream)
{
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(c->device);
    c->busy++;
    const cudaError_t error = stream_queue(stream, [c, m, turn = c->issued++] { message_run(c.get(), m, turn); });
    cudaSetDevice(before);
    if (!error)
        return ncclSuccess;
    c->busy--;
    c->turn++;
    return refuse(ncclUnhandledCudaError, "Cuda failure %d '%s'", error, cudaGetErrorString(error));
}

/* ---- groups, and operations that continue in a thread */

using launch_list = std::vector<std::pair<std::shared_ptr<communicator>, std::function<ncclResult_t()>>>;

static thread_local int group_depth;
static thread_local launch_list group_launches;
static thread_local std::vector<std::shared_ptr<communicator>> group_inits;

/* Start a thread with all signals blocked, so that the program's own threads get them. */
static void thread_start(std::function<void()> work)
{
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    std::thread(std::move(work)).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/* Continue in a thread. It sets the state before it decrements `busy`, so a caller that waits for `busy` sees the final
 * state. */
static void goes_on(const std::shared_ptr<communicator> &c, std::function<ncclResult_t()> work)
{
    c->state = ncclInProgress;
    c->busy++;
    thread_start([c, work = std::move(work)] {
        c->state = work();
        c->busy--;
    });
}

/* Launch with a delay, like the real library, so that callers that do not wait fail. */
static ncclResult_t launch_late(const std::function<ncclResult_t()> &launch)
{
    usleep(200);
    return launch();
}

static ncclResult_t launches_run(launch_list launches)
{
    ncclResult_t result = ncclSuccess;
    std::map<std::shared_ptr<communicator>, std::vector<std::function<ncclResult_t()>>> late;
    for (auto &launch : launches) {
        if (!launch.first->blocking)
            late[launch.first].push_back(std::move(launch.second));
        else if (ncclResult_t failed = launch.second())
            result = failed;
    }
    for (auto &entry : late) {
        goes_on(entry.first, [parts = std::move(entry.second)] {
            for (const auto &part : parts)
                if (ncclResult_t failed = launch_late(part))
                    return failed;
            return ncclSuccess;
        });
        result = result ? result : ncclInProgress;
    }
    return result;
}

static ncclResult_t group_end()
{
    ncclResult_t result = launches_run(std::move(group_launches));
    group_launches.clear();
    for (const auto &c : group_inits) {
        if (c->blocking)
            wait_until(*c, [&] { return c->state != ncclInProgress; });
        result = result && result != ncclInProgress ? result : c->state.load();
    }
    group_inits.clear();
    return result;
}

/* Return an error if the communicator cannot be used now. Every function checks this first. */
static ncclResult_t usable(ncclComm_t comm)
{
    if (!comm)
        return refuse(ncclInvalidArgument, "the communicator is NULL");
    const ncclResult_t state = comm->it->state;
    if (state == ncclInProgress)
        return refuse(ncclInvalidArgument,
                      "Attempt to use communicator before the previous operation returned ncclSuccess");
    return state;
}

static void quiet(const std::shared_ptr<communicator> &c)
{
    while (c->busy)
        usleep(50);
}

static ncclResult_t init(ncclComm_t *comm, int ranks, const ncclUniqueId &unique, int rank, bool blocking)
{
    if (!comm || ranks < 1 || rank < 0 || rank >= ranks)
        return refuse(ncclInvalidArgument, "rank %d of %d", rank, ranks);
    identity id;
    memcpy(&id, unique.internal, sizeof id);
    auto c = std::make_shared<communicator>();
    c->rank = rank;
    c->ranks = ranks;
    c->blocking = blocking;
    const cudaError_t device = cudaGetDevice(&c->device);
    *comm = new ncclComm{ c };
    if (!device && (!blocking || group_depth)) {
        goes_on(c, [held = c.get(), id, device] { return init_run(held, id, device); });
        if (group_depth)
            group_inits.push_back(c);
        return group_depth ? ncclSuccess : ncclInProgress;
    }
    c->state = init_run(c.get(), id, device);
    if (c->state == ncclSuccess)
        return ncclSuccess;
    delete *comm;
    *comm = nullptr;
    return c->state;
}

} // namespace stand_in

/* ---- the interface */

using namespace stand_in;

ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
    static_assert(sizeof(identity) <= NCCL_UNIQUE_ID_BYTES);
    identity id;
    memset(uniqueId, 0, sizeof *uniqueId);
    const ncclResult_t result = identity_make(&id);
    memcpy(uniqueId->internal, &id, sizeof id);
    return result;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank)
{
    return init(comm, nranks, commId, rank, true);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t *config)
{
    if (config && (config->magic != NCCL_CONFIG_MAGIC || config->size != sizeof *config))
        return refuse(ncclInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    return init(comm, nranks, commId, rank, !config || config->blocking != 0);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    if (ncclResult_t result = usable(comm))
        return result;
    const std::shared_ptr<communicator> c = comm->it;
    if (c->blocking) {
        quiet(c);
        return ncclSuccess;
    }
    /* This thread itself counts as 1. */
    goes_on(c, [held = c.get()] {
        wait_until(*held, [&] { return held->busy == 1; });
        return ncclSuccess;
    });
    return ncclInProgress;
}

/* Waits for issued operations, like the real function for a communicator that was not finalized. */
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (!comm)
        return ncclSuccess;
    quiet(comm->it);
    delete comm;
    return ncclSuccess;
}

/* Running operations stop at once; queued operations do nothing when their stream reaches them. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (!comm)
        return ncclSuccess;
    comm->it->aborted = true;
    delete comm;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess:
        return "no error";
    case ncclUnhandledCudaError:
        return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
        return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
        return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
        return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
        return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
        return "remote process exited or there was a network error";
    case ncclInProgress:
        return "NCCL operation in progress";
    default:
        return "unknown result code";
    }
}

/* Return the last error of this process, from any communicator. */
const char *ncclGetLastError(ncclComm_t)
{
    static thread_local char copy[sizeof last_text];
    std::lock_guard<std::mutex> hold(text_lock);
    memcpy(copy, last_text, sizeof copy);
    return copy;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
    if (!comm || !asyncError)
        return refuse(ncclInvalidArgument, "ncclCommGetAsyncError of NULL");
    *asyncError = comm->it->state;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    if (ncclResult_t result = usable(comm))
        return result;
    *count = comm->it->ranks;
    return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    if (ncclResult_t result = usable(comm))
        return result;
    *device = comm->it->device;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    if (ncclResult_t result = usable(comm))
        return result;
    *rank = comm->it->rank;
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    if (ncclResult_t result = usable(comm))
        return result;
    const size_t size = size_of(datatype);
    if (op != ncclSum || size == 0)
        return refuse(ncclInvalidArgument, "the stand-in sums floats, doubles and bfloat16");
    if (count && (!memory_is_device(sendbuff, count * size) || !memory_is_device(recvbuff, count * size)))
        return refuse(ncclInvalidArgument, "a buffer of an all-reduce does not lie within device memory");
    const message m = { static_cast<const char *>(sendbuff), static_cast<char *>(recvbuff), count * size, datatype };
    const std::shared_ptr<communicator> c = comm->it;
    launch_list one;
    launch_list &list = group_depth ? group_launches : one;
    list.emplace_back(c, [c, m, stream] { return message_queue(c, m, stream); });
    return group_depth ? ncclSuccess : launches_run(std::move(one));
}

ncclResult_t ncclGroupStart(void)
{
    group_depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (group_depth == 0)
        return refuse(ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
    return --group_depth ? ncclSuccess : group_end();
}
