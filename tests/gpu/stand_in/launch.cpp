/* launch.cpp: run a kernel's threads on the CPU, one block after another.
 *
 * A fiber calls the threads of a block, which are functions, one after another. A thread that waits for others keeps its
 * fiber, and another fiber continues: with a woken thread if there is one, else with the next thread that has not begun. A
 * kernel without barriers costs one call per thread, a barrier one fiber switch per thread.
 *
 * LOCKSTEP_CUDA_ORDER selects the order in which blocks begin, threads begin, and threads continue after a barrier: 0
 * ascending, 1 descending, any other number is the seed of a shuffle. A correct kernel has the same result in any order. */
#include "stand_in.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <pthread.h>
#include <random>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define ADDRESSES_CHECKED 1
#else
#define ADDRESSES_CHECKED 0
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define RACES_CHECKED 1
#else
#define RACES_CHECKED 0
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread dim3 blockDim;
__thread dim3 gridDim;

namespace stand_in
{

enum { THREADS_MOST = 1024, LANES = 32, WARPS_MOST = THREADS_MOST / LANES };
constexpr size_t PAGE = 4096;
constexpr size_t STACK = 17 * PAGE; /* bytes of a fiber; the lowest page is a guard */
/* Stacks begin at addresses that differ in all bits which choose a set of a cache: by pages, whose number is odd, and within a page. At
 * multiples of 64 KiB they would all share a few sets, and each switch would miss the caches. */
constexpr size_t SHIFT = 320, SHIFTS = 12;

/* ---- fibers: stacks that run in turns */

struct fiber {
    char *stack = nullptr; /* lower end */
    size_t size = 0;
    void *fake_stack = nullptr; /* AddressSanitizer's */
    void *known_as = nullptr;   /* ThreadSanitizer's handle */
#if defined(__x86_64__)
    void *saved = nullptr; /* stack pointer while it does not run */
#else
    ucontext_t saved;
#endif
};

#if defined(__x86_64__)
static void fiber_prepare(fiber *f, void (*entry)())
{
    void **top = reinterpret_cast<void **>(f->stack + f->size);
    *--top = nullptr; /* no return address; aligns the stack as a call of `entry` would */
    *--top = reinterpret_cast<void *>(entry);
    f->saved = top;
}

/* The compiler saves what it needs of the registers named at the end; the stack of `to` ends with where it goes on. It goes there by a jump,
 * and this function is part of its callers, so that the processor foresees where it goes: the threads of a block mostly wait in one place.
 * A return would be foreseen to the fiber left. */
static inline __attribute__((always_inline)) void fiber_leave(fiber *from, fiber *to)
{
    void **saved = &from->saved, *next = to->saved;
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* the compiler may keep values below the stack's end */
                     "pushq %%rbp\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "movq %%rsp, (%0)\n\t"
                     "movq %1, %%rsp\n\t"
                     "popq %%rax\n\t"
                     "jmpq *%%rax\n"
                     "1:\n\t"
                     "popq %%rbp\n\t"
                     "leaq 128(%%rsp), %%rsp"
                     : "+r"(saved), "+r"(next)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15", "cc", "memory");
}
#else
static void fiber_prepare(fiber *f, void (*entry)())
{
    getcontext(&f->saved);
    f->saved.uc_stack.ss_sp = f->stack;
    f->saved.uc_stack.ss_size = f->size;
    f->saved.uc_link = nullptr;
    makecontext(&f->saved, entry, 0);
}

static void fiber_leave(fiber *from, fiber *to)
{
    swapcontext(&from->saved, &to->saved);
}
#endif

static void fiber_switch(fiber *from, fiber *to)
{
#if ADDRESSES_CHECKED
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->size);
#endif
#if RACES_CHECKED
    __tsan_switch_to_fiber(to->known_as, 0);
#endif
    fiber_leave(from, to);
#if ADDRESSES_CHECKED
    __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
#endif
}

/* ---- state of a stream's thread */

