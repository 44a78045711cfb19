#include "base/memory.h"

#include "base/cgroup.h"
#include "base/die.h"

#include <malloc.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ALIGNMENT = 64,       /* a cache line, and the widest vector of x86 */
    HUGE_PAGE = 2u << 20, /* for large buffers the kernel may use these: fewer TLB misses */
};

/* Return count * size. End the program if that leaves no room for rounding it up. */
static size_t bytes_of(size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > (size_t)-1 - 2 * HUGE_PAGE)
        die(STATUS_WRONG, "%zu x %zu bytes is more than memory can address; choose smaller sizes", count, size);
    return bytes;
}

void *memory_new(size_t count, size_t size)
{
    size_t bytes = bytes_of(count, size);
    size_t alignment = bytes < HUGE_PAGE ? ALIGNMENT : HUGE_PAGE;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, bytes ? bytes : alignment);
    if (!memory)
        die(STATUS_WRONG, "no memory for %zu bytes; choose smaller sizes or fewer ranks", bytes);
    if (alignment == HUGE_PAGE)
        madvise(memory, bytes, MADV_HUGEPAGE); /* only a hint; without huge pages the buffer is slower */
    memset(memory, 0, bytes);
    return memory;
}

/* Bytes of a large array's mapping. */
static size_t mapped(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* Map a large array at a multiple of HUGE_PAGE. */
static void *map_array(size_t bytes)
{
    const size_t kept = mapped(bytes);
    char *area = memory_map(kept + HUGE_PAGE);
    const size_t before = (HUGE_PAGE - (uintptr_t)area % HUGE_PAGE) % HUGE_PAGE;
    char *array = area + before;
    if (before > 0)
        munmap(area, before);
    munmap(array + kept, HUGE_PAGE - before);
    madvise(array, kept, MADV_HUGEPAGE); /* only a hint; without huge pages the array is slower */
    memset(array, 0, bytes);
    return array;
}

void *memory_new_array(enum memory_owner owner, size_t count, size_t size)
{
    const size_t bytes = bytes_of(count, size);
    void *array = bytes < HUGE_PAGE ? memory_new(bytes, 1) : map_array(bytes);
    ledger_add(array, bytes, owner, MEMORY_HOST);
    return array;
}

void memory_free_array(void *array)
{
    if (!array)
        return;
    const size_t bytes = ledger_remove(array);
    if (bytes < HUGE_PAGE)
        free(array);
    else
        munmap(array, mapped(bytes));
}

void *memory_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        die(STATUS_WRONG, "no memory for %zu bytes; choose smaller sizes or fewer ranks", bytes);
    return memory;
}

void memory_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

void memory_keep_freed(bool is_kept)
{
    enum { MAPPED_AT_MOST = 65536, SPARE = 128 << 10 }; /* defaults, from mallopt(3) */
    static int wanted = 0; /* calls with true less those with false; static, because a process has one heap */
    const int before = wanted;
    wanted += is_kept ? 1 : -1;
    if (getenv("MALLOC_TRIM_THRESHOLD_") || (before > 0 && wanted > 0))
        return;
    mallopt(M_MMAP_MAX, is_kept ? 0 : MAPPED_AT_MOST);
    mallopt(M_TRIM_THRESHOLD, is_kept ? -1 : SPARE);
    if (!is_kept)
        malloc_trim(0);
}

double memory_freed(void)
{
    return (double)mallinfo2().fordblks;
}

double memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    double kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lf", &kilobytes) == 1)
            break;
    if (file)
        fclose(file);
    return fmin(kilobytes * 1024, cgroup_memory(""));
}

void *memory_grow(void *block, size_t bytes)
{
    void *larger = realloc(block, bytes ? bytes : 1);
    if (!larger)
        die(STATUS_WRONG, "no memory for %.3g MB more; close other programs", 1e-6 * (double)bytes);
    return larger;
}

void *memory_grow_by_one(void *block, int count, size_t size)
{
    const bool is_full = (count & (count - 1)) == 0; /* also without elements */
    return is_full ? memory_grow(block, (count ? 2 * (size_t)count : 1) * size) : block;
}

FILE *memory_stream(char **text, size_t *size)
{
    FILE *stream = open_memstream(text, size);
    if (!stream)
        die(STATUS_WRONG, "no memory for a text; close other programs");
    return stream;
}

char *memory_vtext(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        die(STATUS_WRONG, "no memory for a line of text");
    return text;
}

char *memory_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = memory_vtext(format, arguments);
    va_end(arguments);
    return text;
}

char *memory_join(const char *const *words, const char *between)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    for (const char *const *word = words; *word; word++)
        fprintf(out, "%s%s", word == words ? "" : between, *word);
    fclose(out);
    return text;
}
