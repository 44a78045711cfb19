/* nccl.cpp: collectives and messages of the stand-in (README.md) between processes of one host.
 *
 * The processes share unnamed memory. It belongs to the process that made the unique id; the others open it through /proc,
 * so it disappears with the processes. Each rank has data about itself there. Each rank also has a room that all ranks read, for
 * collectives, and a room per rank that only this rank reads, for messages. A room holds one piece and counts the pieces given
 * and taken; the initial state is zeros. There is no lock that a dead process could hold. A rank whose peer never arrives waits
 * until ncclCommAbort().
 *
 * A nonblocking communicator (config.blocking = 0) behaves like the real one: init, finalize, group end and every operation
 * outside of a group return ncclInProgress and continue in a thread, until ncclCommGetAsyncError() returns another state. An
 * event recorded before that does not cover the operation. */
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
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace stand_in
{

constexpr size_t PIECE = size_t(1) << 20; /* bytes that a rank gives at once */
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
};

enum kind : int { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, MESSAGE };

static const char *const kind_names[] = { "all-reduce", "all-gather", "reduce-scatter", "broadcast", "message" };

/* Properties on which all ranks of an operation must agree. */
struct label {
    enum kind kind;
    int root;     /* of a broadcast, else 0 */
    size_t bytes; /* that a rank gives; in a broadcast, the root */
    ncclDataType_t type;
    ncclRedOp_t sum;
};