/* Lanes of a warp that wait for each other in a warp-level primitive. */
struct lane_group {
    warp_primitive kind;
    unsigned int mask;
    unsigned int here;
    const char *file;
    int line;
};

struct warp {
    unsigned int alive = 0;
    std::vector<lane_group> lane_groups;
    unsigned int lanes[LANES] = {}; /* in the order in which they continue */
    unsigned int lane_count = 0;
};

struct runner {
    runner();
    ~runner();
    runner(const runner &) = delete;
    runner &operator=(const runner &) = delete;

    /* per launch */
    const std::function<void()> *thread = nullptr;
    dim3 grid, block;
    unsigned int threads = 0;
    unsigned int sequence[THREADS_MOST] = {}; /* order in which threads begin, and continue */
    uint3 place[THREADS_MOST] = {};           /* threadIdx */
    warp warps[WARPS_MOST];
    unsigned int warp_count = 0;

    /* per block */
    unsigned int begun = 0, alive = 0;
    unsigned int running = 0;
    unsigned int ready[THREADS_MOST] = {}, ready_first = 0, ready_count = 0; /* ring buffer of woken threads */
    fiber *home[THREADS_MOST] = {};                                          /* fiber of a waiting thread */
    struct {
        int argument, width;
    } asked[THREADS_MOST] = {};
    uint64_t value[THREADS_MOST] = {}; /* value a thread passes to a warp function, then its result */
    unsigned int at_barrier = 0;
    const char *barrier_file = nullptr;
    int barrier_line = 0;

    /* as long as the stream lives */
    fiber outside; /* the stream's thread itself */
    fiber *here = nullptr;
    char *stacks = nullptr;
    size_t fibers_made = 0;
    fiber fibers[THREADS_MOST];
    std::vector<fiber *> idle;
};

static thread_local std::unique_ptr<runner> current;

runner::runner()
{
    void *memory = mmap(nullptr, STACK * THREADS_MOST, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        fail("no memory for the stacks of %d emulated threads", THREADS_MOST);
    stacks = static_cast<char *>(memory);
    idle.reserve(THREADS_MOST);
    for (warp &w : warps)
        w.lane_groups.reserve(LANES);
#if ADDRESSES_CHECKED
    pthread_attr_t attributes;
    void *lower;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &lower, &outside.size);
    pthread_attr_destroy(&attributes);
    outside.stack = static_cast<char *>(lower);
#endif
#if RACES_CHECKED
    outside.known_as = __tsan_get_current_fiber();
#endif
    here = &outside;
}

runner::~runner()
{
#if RACES_CHECKED
    for (size_t i = 0; i < fibers_made; i++)
        __tsan_destroy_fiber(fibers[i].known_as);
#endif
    munmap(stacks, STACK * THREADS_MOST);
}

std::string launch_name(dim3 grid, dim3 block)
{
    char text[160];
    snprintf(text, sizeof text, "a kernel of grid (%u,%u,%u), block (%u,%u,%u)", grid.x, grid.y, grid.z, block.x,
             block.y, block.z);
    return text;
}

/* ---- order */

static unsigned long order_seed()
{
    static const unsigned long seed = static_cast<unsigned long>(number_of("LOCKSTEP_CUDA_ORDER", 0));
    return seed;
}

/* An order of n blocks: the first one, and the stride to the next, modulo n. A grid may be too large for a table. */
struct strides {
    uint64_t first, stride;
};

static strides strides_of(uint64_t n)
{
    if (order_seed() == 0)
        return { 0, 1 };
    if (order_seed() == 1)
        return { n - 1, n - 1 };
    std::mt19937_64 random(order_seed());
    strides s = { random() % n, random() % n };
    while (std::gcd(s.stride, n) != 1)
        s.stride++;
    return s;
}

static void sequence_fill(unsigned int *sequence, unsigned int n)
{
    std::iota(sequence, sequence + n, 0u);
    if (order_seed() == 1)
        std::reverse(sequence, sequence + n);
    else if (order_seed() > 1)
        std::shuffle(sequence, sequence + n, std::mt19937_64(order_seed()));
}

