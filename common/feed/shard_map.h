/* shard_map: a shard whose pages are mapped into the memory of the process.
 *
 * A page that cannot be read raises a signal, SIGBUS; no call returns an error: the file has become shorter since it was mapped,
 * or its disk fails. For mapped shards, and for no other memory, the signal ends the program with one line. */
#ifndef LOCKSTEP_SHARD_MAP_H
#define LOCKSTEP_SHARD_MAP_H

#include "feed/token_shard.h"

#include <stdbool.h>
#include <stddef.h>

struct shard_map {
    const struct token_shard *shard;
    int fd;
    void *memory;           /* the whole file, header included */
    const void *tokens;     /* the first token */
    struct shard_map *next; /* of all that are open */
};

/* Map a shard, which must stay open. End the program if that fails. The struct must stay where it is until it is closed. Several
 * threads may open and close maps of their own. */
void shard_map_open(struct shard_map *map, const struct token_shard *shard);
void shard_map_close(struct shard_map *map);

/* Return the address of a token. */
const void *shard_map_at(const struct shard_map *map, uint64_t token);

/* Advise the kernel that the shard is read in order, or at random places: it then reads further ahead from the disk, or not at all. */
void shard_map_advise(const struct shard_map *map, bool in_order);

/* Map these bytes of the file with one call, reading from the disk what is not cached. Kernels before Linux 5.14 only begin to read. */
void shard_map_populate(const struct shard_map *map, uint64_t from, uint64_t bytes);

/* Unmap the pages of these bytes: the whole first one, and the last one if nothing of it follows. They stay in the page cache; the
 * next read maps them again. */
void shard_map_unmap(const struct shard_map *map, uint64_t from, uint64_t bytes);

/* Count the file's pages, and those of them in the page cache (mincore). */
struct shard_pages {
    size_t all, cached;
};
struct shard_pages shard_map_pages(const struct shard_map *map);

#endif
