#include "feed/batch_source.h"

#include "base/hot.h"
#include "base/memory.h"
#include "feed/shard_map.h"
#include "feed/shard_read.h"
#include "feed/widen.h"
#include "world/async_helper.h"

#include <stdlib.h>
#include <string.h>

const char *const source_ways[SOURCE_WAYS] = { "elements",   "blocks",   "mapped",   "preallocated", "advised",
                                               "prefetched", "windowed", "buffered", "views" };

/* x and y of a batch, and the windows (window_order_count()) that its tokens were fetched from. */
struct buffers {
    void *x, *y;
    struct token_window *from;
};

/* Properties of each way. */
static const struct way {
    bool reads;     /* into a buffer; else the shard is mapped */
    bool allocates; /* buffer, x and y for each batch */
    bool by_elements, by_loop;
    bool advises, unmaps;
} ways[SOURCE_WAYS] = {
    [SOURCE_ELEMENTS] = { .reads = true, .allocates = true, .by_elements = true },
    [SOURCE_BLOCKS] = { .reads = true, .allocates = true },
    [SOURCE_MAPPED] = { .allocates = true },
    [SOURCE_PREALLOCATED] = { 0 },
    [SOURCE_ADVISED] = { .advises = true },
    [SOURCE_PREFETCHED] = { .advises = true },
    [SOURCE_WINDOWED] = { .advises = true, .unmaps = true },
    [SOURCE_BUFFERED] = { .reads = true, .by_loop = true },
    [SOURCE_VIEWS] = { .advises = true },
};

struct batch_source {
    struct source_settings settings;
    struct way way;
    size_t window;          /* tokens of a window, without the one more that y needs */
    uint64_t step;          /* of the next batch to fill */
    struct token_window at; /* its window, if it has one */
    struct buffers ring[2]; /* two if prefetched, else one */
    int shown;              /* the one that the caller has */
    void *raw;              /* (window + 1) tokens as read */
    struct shard_map *map;  /* (shards) those in use are open */
    bool in_order;          /* not shuffled */
    struct extent {
        uint64_t from, to;  /* bytes */
    } * mapped;             /* (shards) the last part, of ways that advise */
    int last;               /* shard whose pages are mapped, of a way that unmaps others */
    struct shard_read read; /* the file in use */
    struct async_helper *helper;
    struct source_counts counts;
};

enum { EVEN = 64 }; /* bytes: all arrays begin at a multiple of these, as those of memory_new() do */

static size_t batch_bytes(const struct batch_source *s)
{
    return s->settings.order.rows * s->settings.order.length * (size_t)s->settings.width;
}

static void *allocate(struct batch_source *s, size_t bytes)
{
    void *memory = aligned_alloc(EVEN, bytes + EVEN - bytes % EVEN);
    if (!memory)
        die(STATUS_WRONG, "no memory for a batch of %zu bytes; choose a smaller --batch-size", bytes);
    s->counts.allocations++;
    return memory;
}

/* --- the tokens of a window ----------------------------------------------------------------------------------------- */

static uint64_t byte_of(const struct token_shard *file, uint64_t token)
{
    return file->offset + token * (uint64_t)file->width;
}

/* True if bytes from this one on go on from what is mapped. */
static bool goes_on(const struct extent *mapped, uint64_t from)
{
    return from >= mapped->from && from <= mapped->to;
}

/* Unmap what was mapped for tokens before the one at byte `from`: the pages behind it or, if it does not go on from them, all of them. The
 * kernel may have mapped more around them, but not beyond what one page of its tables maps. */
HOT static void unmap_behind(struct batch_source *s, int shard, uint64_t from)
{
    enum { AROUND = 2 << 20 };
    struct extent *mapped = &s->mapped[s->last];
    const struct shard_map *map = &s->map[s->last];
    if (s->in_order && shard == s->last && goes_on(mapped, from)) {
        shard_map_unmap(map, mapped->from, from - mapped->from);
        mapped->from = from;
    } else if (mapped->to > 0) {
        const uint64_t all = map->shard->bytes, begin = mapped->from < AROUND ? 0 : mapped->from - AROUND,
                       end = all - mapped->to < AROUND ? all : mapped->to + AROUND;
        shard_map_unmap(map, begin, end - begin);
        *mapped = (struct extent){ 0 };
    }
    s->last = shard;
}

