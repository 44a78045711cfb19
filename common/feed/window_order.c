#include "feed/window_order.h"

#include "base/hot.h"
#include "feed/bijection.h"
#include "feed/token_shard.h"

#include <inttypes.h>

/* Return the number of all tokens: M. */
static uint64_t all_tokens(const struct window_order *o)
{
    return o->start[o->shards];
}

uint64_t window_order_count(const struct window_order *o)
{
    return o->shuffle == SHUFFLE_NONE ? 1 : o->rows;
}

uint64_t window_order_tokens(const struct window_order *o)
{
    return o->shuffle == SHUFFLE_NONE ? o->rows * o->length : o->length;
}

/* --- published ------------------------------------------------------------------------------------------------------ */

/* Return the number of batches that `rank` reads of a shard of `tokens` tokens. It begins at p = B T r. Batch i >= 1 is read if
 * p + (i + 1) B T n + 1 <= tokens, as compared after batch i - 1; batch 0 is read without comparison. */
static uint64_t batches_of(const struct window_order *o, uint64_t rank, uint64_t tokens)
{
    const uint64_t begin = o->rows * o->length * rank + 1, stride = o->rows * o->length * o->ranks;
    const uint64_t whole = tokens > begin ? (tokens - begin) / stride : 0;
    return whole > 1 ? whole : 1;
}

uint64_t window_order_pass(const struct window_order *o, uint64_t rank)
{
    uint64_t batches = 0;
    for (int s = 0; s < o->shards; s++)
        batches += batches_of(o, rank, o->start[s + 1] - o->start[s]);
    return batches;
}

static struct token_window published(const struct window_order *o, uint64_t rank, uint64_t step)
{
    const uint64_t pass = window_order_pass(o, rank), passes = step / pass, batch = o->rows * o->length;
    uint64_t left = step % pass;
    int s = 0;
    for (uint64_t here; (here = batches_of(o, rank, o->start[s + 1] - o->start[s])) <= left; s++)
        left -= here;
    const uint64_t first = batch * rank + left * batch * o->ranks;
    return (
        struct token_window){ .shard = s, .first = first, .position = passes * all_tokens(o) + o->start[s] + first };
}

/* --- exact ---------------------------------------------------------------------------------------------------------- */

/* Return the first row that begins at this position or later. */
static uint64_t row_from(const struct window_order *o, uint64_t position)
{
    return position / o->length + (position % o->length > 0);
}

/* Return the shard of a token, 0 … M-1: the last one that begins there or before, which is not empty. */
static int shard_of(const struct window_order *o, uint64_t token)
{
    int low = 0, high = o->shards - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (o->start[middle] <= token)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

uint64_t window_order_epoch(const struct window_order *o, uint64_t epoch)
{
    return row_from(o, epoch * all_tokens(o));
}

uint64_t window_order_shuffled(const struct window_order *o, uint64_t row)
{
    if (o->shuffle == SHUFFLE_NONE)
        return row;
    const uint64_t epoch = row * o->length / all_tokens(o), begin = epoch * all_tokens(o);
    const bool is_global = o->shuffle == SHUFFLE_GLOBAL;
    const int s = is_global ? 0 : shard_of(o, row * o->length % all_tokens(o));
    const uint64_t low = row_from(o, begin + (is_global ? 0 : o->start[s])),
                   high = row_from(o, begin + (is_global ? all_tokens(o) : o->start[s + 1]));
    const uint64_t key = bijection_mix(bijection_mix(o->seed, epoch), (uint64_t)s);
    const struct bijection b = bijection_of(high - low, key);
    return low + bijection_image(&b, row - low);
}

static struct token_window exact(const struct window_order *o, uint64_t rank, uint64_t step, uint64_t window)
{
    const uint64_t row = o->first_row + (step * o->ranks + rank) * o->rows + window;
    const uint64_t position = window_order_shuffled(o, row) * o->length, token = position % all_tokens(o);
    const int s = shard_of(o, token);
    return (struct token_window){ .shard = s, .first = token - o->start[s], .position = position };
}

/* --- both ----------------------------------------------------------------------------------------------------------- */

struct token_window window_order_at(const struct window_order *o, uint64_t rank, uint64_t step, uint64_t window)
{
    return o->tail == TAIL_PUBLISHED ? published(o, rank, o->first_step + step) : exact(o, rank, step, window);
}

HOT void window_order_next(const struct window_order *o, uint64_t rank, struct token_window *w)
{
    const uint64_t batch = o->rows * o->length, stride = batch * o->ranks;
    const bool is_published = o->tail == TAIL_PUBLISHED;
    w->first += stride;
    w->position += stride;
    uint64_t tokens = o->start[w->shard + 1] - o->start[w->shard];
    while (is_published ? w->first + stride + 1 > tokens : w->first >= tokens) {
        const uint64_t skipped = tokens - w->first,
                       begin = batch * rank; /* may be less than none: differences cancel */
        w->shard = w->shard + 1 < o->shards ? w->shard + 1 : 0;
        w->position += is_published ? skipped + begin : 0;
        w->first = is_published ? begin : w->first - tokens;
        tokens = o->start[w->shard + 1] - o->start[w->shard];
        if (is_published)
            return;
    }
}

void window_order_refuse(const struct window_order *o, const char *const *names)
{
    const uint64_t batch = o->rows * o->length;
    if (o->tail == TAIL_EXACT)
        return;
    if (o->shuffle != SHUFFLE_NONE)
        die(STATUS_USAGE, "--tail published reads shards in their order; for a --shuffle take --tail exact");
    for (int s = 0; s < o->shards; s++) {
        const uint64_t tokens = o->start[s + 1] - o->start[s];
        if (tokens < batch * o->ranks + 1)
            die(STATUS_USAGE,
                "%s: %" PRIu64
                " tokens are too few for --tail published, in which each shard gives every rank a batch: "
                "%" PRIu64 " ranks of %" PRIu64 " x %" PRIu64
                " tokens and one more; take --tail exact, or smaller batches",
                names[s], tokens, o->ranks, o->rows, o->length);
    }
}