struct alignas(PAGE_BYTES) room {
    std::atomic<uint64_t> given; /* pieces, counted by the rank that gives */
    std::atomic<uint64_t> taken; /* pieces, counted by all ranks that take */
    struct label label;          /* of the piece, which may be empty */
    alignas(PAGE_BYTES) char piece[PIECE];
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
    uint64_t issued = 0; /* batches run in the order in which they were issued */
    uint64_t piece = 0;  /* pieces of all collectives so far */
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

/* Return the room for pieces from one rank to another; `to` = EVERY: to all ranks. */
enum { EVERY = -1 };
static room &room_of(const communicator &c, int from, int to)
{
    const size_t index = static_cast<size_t>(from) * (static_cast<size_t>(c.ranks) + 1) + static_cast<size_t>(to + 1);
    return reinterpret_cast<room *>(c.memory + rooms_begin(c.ranks))[index];
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
    c->bytes =
        rooms_begin(c->ranks) + static_cast<size_t>(c->ranks) * (static_cast<size_t>(c->ranks) + 1) * sizeof(room);
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

/* ---- sums */

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

/* Sum bytes from `at` on of all ranks' pieces. */
template <typename T> static void rooms_sum(const communicator &c, char *to, size_t at, size_t bytes)
{
    T *sum = reinterpret_cast<T *>(to);
    memcpy(sum, room_of(c, 0, EVERY).piece + at, bytes);
    for (int rank = 1; rank < c.ranks; rank++)
        sum_into(sum, reinterpret_cast<const T *>(room_of(c, rank, EVERY).piece + at), bytes / sizeof(T));
}

/* Sum in rank order, so that all ranks get the same bits. */
static void pieces_sum(const communicator &c, char *to, size_t at, size_t bytes, ncclDataType_t type)
{
    if (type == ncclFloat32)
        rooms_sum<float>(c, to, at, bytes);
    else if (type == ncclFloat64)
        rooms_sum<double>(c, to, at, bytes);
    else
        rooms_sum<uint16_t>(c, to, at, bytes);
}

/* ---- operations: collectives, and the two ends of a message */

struct operation {
    struct label label;
    int peer;          /* of a message; EVERY: a collective */
    bool gives, takes; /* this rank gives bytes; takes bytes */
    const char *send;
    char *receive;
    size_t given, taken;
};

/* Give the next piece, if the ranks have taken the last one. In a collective, a rank without bytes gives its label. */
static bool piece_give(const communicator &c, operation *o)
{
    room &mine = room_of(c, c.rank, o->peer);
    const uint64_t readers = o->peer == EVERY ? static_cast<uint64_t>(c.ranks) : 1;
    if ((o->peer != EVERY && !o->gives) || o->given == o->label.bytes || mine.taken != readers * mine.given)
        return false;
    const size_t bytes = std::min(PIECE, o->label.bytes - o->given);
    mine.label = o->label;
    if (o->gives)
        memcpy(mine.piece, o->send + o->given, bytes);
    o->given += bytes;
    mine.given++;
    return true;
}

static void label_check(const communicator &c, const label &mine, int rank, const label &other)
{
    if (mine.kind != other.kind || mine.root != other.root || mine.bytes != other.bytes || mine.type != other.type)
        fail("NCCL: rank %d: %s of %zu bytes, type %d, root %d; but rank %d: %s of %zu bytes, type %d, root %d", c.rank,
             kind_names[mine.kind], mine.bytes, mine.type, mine.root, rank, kind_names[other.kind], other.bytes,
             other.type, other.root);
}

/* Copy or sum a piece, which all ranks concerned have given. */
static void piece_use(const communicator &c, const operation &o, size_t bytes)
{
    const size_t all = o.label.bytes, at = o.taken;
    switch (o.label.kind) {
    case ALL_REDUCE:
        pieces_sum(c, o.receive + at, 0, bytes, o.label.type);
        break;
    case REDUCE_SCATTER: { /* the share of this rank's part in the piece */
        const size_t part = all / static_cast<size_t>(c.ranks), first = static_cast<size_t>(c.rank) * part;
        const size_t begin = std::max(at, first), end = std::min(at + bytes, first + part);
        if (begin < end)
            pieces_sum(c, o.receive + (begin - first), begin - at, end - begin, o.label.type);
        break;
    }
    case ALL_GATHER:
        for (int rank = 0; rank < c.ranks; rank++)
            memcpy(o.receive + static_cast<size_t>(rank) * all + at, room_of(c, rank, EVERY).piece, bytes);
        break;
    case BROADCAST:
        memcpy(o.receive + at, room_of(c, o.label.root, EVERY).piece, bytes);
        break;
    case MESSAGE:
        memcpy(o.receive + at, room_of(c, o.peer, c.rank).piece, bytes);
        break;
    }
}

/* Take the next piece, if all ranks concerned have given theirs. */
static bool piece_take(communicator *c, operation *o)
{
    if (!o->takes || o->taken == o->label.bytes)
        return false;
    const bool is_message = o->label.kind == MESSAGE;
    const int to = is_message ? c->rank : EVERY, first = is_message ? o->peer : 0,
              last = is_message ? o->peer : c->ranks - 1;
    for (int from = first; from <= last; from++) {
        const room &other = room_of(*c, from, to);
        if (other.given == (is_message ? other.taken.load() : c->piece))
            return false;
        label_check(*c, o->label, from, other.label);
    }
    const size_t bytes = std::min(PIECE, o->label.bytes - o->taken);
    piece_use(*c, *o, bytes);
    for (int from = first; from <= last; from++)
        room_of(*c, from, to).taken++;
    c->piece += is_message ? 0 : 1;
    o->taken += bytes;
    return true;
}

/* A message that is sent ends when it was received, so that a program fails which relies on buffers of the library. */
static bool is_done(const communicator &c, const operation &o)
{
    if (o.takes)
        return o.taken == o.label.bytes;
    const room &mine = room_of(c, c.rank, o.peer);
    return o.given == o.label.bytes && mine.taken == mine.given;
}

/* Return a number that operations share which must run one after another: collectives, messages to a rank, messages from it. */
static int lane_of(const operation &o)
{
    return o.peer == EVERY ? 0 : o.takes ? -1 - o.peer : 1 + o.peer;
}

/* Give and take what is possible now, and drop the operations that are done. Return false if nothing was possible. */
static bool operations_advance(communicator *c, std::vector<operation> *operations)
{
    bool moved = false;
    std::set<int> lanes;
    for (operation &o : *operations)
        if (lanes.insert(lane_of(o)).second) {
            moved |= piece_give(*c, &o);
            moved |= piece_take(c, &o);
        }
    const auto done =
        std::remove_if(operations->begin(), operations->end(), [&](const operation &o) { return is_done(*c, o); });
    moved |= done != operations->end();
    operations->erase(done, operations->end());
    return moved;
}

/* The operations of a group on one communicator, which run at the same time. */
struct batch {
    std::shared_ptr<communicator> c;
    cudaStream_t stream;
    std::vector<operation> operations;
};

/* Run a batch; called in a stream's thread. */
static void batch_run(communicator *c, std::vector<operation> operations, uint64_t turn)
{
    bool goes_on = wait_until(*c, [&] { return c->turn == turn; });
    while (goes_on && !operations.empty())
        goes_on = wait_until(*c, [&] { return operations_advance(c, &operations); });
    c->turn++;
    c->busy--;
}

static ncclResult_t batch_queue(const batch &b)
{
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(b.c->device);
    b.c->busy++;
    const cudaError_t error = stream_queue(
        b.stream, [c = b.c, list = b.operations, turn = b.c->issued++] { batch_run(c.get(), list, turn); });
    cudaSetDevice(before);
    if (!error)
        return ncclSuccess;
    b.c->busy--;
    b.c->turn++;
    return refuse(ncclUnhandledCudaError, "Cuda failure %d '%s'", error, cudaGetErrorString(error));
}

/* ---- groups, and operations that continue in a thread */

static thread_local int group_depth;
static thread_local ncclResult_t group_failed; /* result of the group's last operation that failed */
static thread_local std::vector<batch> group_batches;
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

/* With a nonblocking communicator, launch with a delay, like the real library, so that callers that do not wait fail. */
static ncclResult_t batches_run(const std::vector<batch> &batches)
{
    ncclResult_t result = ncclSuccess;
    for (const batch &b : batches)
        if (!b.c->blocking) {
            goes_on(b.c, [b] {
                usleep(200);
                return batch_queue(b);
            });
            result = result ? result : ncclInProgress;
        } else if (ncclResult_t failed = batch_queue(b)) {
            result = failed;
        }
    return result;
}

static ncclResult_t group_end()
{
    ncclResult_t result = group_failed ? group_failed : batches_run(group_batches);
    group_failed = ncclSuccess;
    group_batches.clear();
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

/* Add an operation to the group. */
static void group_add(const std::shared_ptr<communicator> &c, cudaStream_t stream, const operation &o)
{
    for (batch &b : group_batches)
        if (b.c == c) {
            if (b.stream != stream)
                fail("NCCL: a group with several streams for one communicator, which the stand-in does not implement");
            b.operations.push_back(o);
            return;
        }
    group_batches.push_back({ c, stream, { o } });
}

/* Check an operation of `count` elements per rank. */
static ncclResult_t operation_check(ncclComm_t comm, const operation &o, size_t count)
{
    if (ncclResult_t result = usable(comm))
        return result;
    const int ranks = comm->it->ranks, other = o.label.kind == MESSAGE ? o.peer : o.label.root;
    const size_t size = size_of(o.label.type), all = static_cast<size_t>(ranks) * count * size;
    if (o.label.sum != ncclSum || size == 0)
        return refuse(ncclInvalidArgument, "the stand-in sums and copies floats, doubles and bfloat16");
    if (other < 0 || other >= ranks)
        return refuse(ncclInvalidArgument, "rank %d of %d", other, ranks);
    const bool may_send = !o.gives || memory_is_device(o.send, o.label.kind == REDUCE_SCATTER ? all : count * size);
    const bool may_receive = !o.takes || memory_is_device(o.receive, o.label.kind == ALL_GATHER ? all : count * size);
    if (count && (!may_send || !may_receive))
        return refuse(ncclInvalidArgument, "a buffer of the %s does not lie within device memory",
                      kind_names[o.label.kind]);
    return ncclSuccess;
}

/* Run an operation, or add it to the group. As in the real library, a group with an operation that fails does nothing. */
static ncclResult_t operate(ncclComm_t comm, cudaStream_t stream, operation o, size_t count)
{
    if (ncclResult_t result = operation_check(comm, o, count)) {
        group_failed = group_depth ? result : ncclSuccess;
        return result;
    }
    const size_t parts = o.label.kind == REDUCE_SCATTER ? static_cast<size_t>(comm->it->ranks) : 1;
    o.label.bytes = parts * count * size_of(o.label.type);
    if (group_depth == 0)
        return batches_run({ { comm->it, stream, { o } } });
    group_add(comm->it, stream, o);
    return ncclSuccess;
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

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    if (ncclResult_t result = usable(comm))
        return result;
    *rank = comm->it->rank;
    return ncclSuccess;
}

static operation operation_of(enum kind kind, const void *send, void *receive, ncclDataType_t type,
                              ncclRedOp_t sum = ncclSum)
{
    operation o = {};
    o.label = { kind, 0, 0, type, sum };
    o.peer = EVERY;
    o.gives = o.takes = true;
    o.send = static_cast<const char *>(send);
    o.receive = static_cast<char *>(receive);
    return o;
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    return operate(comm, stream, operation_of(ALL_REDUCE, sendbuff, recvbuff, datatype, op), count);
}

ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return operate(comm, stream, operation_of(REDUCE_SCATTER, sendbuff, recvbuff, datatype, op), recvcount);
}

ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream)
{
    return operate(comm, stream, operation_of(ALL_GATHER, sendbuff, recvbuff, datatype), sendcount);
}

/* Only the root reads `sendbuff`. */
ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    operation o = operation_of(BROADCAST, sendbuff, recvbuff, datatype);
    o.label.root = root;
    o.gives = comm && comm->it->rank == root;
    return operate(comm, stream, o, count);
}

ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    operation o = operation_of(MESSAGE, sendbuff, nullptr, datatype);
    o.peer = peer;
    o.takes = false;
    return operate(comm, stream, o, count);
}

ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    operation o = operation_of(MESSAGE, nullptr, recvbuff, datatype);
    o.peer = peer;
    o.gives = false;
    return operate(comm, stream, o, count);
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
