#include "feed/reading_state.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/memory.h"
#include "feed/bijection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char *const tails[] = { "published", "exact" }, *const shuffles[] = { "none", "shard", "global" };

/* All that stands in the line. */
struct line {
    struct reading_state state;
    char tail[16], shuffle[16];
    uint64_t seed, rows, length, ranks, tokens, shards, check;
};

uint64_t reading_state_row(uint64_t position, uint32_t crc)
{
    return bijection_mix(position, crc);
}

uint32_t reading_state_crc(const void *tokens, uint64_t count)
{
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t done = 0, most = UINT64_C(1) << 28; done < count; done += most)
        crc = crc32(crc, (const Bytef *)tokens + 4 * done, (uInt)(4 * (count - done < most ? count - done : most)));
    return (uint32_t)crc;
}

uint64_t reading_state_batch(const struct window_order *o, const struct token_window *windows, const void *x)
{
    const uint64_t rows = window_order_tokens(o) / o->length;
    const char *row_x = x;
    uint64_t sum = 0;
    for (uint64_t w = 0; w < window_order_count(o); w++)
        for (uint64_t row = 0; row < rows; row++, row_x += 4 * o->length)
            sum += reading_state_row(windows[w].position + row * o->length, reading_state_crc(row_x, o->length));
    return sum;
}

void reading_state_step(struct reading_state *state, const struct window_order *o, uint64_t checksum)
{
    state->rows += o->ranks * o->rows;
    state->steps++;
    state->checksum += checksum;
}

static uint64_t check_of(const char *text)
{
    uint64_t hash = HASH_BEGIN;
    for (; *text; text++)
        hash = hash_add(hash, (unsigned char)*text);
    return hash;
}

/* Return the line up to its check. Free it. */
static char *text_of(const struct line *l)
{
    return memory_text("tokens_read rows=%" PRIu64 " steps=%" PRIu64 " checksum=%016" PRIx64 " output=%" PRIu64
                       ":%" PRIu64 ":%" PRIu64 "-%" PRIu64 " tail=%s shuffle=%s seed=%" PRIu64 " batch_size=%" PRIu64
                       " seq_len=%" PRIu64 " ranks=%" PRIu64 " tokens=%" PRIu64 " shards=%016" PRIx64,
                       l->state.rows, l->state.steps, l->state.checksum, l->state.output.device, l->state.output.inode,
                       l->state.output.begin, l->state.output.end, l->tail, l->shuffle, l->seed, l->rows, l->length,
                       l->ranks, l->tokens, l->shards);
}

static struct line line_of(const struct reading_state *state, const struct window_order *o, const struct shard_set *set)
{
    struct line l = { .state = *state,
                      .seed = o->seed,
                      .rows = o->rows,
                      .length = o->length,
                      .ranks = o->ranks,
                      .tokens = shard_set_tokens(set),
                      .shards = shard_set_identity(set) };
    strcpy(l.tail, tails[o->tail]);
    strcpy(l.shuffle, shuffles[o->shuffle]);
    return l;
}

void reading_state_save(const char *path, const struct reading_state *state, const struct window_order *o,
                        const struct shard_set *set)
{
    const struct line l = line_of(state, o, set);
    char *text = text_of(&l);
    const char *slash = strrchr(path, '/');
    char *folder = slash ? memory_text("%.*s", slash == path ? 1 : (int)(slash - path), path) : memory_text(".");
    struct file file = file_begin(folder, slash ? slash + 1 : path);
    fprintf(file.out, "%s check=%016" PRIx64 "\n", text, check_of(text));
    file_commit(&file);
    free(folder);
    free(text);
}

static bool parse(const char *text, struct line *l)
{
    const char *words =
        "tokens_read rows=%" SCNu64 " steps=%" SCNu64 " checksum=%" SCNx64 " output=%" SCNu64 ":%" SCNu64 ":%" SCNu64
        "-%" SCNu64 " tail=%15s shuffle=%15s seed=%" SCNu64 " batch_size=%" SCNu64 " seq_len=%" SCNu64 " ranks=%" SCNu64
        " tokens=%" SCNu64 " shards=%" SCNx64 " check=%" SCNx64;
    if (sscanf(text, words, &l->state.rows, &l->state.steps, &l->state.checksum, &l->state.output.device,
               &l->state.output.inode, &l->state.output.begin, &l->state.output.end, l->tail, l->shuffle, &l->seed,
               &l->rows, &l->length, &l->ranks, &l->tokens, &l->shards, &l->check) != 16)
        return false;
    char *again = text_of(l);
    const bool is_whole = check_of(again) == l->check;
    free(again);
    return is_whole;
}

/* Refuse a state that another order has left. */
static void compare(const char *path, const struct line *was, const struct line *now)
{
    if (was->shards != now->shards || was->tokens != now->tokens)
        die(STATUS_USAGE,
            "--state %s: was read from other shards (%" PRIu64 " tokens, not %" PRIu64
            "); give it those, or remove it to begin anew",
            path, was->tokens, now->tokens);
    if (strcmp(was->tail, now->tail) != 0 || strcmp(was->shuffle, now->shuffle) != 0)
        die(STATUS_USAGE, "--state %s: was read with --tail %s --shuffle %s; give these, or remove it to begin anew",
            path, was->tail, was->shuffle);
    if (was->length != now->length)
        die(STATUS_USAGE, "--state %s: was read with --seq-len %" PRIu64 "; give that, or remove it to begin anew",
            path, was->length);
    if (was->seed != now->seed && strcmp(now->shuffle, "none") != 0)
        die(STATUS_USAGE, "--state %s: was shuffled with --seed %" PRIu64 "; give that, or remove it to begin anew",
            path, was->seed);
    const bool is_published = strcmp(now->tail, tails[TAIL_PUBLISHED]) == 0;
    if (is_published && (was->ranks != now->ranks || was->rows != now->rows))
        die(STATUS_USAGE,
            "--state %s: --tail published cannot go on with other than --ranks %" PRIu64 " --batch-size %" PRIu64
            ", because its order depends on them; --tail exact can",
            path, was->ranks, was->rows);
}

struct reading_state reading_state_load(const char *path, struct window_order *o, const struct shard_set *set)
{
    struct reading_state state = { 0 };
    char *text = file_read(path, NULL);
    if (!text && errno != ENOENT)
        die(STATUS_USAGE, "--state %s: cannot be read: %s", path, strerror(errno));
    if (!text)
        return state;
    struct line was = { 0 };
    if (!parse(text, &was))
        die(STATUS_USAGE, "--state %s: is no whole line of a state; remove it to begin anew", path);
    free(text);
    const struct line now = line_of(&state, o, set);
    compare(path, &was, &now);
    o->first_row = was.state.rows;
    o->first_step = was.state.steps;
    return was.state;
}
