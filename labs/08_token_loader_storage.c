/* 08_token_loader_storage: what pages cost that are not in the page cache.
 *
 * The kernel reads ahead: while the reader is busy with one part of a file, storage fetches the next one. How far ahead depends on kernel,
 * file and kind of access. So no formula of it is assumed: a reader that makes no batches is measured, which is as busy as the way is. */
#include "08_token_loader.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { GRAIN = 64 << 10 }; /* bytes of a read */

/* Access of a way to its bytes. */
enum storage_access { ACCESS_READ, ACCESS_FREAD, ACCESS_TOUCH, ACCESS_POPULATE };

static enum storage_access access_of(enum source_way way)
{
    switch (way) {
    case SOURCE_MAPPED:
    case SOURCE_PREALLOCATED:
        return ACCESS_TOUCH;
    case SOURCE_ADVISED:
    case SOURCE_PREFETCHED:
    case SOURCE_WINDOWED:
    case SOURCE_VIEWS:
        return ACCESS_POPULATE;
    case SOURCE_BUFFERED:
        return ACCESS_FREAD;
    default:
        return ACCESS_READ;
    }
}

/* A shard that is read. */
struct reader {
    enum storage_access access;
    struct shard_map map;
    FILE *file; /* of ACCESS_FREAD */
    char buffer
        [GRAIN +
         2]; /* with one token more, as batches have: stdio then reads what is no whole page into its own buffer */
};

/* Get the bytes from … from + GRAIN-1 of a shard. */
static void get(struct reader *r, uint64_t from)
{
    const struct token_shard *shard = r->map.shard;
    const size_t left = shard->bytes - from, bytes = left < sizeof r->buffer ? left : sizeof r->buffer;
    if (r->access == ACCESS_READ || r->access == ACCESS_FREAD) {
        const bool is_read =
            r->file ? fseeko(r->file, (off_t)from, SEEK_SET) == 0 && fread(r->buffer, 1, bytes, r->file) == bytes
                    : pread(r->map.fd, r->buffer, bytes, (off_t)from) == (ssize_t)bytes;
        if (!is_read)
            die(token_shard_status(), "%s: cannot be read: %s; check the disk", shard->path, strerror(errno));
        return;
    }
    if (r->access == ACCESS_POPULATE && from % SOURCE_ADVICE == 0)
        shard_map_populate(&r->map, from, left < SOURCE_ADVICE ? left : SOURCE_ADVICE);
    touch((const char *)r->map.memory + from, GRAIN, (size_t)sysconf(_SC_PAGESIZE));
}

/* Read a shard, and compute for `work` seconds per byte. Return the seconds spent in reads; count their bytes. */
static double read_shard(enum storage_access access, const struct token_shard *shard, double work, double *bytes)
{
    struct reader r = { .access = access };
    double seconds = 0;
    shard_map_open(&r.map, shard);
    r.file = access == ACCESS_FREAD ? fdopen(token_shard_reopen(shard), "rb") : NULL;
    if (access == ACCESS_POPULATE)
        shard_map_advise(&r.map, true);
    for (uint64_t at = 0; at + GRAIN <= shard->bytes; at += GRAIN) {
        const double begin = world_now();
        get(&r, at);
        const double end = world_now();
        seconds += end - begin;
        *bytes += GRAIN;
        while (world_now() < end + work * GRAIN)
            ;
    }
    if (r.file)
        fclose(r.file);
    shard_map_close(&r.map);
    return seconds;
}

double evicted_seconds(const struct token_parts *parts, const struct source_settings *settings, double between)
{
    const enum storage_access access = access_of(settings->way);
    const double call = parts->of[PART_READ_CALL] / GRAIN, byte = parts->of[PART_READ_BYTE];
    const double cached[] = { [ACCESS_READ] = call + byte,
                              [ACCESS_FREAD] = call + byte + parts->of[PART_FREAD_MORE] / GRAIN,
                              [ACCESS_TOUCH] = parts->of[PART_FAULT_BYTE],
                              [ACCESS_POPULATE] = parts->of[PART_POPULATE_BYTE] };
    const double batch = (double)(settings->order.rows * settings->order.length) * settings->set->width,
                 rest = fmax(0, alone_seconds(parts, settings, PAGES_COLD) - batch * cached[access]);
    double seconds = 0, bytes = 0;
    ladder_evict(settings->set);
    for (int i = 0; i < settings->set->count; i++)
        seconds += read_shard(access, &settings->set->shard[i], (rest + between) / batch, &bytes);
    return rest + batch * seconds / bytes;
}