/* ---- waiting and waking */

[[noreturn]] static void stuck(const runner &r)
{
    const unsigned int block = blockIdx.x + r.grid.x * (blockIdx.y + r.grid.y * blockIdx.z);
    std::string rest;
    for (unsigned int w = 0; w < r.warp_count; w++)
        for (const lane_group &g : r.warps[w].lane_groups)
            if (rest.size() < 400) {
                char text[256];
                snprintf(text, sizeof text, "; in warp %u lanes %08x wait for lanes %08x at %s:%d", w, g.here,
                         g.mask & r.warps[w].alive & ~g.here, g.file, g.line);
                rest += text;
            }
    if (r.at_barrier)
        fail("%s: block %u is stuck: %u of %u threads wait at the __syncthreads of %s:%d%s",
             launch_name(r.grid, r.block).c_str(), block, r.at_barrier, r.alive, r.barrier_file, r.barrier_line,
             rest.c_str());
    fail("%s: block %u is stuck%s", launch_name(r.grid, r.block).c_str(), block, rest.c_str());
}

static void thread_wake(runner &r, unsigned int t)
{
    r.ready[(r.ready_first + r.ready_count++) % THREADS_MOST] = t;
}

static unsigned int thread_next(runner &r)
{
    const unsigned int t = r.ready[r.ready_first];
    r.ready_first = (r.ready_first + 1) % THREADS_MOST;
    r.ready_count--;
    return t;
}

static bool thread_alive(const runner &r, unsigned int t)
{
    return r.warps[t / LANES].alive >> t % LANES & 1;
}

static void barrier_open(runner &r)
{
    for (unsigned int i = 0; i < r.threads; i++) {
        const unsigned int t = r.sequence[i];
        if (!thread_alive(r, t))
            continue;
        thread_wake(r, t);
    }
    r.at_barrier = 0;
}

/* Return the lane whose value this lane gets. */
static unsigned int lane_source(warp_primitive kind, unsigned int lane, int argument, int width)
{
    const int l = static_cast<int>(lane), first = l & ~(width - 1), end = first + width;
    int from = l;
    switch (kind) {
    case warp_primitive::shuffle:
        from = first + (argument & (width - 1));
        break;
    case warp_primitive::shuffle_xor:
        from = l ^ argument;
        break;
    case warp_primitive::sync:
    case warp_primitive::ballot:
        break;
    }
    if (from >= end)
        from = l;
    return static_cast<unsigned int>(from) % LANES;
}

/* Give the lanes of a complete group their results, and wake them. Not inlined, so that the stack of a waiting lane holds none of this. */
static __attribute__((noinline)) void lane_group_release(runner &r, unsigned int w, const lane_group &g)
{
    uint64_t brought[LANES];
    uint64_t votes = 0;
    for (unsigned int lane = 0; lane < LANES; lane++) {
        const bool takes_part = g.here >> lane & 1;
        brought[lane] = takes_part ? r.value[w * LANES + lane] : ~uint64_t(0);
        votes |= uint64_t(takes_part && (brought[lane] & 1)) << lane;
    }
    for (unsigned int i = 0; i < r.warps[w].lane_count; i++) {
        const unsigned int lane = r.warps[w].lanes[i], t = w * LANES + lane;
        if (!(g.here >> lane & 1))
            continue;
        const unsigned int source = lane_source(g.kind, lane, r.asked[t].argument, r.asked[t].width);
        r.value[t] = g.kind == warp_primitive::ballot ? votes : brought[source];
        thread_wake(r, t);
    }
}

/* Release groups of lanes that are complete after a lane has ended. */
static void warp_check(runner &r, unsigned int w)
{
    std::vector<lane_group> &lane_groups = r.warps[w].lane_groups;
    for (size_t i = 0; i < lane_groups.size();) {
        const lane_group g = lane_groups[i];
        if (g.here != (g.mask & r.warps[w].alive)) {
            i++;
            continue;
        }
        lane_groups[i] = lane_groups.back();
        lane_groups.pop_back();
        lane_group_release(r, w, g);
    }
}

