#include "feed/ladder.h"

#include "base/memory.h"
#include "base/multiversion.h"
#include "base/stats.h"
#include "feed/shard_read.h"
#include "world/world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

const char *const page_states[PAGE_STATES] = { "warm", "cold", "evicted" };

uint64_t ladder_batches(const struct window_order *o)
{
    if (o->tail == TAIL_PUBLISHED)
        return window_order_pass(o, 0);
    return o->start[o->shards] / (o->rows * o->length * o->ranks);
}

/* --- page cache --------------------------------------------------------------------------------------------------- */

static double cached_share(const struct shard_set *set)
{
    double all = 0, cached = 0;
    for (int i = 0; i < set->count; i++) {
        struct shard_map map;
        shard_map_open(&map, &set->shard[i]);
        const struct shard_pages pages = shard_map_pages(&map);
        all += (double)pages.all;
        cached += (double)pages.cached;
        shard_map_close(&map);
    }
    return cached / all;
}

double ladder_cache(const struct shard_set *set)
{
    enum { PIECE = 1 << 19 }; /* tokens */
    void *piece = memory_new(PIECE, (size_t)set->width);
    for (int i = 0; i < set->count; i++) {
        struct shard_read read;
        shard_read_open(&read, false);
        for (uint64_t at = 0, left; (left = set->shard[i].tokens - at) > 0; at += left < PIECE ? left : PIECE)
            shard_read_tokens(&read, &set->shard[i], at, left < PIECE ? left : PIECE, piece);
        shard_read_close(&read);
    }
    free(piece);
    return cached_share(set);
}

/* Pages that are not yet on the disk, or are mapped, cannot be dropped. */
static void evict(const struct token_shard *shard)
{
    const int fd = token_shard_reopen(shard);
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

double ladder_evict(const struct shard_set *set)
{
    for (int i = 0; i < set->count; i++)
        evict(&set->shard[i]);
    return cached_share(set);
}

/* --- batches ------------------------------------------------------------------------------------------------------ */

/* Sum up elements, each times an odd number that depends on its place, so that exchanged elements change the sum. */
WIDE static uint32_t sum_32(const uint32_t *x, size_t count)
{
    uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += x[i] * (uint32_t)(2 * i + 1);
    return sum;
}

WIDE static uint32_t sum_16(const uint16_t *x, size_t count)
{
    uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += x[i] * (uint32_t)(2 * i + 1);
    return sum;
}

static uint64_t sum_of(struct token_pair pair, int width, size_t count)
{
    const uint64_t x = width == 2 ? sum_16(pair.x, count) : sum_32(pair.x, count),
                   y = width == 2 ? sum_16(pair.y, count) : sum_32(pair.y, count);
    return x << 32 | y;
}

double ladder_between(const struct source_settings *settings)
{
    enum { TURNS = 15 };
    const struct window_order *o = &settings->order;
    const size_t count = o->rows * o->length;
    const int width = settings->way == SOURCE_VIEWS ? settings->set->width : settings->width;
    const struct token_pair pair = { memory_new(count, (size_t)width), memory_new(count, (size_t)width) };
    double seconds[TURNS];
    volatile uint64_t sum = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        const double begin = world_now();
        sum += sum_of(pair, width, count);
        seconds[turn] = world_now() - begin;
    }
    free((void *)pair.x);
    free((void *)pair.y);
    return stats_lower_median(seconds, TURNS);
}

static void take_sample(struct ladder_pass *pass, int sample, const struct evidence *begin)
{
    pass->rss[sample] = rss_parts_now();
    if (sample == 1)
        pass->first_disk_bytes = evidence_now(NULL).disk_bytes - begin->disk_bytes;
}

