#include "trace_events.h"

#include "base/memory.h"
#include "trace_values.h"

#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

struct trace_events {
    yajl_handle handle;
    void (*take)(void *to, const struct trace_event *event);
    void *to;
    struct trace_values values;
    int depth;
    enum trace_place place[TRACE_DEPTH_MOST + 1];
    uint32_t seen[TRACE_DEPTH_MOST + 1]; /* keys of the object, a bit each */
    enum trace_key key;                  /* of the value that comes next; KEY_UNKNOWN in lists */
    bool has_events, has_first;
    int64_t first;        /* start of the first event */
    unsigned tokens;      /* of the current block */
    size_t without_token; /* bytes of the last blocks that had none */
    char *why;
};

/* --- values ----------------------------------------------------------------------------------------------------- */

/* Stop the parser. Return the value with which a callback cancels yajl. */
static int stop(struct trace_events *p, char *why)
{
    free(p->why);
    p->why = why;
    return 0;
}

static int stop_at_time(struct trace_events *p, const char *text, size_t length)
{
    return stop(p, memory_text("%s is %.*s, not a time in microseconds", p->key == KEY_START ? "ts" : "dur",
                               (int)(length < 40 ? length : 40), text));
}

static int on_number(void *context, const char *text, size_t length)
{
    struct trace_events *p = context;
    p->tokens++;
    if (p->place[p->depth] == PLACE_GROUP_RANKS)
        trace_values_add_rank(p->values.head, text, length);
    else if (!trace_values_take_number(&p->values, p->key, text, length))
        return stop_at_time(p, text, length);
    p->key = KEY_UNKNOWN;
    return 1;
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
    struct trace_events *p = context;
    p->tokens++;
    if (!trace_values_take_text(&p->values, p->key, (const char *)text, length))
        return stop_at_time(p, (const char *)text, length);
    p->key = KEY_UNKNOWN;
    return 1;
}

static int on_null(void *context)
{
    struct trace_events *p = context;
    p->tokens++;
    p->key = KEY_UNKNOWN;
    return 1;
}

static int on_boolean(void *context, int value)
{
    (void)value;
    return on_null(context);
}

/* --- objects and lists ------------------------------------------------------------------------------------------ */

static int enter(struct trace_events *p, enum trace_place place)
{
    p->tokens++;
    if (p->depth == TRACE_DEPTH_MOST)
        return stop(p, memory_text("nested more than %d deep, which no profiler writes", TRACE_DEPTH_MOST));
    p->place[++p->depth] = place;
    p->seen[p->depth] = 0;
    p->key = KEY_UNKNOWN;
    return 1;
}

static int on_start_map(void *context)
{
    struct trace_events *p = context;
    enum trace_place outer = p->place[p->depth], place = PLACE_ELSEWHERE;
    if (p->depth == 0) {
        place = PLACE_TOP;
    } else if (outer == PLACE_EVENTS) {
        place = PLACE_EVENT;
        trace_values_clear(&p->values.event);
    } else if (p->key == KEY_ARGS) {
        place = PLACE_ARGUMENTS;
    } else if (p->key == KEY_JOB) {
        place = PLACE_DISTRIBUTED;
    } else if (outer == PLACE_GROUPS) {
        place = PLACE_GROUP;
        if (!trace_values_add_group(p->values.head))
            return stop(p, memory_text("more than %d process groups", TRACE_GROUPS_MOST));
    }
    return enter(p, place);
}

static int on_start_array(void *context)
{
    struct trace_events *p = context;
    bool is_events = p->depth == 0 || p->key == KEY_EVENT_LIST; /* Chrome also accepts a bare list of events */
    p->has_events |= is_events;
    return enter(p, is_events                ? PLACE_EVENTS
                    : p->key == KEY_CONFIG   ? PLACE_GROUPS
                    : p->key == KEY_PG_RANKS ? PLACE_GROUP_RANKS
                                             : PLACE_ELSEWHERE);
}

static int on_end(void *context)
{
    struct trace_events *p = context;
    p->tokens++;
    p->key = KEY_UNKNOWN;
    if (p->place[p->depth--] != PLACE_EVENT || !p->values.event.has_start)
        return 1;
    if (!p->has_first)
        p->first = p->values.event.start;
    p->has_first = true;
    if (p->values.event.start > p->first + TRACE_DURATION_MOST ||
        p->values.event.start < p->first - TRACE_DURATION_MOST)
        return stop(p, memory_text("an event is more than %d days from the first one", TRACE_DAYS_MOST));
    p->take(p->to, &p->values.event);
    return 1;
}

static int on_key(void *context, const unsigned char *text, size_t length)
{
    struct trace_events *p = context;
    int bit;
    const struct trace_key_row *row = trace_keys_find(p->place[p->depth], text, length, &bit);
    p->tokens++;
    p->key = KEY_UNKNOWN;
    if (!row)
        return 1;
    if (p->seen[p->depth] >> bit & 1)
        return stop(p, memory_text("the key \"%s\" appears twice in one object", row->name));
    p->seen[p->depth] |= UINT32_C(1) << bit;
    p->key = row->key;
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end,
};

/* --- blocks ----------------------------------------------------------------------------------------------------- */

struct trace_events *trace_events_open(void (*take)(void *to, const struct trace_event *event), void *to,
                                       struct trace_head *head)
{
    struct trace_events *p = memory_new(1, sizeof *p);
    *p = (struct trace_events){ .take = take, .to = to, .values = { .head = head } };
    p->handle = yajl_alloc(&callbacks, NULL, p);
    yajl_config(p->handle, yajl_dont_validate_strings, 1); /* texts are compared, not shown, so bytes do no harm */
    return p;
}

void trace_events_close(struct trace_events *p)
{
    yajl_free(p->handle);
    free(p->why);
    free(p);
}

/* Turn the parser's complaint into a line. `byte`: of the uncompressed file. */
static char *complaint(struct trace_events *p, size_t byte)
{
    if (p->why)
        return memory_text("byte %zu: %s; record the trace again with torch.profiler", byte, p->why);
    unsigned char *said = yajl_get_error(p->handle, 0, NULL, 0);
    char *why = memory_text("byte %zu: not JSON: %.*s; record the trace again with torch.profiler", byte,
                            (int)strcspn((const char *)said, "\n"), (const char *)said);
    yajl_free_error(p->handle, said);
    return why;
}

char *trace_events_parse(struct trace_events *p, const unsigned char *block, size_t size, size_t byte)
{
    p->tokens = 0;
    if (yajl_parse(p->handle, block, size) != yajl_status_ok)
        return complaint(p, byte + yajl_get_bytes_consumed(p->handle));
    p->without_token = p->tokens ? 0 : p->without_token + size;
    if (p->without_token <= TRACE_VALUE_MOST)
        return NULL;
    stop(p, memory_text("a value of more than %d bytes", TRACE_VALUE_MOST));
    return complaint(p, byte + size);
}

bool trace_events_are_complete(struct trace_events *p)
{
    return yajl_complete_parse(p->handle) == yajl_status_ok;
}

bool trace_events_are_there(const struct trace_events *p)
{
    return p->has_events;
}