/* Ask for the pages from a token on, so that one call maps what would be many page faults. */
HOT static void populate(struct batch_source *s, int shard, uint64_t token, size_t count)
{
    const struct token_shard *file = &s->settings.set->shard[shard];
    struct extent *done = &s->mapped[shard];
    const uint64_t from = byte_of(file, token), to = byte_of(file, token + count);
    if (from >= done->from && to <= done->to)
        return;
    if (s->way.unmaps)
        unmap_behind(s, shard, from);
    const uint64_t end = to - to % SOURCE_ADVICE + SOURCE_ADVICE;
    const uint64_t last = end < file->bytes ? end : file->bytes;
    const bool is_next = goes_on(done, from);
    const uint64_t begin = is_next ? done->to : from;
    shard_map_populate(&s->map[shard], begin, last - begin);
    *done = (struct extent){ .from = is_next ? done->from : from, .to = last };
}

/* Return `count` tokens of one shard, valid until the next call. */
HOT static const void *tokens_at(struct batch_source *s, int shard, uint64_t first, size_t count)
{
    const struct token_shard *file = &s->settings.set->shard[shard];
    if (s->way.reads) {
        s->counts.reads += shard_read_tokens(&s->read, file, first, count, s->raw);
        return s->raw;
    }
    if (!s->map[shard].memory) {
        shard_map_open(&s->map[shard], file);
        if (s->way.advises)
            shard_map_advise(&s->map[shard], s->in_order);
    }
    if (s->way.advises && s->in_order)
        populate(s, shard, first, count);
    else if (s->way.unmaps) { /* rows that are shuffled lie apart */
        unmap_behind(s, shard, byte_of(file, first));
        s->mapped[shard] = (struct extent){ byte_of(file, first), byte_of(file, first + count) };
    }
    return shard_map_at(&s->map[shard], first);
}

/* --- filling x and y ------------------------------------------------------------------------------------------------ */

HOT static void widen(const struct batch_source *s, const void *tokens, void *x, void *y, size_t count)
{
    const struct widths widths = { s->settings.set->width, s->settings.width };
    if (s->way.by_elements)
        widen_elements(widths, tokens, x, y, count);
    else if (s->way.by_loop)
        widen_loop(widths, tokens, x, y, count);
    else
        widen_block(widths, tokens, x, y, count);
}

static void *element(const struct batch_source *s, void *array, size_t index)
{
    return (char *)array + index * (size_t)s->settings.width;
}

/* Copy the tokens of a window, and one more for y. Where the shard ends, go on in the next one. The token at which two pieces meet is
 * the last y of the first piece and the first x of the second, so each piece but the last reads x and y of its last token apart. */
HOT static void fill_window(struct batch_source *s, struct token_window w, void *x, void *y)
{
    const struct shard_set *set = s->settings.set;
    size_t done = 0; /* elements of x that are filled */
    while (done < s->window) {
        const uint64_t here = set->shard[w.shard].tokens - w.first;
        const size_t left = s->window - done, count = here > left ? left : (size_t)here;
        const bool is_whole = here > left; /* the token after the last x is in this shard, too */
        const void *tokens = tokens_at(s, w.shard, w.first, count + (is_whole ? 1 : 0));
        const size_t pairs = is_whole ? count : count - 1;
        widen(s, tokens, element(s, x, done), element(s, y, done), pairs);
        done += count;
        if (is_whole)
            return;
        /* The shard's last token: its y is the first token of the next shard. */
        const char *last = (const char *)tokens + pairs * (size_t)set->width;
        widen_one((struct widths){ set->width, s->settings.width }, last, element(s, x, done - 1));
        w = (struct token_window){ .shard = (w.shard + 1) % set->count };
        widen_one((struct widths){ set->width, s->settings.width }, tokens_at(s, w.shard, 0, 1),
                  element(s, y, done - 1));
    }
}

HOT static void go_on(struct batch_source *s)
{
    s->step++;
    if (s->in_order)
        window_order_next(&s->settings.order, s->settings.rank, &s->at);
}

HOT static void fill(struct batch_source *s, struct buffers *to)
{
    const uint64_t windows = window_order_count(&s->settings.order);
    for (uint64_t i = 0; i < windows; i++) {
        const struct token_window w =
            s->in_order ? s->at : window_order_at(&s->settings.order, s->settings.rank, s->step, i);
        fill_window(s, w, element(s, to->x, i * s->window), element(s, to->y, i * s->window));
        to->from[i] = w;
    }
    go_on(s);
}

/* --- the ways --------------------------------------------------------------------------------------------------------- */

/* Free what the batch before was given, and allocate anew. */
HOT static struct token_pair next_allocated(struct batch_source *s)
{
    struct buffers *b = &s->ring[0];
    free(b->x);
    free(b->y);
    b->x = allocate(s, batch_bytes(s));
    b->y = allocate(s, batch_bytes(s));
    if (s->way.reads)
        s->raw = allocate(s, (s->window + 1) * (size_t)s->settings.set->width);
    fill(s, b);
    if (s->way.reads) {
        free(s->raw);
        s->raw = NULL;
    }
    return (struct token_pair){ b->x, b->y };
}