/* Read all batches once. */
static void read_batches(struct ladder_pass *pass, struct batch_source *source, const struct source_settings *settings)
{
    const struct window_order *o = &settings->order;
    const int width = settings->way == SOURCE_VIEWS ? settings->set->width : settings->width;
    const struct source_counts before = batch_source_counts(source);
    const struct evidence then = evidence_now(NULL);
    pass->total = 0;
    for (uint64_t i = 0; i < pass->batches; i++) {
        if (i * LADDER_SAMPLES % pass->batches < LADDER_SAMPLES)
            take_sample(pass, (int)(i * LADDER_SAMPLES / pass->batches), &then);
        const double begin = world_now();
        const struct token_pair pair = batch_source_next(source);
        pass->seconds[i] = world_now() - begin;
        pass->total += pass->seconds[i];
        pass->sum[i] = sum_of(pair, width, o->rows * o->length);
    }
    const struct evidence now = evidence_now(NULL);
    const struct source_counts after = batch_source_counts(source);
    pass->rss[LADDER_SAMPLES] = rss_parts_now();
    pass->pss = rss_proportional();
    pass->kernel = evidence_since(&then, &now);
    pass->counts = (struct source_counts){ .batches = after.batches - before.batches,
                                           .reads = after.reads - before.reads,
                                           .allocations = after.allocations - before.allocations };
}

void ladder_read(struct ladder_pass *pass, const struct source_settings *settings, enum page_state state)
{
    pass->batches = ladder_batches(&settings->order);
    if (state == PAGES_EVICTED)
        ladder_evict(settings->set);
    struct batch_source *source = batch_source_open(settings);
    for (uint64_t i = 0; state == PAGES_WARM && i < pass->batches; i++) /* then it goes on with the same shards */
        batch_source_next(source);
    read_batches(pass, source, settings);
    batch_source_close(source);
}

/* --- the limit ------------------------------------------------------------------------------------------------------ */

static inline void copy(const uint64_t *restrict from, uint64_t *restrict to, size_t words, size_t times)
{
    for (size_t t = 0; t < times; t++, to += words)
        for (size_t i = 0; i < words; i++)
            to[i] = from[i];
}

/* Load each piece of the shard, and store it until `times` as many bytes are in each of x and y, one after the other. */
WIDE static void copy_each(const uint64_t *restrict from, uint64_t *restrict x, uint64_t *restrict y, size_t words,
                           size_t times)
{
    enum { PIECE = 128 }; /* words, a number that the compiler knows, as in widen.c; they stay in the first cache */
    size_t done = 0;
    for (; words - done >= PIECE; done += PIECE) {
        copy(from + done, x + done * times, PIECE, times);
        copy(from + done, y + done * times, PIECE, times);
    }
    copy(from + done, x + done * times, words - done, times);
    copy(from + done, y + done * times, words - done, times);
}

void ladder_copy_limit(struct ladder_pass *pass, const struct source_settings *settings)
{
    const struct shard_set *set = settings->set;
    const size_t tokens = settings->order.rows * settings->order.length, in = (size_t)set->width,
                 out = (size_t)settings->width;
    const size_t blocks = tokens * in / 64;
    pass->batches = ladder_batches(&settings->order);
    pass->total = 0;
    uint64_t *x = memory_new(tokens * out + 64, 1), *y = memory_new(tokens * out + 64, 1);
    struct shard_map *map = memory_new((size_t)set->count, sizeof *map);
    for (int i = 0; i < set->count; i++) {
        shard_map_open(&map[i], &set->shard[i]);
        shard_map_populate(&map[i], 0, set->shard[i].bytes);
    }
    for (uint64_t i = 0; i < pass->batches; i++) {
        const struct token_window w = window_order_at(&settings->order, 0, i, 0);
        /* Begin at a word of the file, and within it: the limit is about bytes, not about where they begin. */
        const uint64_t byte = w.first * in - w.first * in % 64;
        const double begin = world_now();
        if (byte + blocks * 64 <= set->shard[w.shard].bytes)
            copy_each((const uint64_t *)((const char *)map[w.shard].memory + byte), x, y, 8 * blocks, out / in);
        pass->seconds[i] = world_now() - begin;
        pass->total += pass->seconds[i];
        pass->sum[i] = sum_of((struct token_pair){ x, y }, settings->width, tokens); /* as behind other batches */
    }
    for (int i = 0; i < set->count; i++)
        shard_map_close(&map[i]);
    free(map);
    free(x);
    free(y);
}