/* ---- the fibers of a block */

static void fiber_main();

static fiber *fiber_idle(runner &r)
{
    if (r.idle.empty()) {
        fiber *f = &r.fibers[r.fibers_made];
        f->stack = r.stacks + STACK * r.fibers_made + PAGE;
        f->size = STACK - PAGE - SHIFT * (r.fibers_made++ % SHIFTS);
        mprotect(f->stack - PAGE, PAGE, PROT_NONE);
#if RACES_CHECKED
        f->known_as = __tsan_create_fiber(0);
#endif
        fiber_prepare(f, fiber_main);
        return f;
    }
    fiber *f = r.idle.back();
    r.idle.pop_back();
    return f;
}

static void go_to(runner &r, fiber *to)
{
    fiber *from = r.here;
    r.here = to;
    if (from != to)
        fiber_switch(from, to);
}

/* Run other threads until this thread was woken and is next. */
static void thread_wait(runner &r)
{
    const unsigned int me = r.running;
    r.home[me] = r.here;
    if (r.ready_count)
        go_to(r, r.home[thread_next(r)]);
    else if (r.begun < r.threads)
        go_to(r, fiber_idle(r));
    else
        stuck(r);
    r.running = me;
    threadIdx = r.place[me];
}

static void thread_end(runner &r)
{
    const unsigned int t = r.running, w = t / LANES;
    r.warps[w].alive &= ~(1u << t % LANES);
    r.alive--;
    if (r.at_barrier && r.at_barrier == r.alive)
        barrier_open(r);
    if (!r.warps[w].lane_groups.empty())
        warp_check(r, w);
}

/* Main function of a fiber: run threads that have not begun, until there are none or a thread was woken. */
static void fiber_main()
{
#if ADDRESSES_CHECKED
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    runner &r = *current;
    for (;;) {
        r.running = r.sequence[r.begun++];
        threadIdx = r.place[r.running];
        (*r.thread)();
        thread_end(r);
        if (!r.ready_count && r.begun < r.threads)
            continue;
        if (!r.ready_count && r.alive)
            stuck(r);
        r.idle.push_back(r.here);
        go_to(r, r.ready_count ? r.home[thread_next(r)] : &r.outside);
    }
}

/* True if two calls are in one place. The names of a file are mostly one string. */
static bool is_place(const char *file, int line, const char *other_file, int other_line)
{
    return line == other_line && (file == other_file || strcmp(file, other_file) == 0);
}

void block_sync(const char *file, int line)
{
    runner &r = *current;
    if (!r.at_barrier) {
        r.barrier_file = file;
        r.barrier_line = line;
    } else if (!is_place(r.barrier_file, r.barrier_line, file, line)) {
        fail("%s: threads of a block are at different __syncthreads: %s:%d and %s:%d",
             launch_name(r.grid, r.block).c_str(), r.barrier_file, r.barrier_line, file, line);
    }
    r.at_barrier++;
    if (r.at_barrier == r.alive)
        barrier_open(r);
    thread_wait(r);
}

uint64_t warp_run(warp_primitive kind, unsigned int mask, uint64_t value, int argument, int width, const char *file,
                  int line)
{
    runner &r = *current;
    const unsigned int t = r.running, w = t / LANES, bit = 1u << t % LANES;
    if (!(mask & bit))
        fail("%s: %s:%d: thread %u (lane %u) is not in its own mask %08x", launch_name(r.grid, r.block).c_str(), file,
             line, t, t % LANES, mask);
    if (width < 1 || width > LANES || (width & (width - 1)))
        fail("%s: %s:%d: the width %d is no power of two up to %d", launch_name(r.grid, r.block).c_str(), file, line,
             width, LANES);
    std::vector<lane_group> &lane_groups = r.warps[w].lane_groups;
    auto g =
        std::find_if(lane_groups.begin(), lane_groups.end(), [mask](const lane_group &o) { return o.mask == mask; });
    if (g == lane_groups.end())
        g = lane_groups.insert(g, lane_group{ kind, mask, 0, file, line });
    else if (g->kind != kind || !is_place(g->file, g->line, file, line))
        fail("%s: lanes %08x of a warp are at different functions: %s:%d and %s:%d",
             launch_name(r.grid, r.block).c_str(), mask, g->file, g->line, file, line);
    g->here |= bit;
    r.value[t] = value;
    r.asked[t] = { argument, width };
    if (g->here == (mask & r.warps[w].alive)) {
        const lane_group complete = *g;
        *g = lane_groups.back();
        lane_groups.pop_back();
        lane_group_release(r, w, complete);
    }
    thread_wait(r);
    return r.value[t];
}

