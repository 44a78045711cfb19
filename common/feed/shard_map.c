#include "feed/shard_map.h"

#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* All open maps: a signal handler gets no other argument. Simulated ranks are one process, but each has its own copy of this. Helpers of
 * several sources open maps at the same time, so the list has a lock; the handler reads it without. */
static struct shard_map *open_maps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct shard_map *map_of(const char *address)
{
    const struct shard_map *map = open_maps;
    while (map && !(address >= (const char *)map->memory && address < (const char *)map->memory + map->shard->bytes))
        map = map->next;
    return map;
}

/* The faulting instruction is a load from a mapped shard, so this thread is not within malloc() or stdio, and may call die(). */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    const struct shard_map *map = map_of(info->si_addr);
    if (!map) {
        signal(number, SIG_DFL); /* the instruction is run again, and ends the program as without this handler */
        return;
    }
    struct stat now;
    const uint64_t byte = (uint64_t)((const char *)info->si_addr - (const char *)map->memory);
    if (fstat(map->fd, &now) == 0 && (uint64_t)now.st_size < map->shard->bytes)
        die(token_shard_status(),
            "%s: shrank from %" PRIu64 " to %" PRIu64
            " bytes while it was read; write shards under another name, then rename them",
            map->shard->path, map->shard->bytes, (uint64_t)now.st_size);
    die(token_shard_status(),
        "%s: the disk cannot read byte %" PRIu64 "; check the disk, or copy the shard from elsewhere", map->shard->path,
        byte);
}

void shard_map_open(struct shard_map *map, const struct token_shard *shard)
{
    *map = (struct shard_map){ .shard = shard, .fd = token_shard_reopen(shard) };
    map->memory = mmap(NULL, shard->bytes, PROT_READ, MAP_SHARED, map->fd, 0);
    if (map->memory == MAP_FAILED)
        die(token_shard_status(), "%s: cannot be mapped: %s; raise `ulimit -v`, or read it in another way", shard->path,
            strerror(errno));
    map->tokens = (const char *)map->memory + shard->offset;
    pthread_mutex_lock(&lock);
    if (!open_maps) {
        struct sigaction action = { .sa_flags = SA_SIGINFO };
        action.sa_sigaction = on_bus_error;
        sigaction(SIGBUS, &action, NULL);
    }
    map->next = open_maps;
    open_maps = map;
    pthread_mutex_unlock(&lock);
}

void shard_map_close(struct shard_map *map)
{
    pthread_mutex_lock(&lock);
    struct shard_map **place = &open_maps;
    while (*place != map)
        place = &(*place)->next;
    *place = map->next;
    if (!open_maps)
        signal(SIGBUS, SIG_DFL);
    pthread_mutex_unlock(&lock);
    munmap(map->memory, map->shard->bytes);
    close(map->fd);
}

const void *shard_map_at(const struct shard_map *map, uint64_t token)
{
    return (const char *)map->tokens + token * (uint64_t)map->shard->width;
}

void shard_map_advise(const struct shard_map *map, bool in_order)
{
    (void)madvise(map->memory, map->shard->bytes, in_order ? MADV_SEQUENTIAL : MADV_RANDOM); /* it is only advice */
}

void shard_map_populate(const struct shard_map *map, uint64_t from, uint64_t bytes)
{
    enum { POPULATE_READ = 22 }; /* MADV_POPULATE_READ, which older headers lack */
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = from - from % page;
    char *place = (char *)map->memory + begin;
    /* If the disk fails, the call returns an error, and the load that follows raises SIGBUS. */
    if (madvise(place, bytes + from % page, POPULATE_READ) != 0 && errno == EINVAL)
        (void)madvise(place, bytes + from % page, MADV_WILLNEED);
}

void shard_map_unmap(const struct shard_map *map, uint64_t from, uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = from - from % page, end = from + bytes,
                   whole = end < map->shard->bytes ? end - end % page : end;
    (void)madvise((char *)map->memory + begin, whole - begin, MADV_DONTNEED); /* at worst they stay */
}

struct shard_pages shard_map_pages(const struct shard_map *map)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct shard_pages pages = { .all = (map->shard->bytes + page - 1) / page };
    unsigned char *is_cached = memory_new(pages.all, 1);
    if (mincore(map->memory, map->shard->bytes, is_cached) != 0)
        die(token_shard_status(), "%s: its cached pages cannot be counted: %s", map->shard->path, strerror(errno));
    for (size_t i = 0; i < pages.all; i++)
        pages.cached += is_cached[i] & 1;
    free(is_cached);
    return pages;
}