static void fill_ahead(void *source)
{
    struct batch_source *s = source;
    if (s->settings.before)
        s->settings.before(s->settings.argument);
    if (s->settings.set)
        fill(s, &s->ring[s->step % 2]);
}

/* Take the pair that the helper has filled, and let it fill the other one, which the step before no longer uses. */
HOT static struct token_pair next_prefetched(struct batch_source *s)
{
    async_helper_end(s->helper);
    s->shown = (int)((s->step + 1) % 2);
    const struct buffers *full = &s->ring[s->shown];
    async_helper_begin(s->helper, fill_ahead, s);
    return (struct token_pair){ full->x, full->y };
}

/* A view of the shard if the batch is in one piece, else a copy of the same width. */
HOT static struct token_pair next_view(struct batch_source *s)
{
    const struct token_window w = s->at;
    const bool is_whole = s->in_order && s->settings.set->shard[w.shard].tokens - w.first > s->window;
    if (!is_whole) {
        fill(s, &s->ring[0]);
        return (struct token_pair){ s->ring[0].x, s->ring[0].y };
    }
    s->ring[0].from[0] = w;
    go_on(s);
    const char *x = tokens_at(s, w.shard, w.first, s->window + 1);
    return (struct token_pair){ x, x + s->settings.set->width };
}

HOT struct token_pair batch_source_next(struct batch_source *s)
{
    s->counts.batches++;
    if (s->helper)
        return next_prefetched(s);
    if (s->settings.before)
        s->settings.before(s->settings.argument);
    if (!s->settings.set)
        return (struct token_pair){ 0 };
    if (s->settings.way == SOURCE_VIEWS)
        return next_view(s);
    if (s->way.allocates)
        return next_allocated(s);
    fill(s, &s->ring[0]);
    return (struct token_pair){ s->ring[0].x, s->ring[0].y };
}

const struct token_window *batch_source_windows(const struct batch_source *s)
{
    return s->ring[s->shown].from;
}

void batch_source_settle(struct batch_source *s)
{
    if (s->helper)
        async_helper_end(s->helper);
}

struct source_counts batch_source_counts(const struct batch_source *s)
{
    return s->counts;
}

/* Open what the ways need of shards and memory. */
static void open_buffers(struct batch_source *s)
{
    const struct shard_set *set = s->settings.set;
    s->at = window_order_at(&s->settings.order, s->settings.rank, 0, 0);
    s->map = memory_new((size_t)set->count, sizeof *s->map);
    s->mapped = memory_new((size_t)set->count, sizeof *s->mapped);
    shard_read_open(&s->read, s->settings.way == SOURCE_BUFFERED);
    const int pairs = s->settings.way == SOURCE_PREFETCHED ? 2 : 1;
    for (int i = 0; i < pairs; i++)
        s->ring[i].from = memory_new(window_order_count(&s->settings.order), sizeof *s->ring[i].from);
    if (s->way.allocates)
        return;
    if (s->way.reads)
        s->raw = memory_new(s->window + 1, (size_t)set->width);
    for (int i = 0; i < pairs; i++) {
        s->ring[i].x = memory_new(batch_bytes(s), 1);
        s->ring[i].y = memory_new(batch_bytes(s), 1);
    }
}

struct batch_source *batch_source_open(const struct source_settings *settings)
{
    struct batch_source *s = memory_new(1, sizeof *s);
    s->settings = *settings;
    s->way = ways[settings->way];
    s->window = window_order_tokens(&settings->order);
    s->in_order = settings->order.shuffle == SHUFFLE_NONE;
    if (settings->set && settings->way == SOURCE_VIEWS)
        s->settings.width = settings->set->width;
    if (settings->set)
        open_buffers(s);
    if (settings->way == SOURCE_PREFETCHED) {
        s->helper = async_helper_open();
        async_helper_begin(s->helper, fill_ahead, s);
    }
    return s;
}

static void close_buffers(struct batch_source *s)
{
    for (int i = 0; i < 2; i++) {
        free(s->ring[i].x);
        free(s->ring[i].y);
        free(s->ring[i].from);
    }
    for (int i = 0; i < s->settings.set->count; i++)
        if (s->map[i].memory)
            shard_map_close(&s->map[i]);
    shard_read_close(&s->read);
    free(s->map);
    free(s->mapped);
    free(s->raw);
}

void batch_source_close(struct batch_source *s)
{
    if (s->helper) {
        async_helper_end(s->helper);
        async_helper_close(s->helper);
    }
    if (s->settings.set)
        close_buffers(s);
    free(s);
}