/* ---- a launch */

static void launch_begin(runner &r, dim3 grid, dim3 block, const std::function<void()> &thread)
{
    r.thread = &thread;
    r.grid = gridDim = grid;
    r.block = blockDim = block;
    r.threads = block.x * block.y * block.z;
    r.warp_count = (r.threads + LANES - 1) / LANES;
    sequence_fill(r.sequence, r.threads);
    for (unsigned int w = 0; w < r.warp_count; w++)
        r.warps[w].lane_count = 0;
    for (unsigned int i = 0; i < r.threads; i++) {
        const unsigned int t = r.sequence[i];
        warp &w = r.warps[t / LANES];
        w.lanes[w.lane_count++] = t % LANES;
        r.place[t] = uint3{ t % block.x, t / block.x % block.y, t / block.x / block.y };
    }
}

static void block_run(runner &r)
{
    r.begun = 0;
    r.alive = r.threads;
    r.ready_first = r.ready_count = 0;
    r.at_barrier = 0;
    for (unsigned int w = 0; w < r.warp_count; w++) {
        const unsigned int lanes = std::min<unsigned int>(r.threads - w * LANES, LANES);
        r.warps[w].alive = static_cast<unsigned int>((uint64_t(1) << lanes) - 1);
    }
    go_to(r, fiber_idle(r));
}

void grid_run(dim3 grid, dim3 block, const std::function<void()> &thread)
{
    if (!current)
        current = std::make_unique<runner>();
    runner &r = *current;
    launch_begin(r, grid, block, thread);
    const uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
    const strides order = strides_of(blocks);
    uint64_t b = order.first;
    for (uint64_t i = 0; i < blocks; i++, b = (b + order.stride) % blocks) {
        blockIdx = uint3{ static_cast<unsigned int>(b % grid.x), static_cast<unsigned int>(b / grid.x % grid.y),
                          static_cast<unsigned int>(b / grid.x / grid.y) };
        block_run(r);
    }
}

static const char *launch_wrong(const cudaLaunchConfig_t &c)
{
    const dim3 grid = c.gridDim, block = c.blockDim;
    if (grid.x < 1 || grid.y < 1 || grid.z < 1 || block.x < 1 || block.y < 1 || block.z < 1)
        return "nothing to run";
    if (grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
        return "more blocks than (2147483647,65535,65535)";
    if (block.x > 1024 || block.y > 1024 || block.z > 64 || uint64_t(block.x) * block.y * block.z > THREADS_MOST)
        return "more than 1024 threads a block, or 64 along z";
    if (c.dynamicSmemBytes || c.numAttrs)
        return "the stand-in has neither dynamic shared memory nor launch attributes";
    return nullptr;
}

cudaError_t launch(const cudaLaunchConfig_t *config, std::function<void()> thread)
{
    if (const char *wrong = launch_wrong(*config))
        fail("%s: %s", launch_name(config->gridDim, config->blockDim).c_str(), wrong);
    if (!thread)
        fail("%s: no kernel", launch_name(config->gridDim, config->blockDim).c_str());
    return stream_queue(config->stream, [grid = config->gridDim, block = config->blockDim, thread = std::move(thread)] {
        grid_run(grid, block, thread);
    });
}

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("cuda stand-in: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

long number_of(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtol(text, nullptr, 10) : otherwise;
}

} // namespace stand_in
