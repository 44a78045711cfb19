#include "trace_json.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>
#include <zlib.h>

enum { BLOCK = 1 << 16, GROUPS_MOST = 1 << 14, DAYS_MOST = 46 };
static const int64_t NS_MOST = INT64_C(2000000000000000000);    /* 63 years: sums and differences of some still fit */
static const int64_t DURATION_MOST = INT64_C(4000000000000000); /* ns: DAYS_MOST */

/* Where the parser is: in an object or a list whose contents are looked at, or elsewhere. */
enum place { ELSEWHERE, TOP, EVENTS, EVENT, ARGUMENTS, DISTRIBUTED, GROUPS, GROUP, GROUP_RANKS };

enum key {
    UNKNOWN,
    EVENT_LIST,
    BASE,
    HOST,
    JOB,
    PHASE,
    CATEGORY,
    NAME,
    PROCESS,
    THREAD,
    START,
    DURATION,
    ARGS,
    GROUP_NAME,
    RANKS,
    COLLECTIVE,
    ELEMENTS_IN,
    ELEMENTS_OUT,
    TYPE,
    GROUP_SIZE,
    SOURCE,
    DESTINATION,
    CORRELATION,
    STREAM,
    BACKEND,
    RANK,
    WORLD_SIZE,
    CONFIG,
    PG_NAME,
    PG_RANKS,
    PG_SIZE,
};

static const struct {
    enum place in;
    enum key key;
    const char *name;
} keys[] = {
    { TOP, EVENT_LIST, "traceEvents" },
    { TOP, BASE, "baseTimeNanoseconds" },
    { TOP, HOST, "host_name" },
    { TOP, JOB, "distributedInfo" },
    { EVENT, PHASE, "ph" },
    { EVENT, CATEGORY, "cat" },
    { EVENT, NAME, "name" },
    { EVENT, PROCESS, "pid" },
    { EVENT, THREAD, "tid" },
    { EVENT, START, "ts" },
    { EVENT, DURATION, "dur" },
    { EVENT, ARGS, "args" },
    { ARGUMENTS, GROUP_NAME, "Process Group Name" },
    { ARGUMENTS, RANKS, "Process Group Ranks" },
    { ARGUMENTS, COLLECTIVE, "Collective name" },
    { ARGUMENTS, ELEMENTS_IN, "In msg nelems" },
    { ARGUMENTS, ELEMENTS_OUT, "Out msg nelems" },
    { ARGUMENTS, TYPE, "dtype" },
    { ARGUMENTS, GROUP_SIZE, "Group size" },
    { ARGUMENTS, SOURCE, "Src Rank" },
    { ARGUMENTS, DESTINATION, "Dst Rank" },
    { ARGUMENTS, CORRELATION, "correlation" },
    { ARGUMENTS, STREAM, "stream" },
    { DISTRIBUTED, BACKEND, "backend" },
    { DISTRIBUTED, RANK, "rank" },
    { DISTRIBUTED, WORLD_SIZE, "world_size" },
    { DISTRIBUTED, CONFIG, "pg_config" },
    { GROUP, PG_NAME, "pg_name" },
    { GROUP, PG_RANKS, "ranks" },
    { GROUP, PG_SIZE, "pg_size" },
};

struct parser {
    yajl_handle handle;
    void (*take)(void *to, const struct trace_event *event);
    void *to;
    struct trace_head *head;
    struct trace_event event;
    int depth;
    enum place place[TRACE_DEPTH_MOST + 1];
    uint32_t seen[TRACE_DEPTH_MOST + 1]; /* keys of the object, a bit each */
    enum key key;                        /* of the value that comes next; UNKNOWN in lists */
    bool has_events, has_first;
    int64_t first;   /* start of the first event */
    unsigned tokens; /* of the current block */
    char *why;
};

/* --- values ----------------------------------------------------------------------------------------------------- */

/* Stop the parser. Return what a callback of yajl returns then. */
static int stop(struct parser *p, char *why)
{
    free(p->why);
    p->why = why;
    return 0;
}

static void copy(char *to, size_t room, const unsigned char *text, size_t length)
{
    size_t kept = length < room ? length : room - 1;
    memcpy(to, text, kept);
    to[kept] = '\0';
}

/* Read a decimal number times 1000 as an integer: exact for microseconds with three decimals, which doubles are not. */
static bool parse_thousandths(const char *text, size_t length, int64_t *value)
{
    size_t at = length > 0 && text[0] == '-', digits = 0;
    int64_t number = 0;
    int decimals = -1;
    for (; at < length && decimals < 3; at++) {
        if (text[at] == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (text[at] < '0' || text[at] > '9')
            break;
        if (number > NS_MOST / 10)
            return false;
        number = 10 * number + (text[at] - '0');
        decimals += decimals >= 0;
        digits++;
    }
    while (at < length && decimals == 3 && text[at] >= '0' && text[at] <= '9')
        at++;
    if (digits == 0 || at < length)
        return false;
    for (int i = decimals < 0 ? 0 : decimals; i < 3; i++) {
        if (number > NS_MOST / 10)
            return false;
        number *= 10;
    }
    *value = text[0] == '-' ? -number : number;
    return true;
}

/* Read a number with an exponent, as 4.2e+15. */
static bool parse_exponent(const char *text, size_t length, int64_t *value)
{
    char copied[64], *end;
    if (length >= sizeof copied || !memchr(text, 'e', length) == !memchr(text, 'E', length))
        return false;
    copy(copied, sizeof copied, (const unsigned char *)text, length);
    double number = 1e3 * strtod(copied, &end);
    if (*end != '\0' || !(number > -(double)NS_MOST && number < (double)NS_MOST))
        return false;
    *value = (int64_t)number;
    return true;
}

static bool parse_number(const char *text, size_t length, int64_t *thousandths)
{
    return parse_thousandths(text, length, thousandths) || parse_exponent(text, length, thousandths);
}

/* Read a whole number, also one that is written as a text; -1 if it is none. */
static int64_t whole(const char *text, size_t length)
{
    int64_t thousandths;
    if (!parse_number(text, length, &thousandths) || thousandths % 1000 != 0)
        return -1;
    return thousandths / 1000;
}

/* Base times are nanoseconds of 19 digits: times 1000 they would not fit. */
static int64_t nanoseconds(const char *text, size_t length)
{
    char copied[32], *end;
    if (length == 0 || length >= sizeof copied)
        return -1;
    copy(copied, sizeof copied, (const unsigned char *)text, length);
    errno = 0;
    long long value = strtoll(copied, &end, 10);
    return errno || *end != '\0' || value < 0 || value > NS_MOST ? -1 : value;
}

static struct trace_group *last_group(struct parser *p)
{
    return &p->head->groups[p->head->group_count - 1];
}

static int take_time(struct parser *p, const char *text, size_t length)
{
    int64_t value;
    bool is_start = p->key == START;
    if (!parse_number(text, length, &value) || (!is_start && (value < 0 || value > DURATION_MOST)))
        return stop(p, memory_text("%s is %.*s, not a time in microseconds", is_start ? "ts" : "dur",
                                   (int)(length < 40 ? length : 40), text));
    *(is_start ? &p->event.start : &p->event.duration) = value;
    *(is_start ? &p->event.has_start : &p->event.has_duration) = true;
    return 1;
}

/* Numbers of events; texts that hold a number come here too. */
static int64_t *number_of(struct parser *p)
{
    struct trace_arguments *a = &p->event.arguments;
    switch (p->key) {
    case PROCESS:
        return &p->event.process;
    case THREAD:
        return &p->event.thread;
    case ELEMENTS_IN:
        return &a->elements_in;
    case ELEMENTS_OUT:
        return &a->elements_out;
    case GROUP_SIZE:
        return &a->group_size;
    case SOURCE:
        return &a->source;
    case DESTINATION:
        return &a->destination;
    case CORRELATION:
        return &a->correlation;
    case STREAM:
        return &a->stream;
    case RANK:
        return &p->head->rank;
    case WORLD_SIZE:
        return &p->head->world_size;
    case PG_SIZE:
        return p->head->group_count ? &last_group(p)->size : NULL;
    default:
        return NULL;
    }
}

static int on_number(void *context, const char *text, size_t length)
{
    struct parser *p = context;
    p->tokens++;
    if (p->place[p->depth] == GROUP_RANKS) { /* append to the group's list */
        char *list = last_group(p)->ranks;
        size_t used = strlen(list);
        if (used + length + 2 < TRACE_RANKS_TEXT) {
            list[used] = ',';
            copy(list + used + (used > 0), length + 1, (const unsigned char *)text, length);
        }
        return 1;
    }
    if (p->key == START || p->key == DURATION)
        return take_time(p, text, length);
    if (p->key == BASE)
        p->head->base = nanoseconds(text, length);
    int64_t *number = number_of(p);
    if (number)
        *number = whole(text, length);
    p->key = UNKNOWN;
    return 1;
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
    struct parser *p = context;
    struct trace_arguments *a = &p->event.arguments;
    p->tokens++;
    switch (p->key) {
    case PHASE:
        p->event.phase = length == 1 ? (char)text[0] : '\0';
        break;
    case CATEGORY:
        copy(p->event.category, sizeof p->event.category, text, length);
        break;
    case NAME:
        copy(p->event.name, sizeof p->event.name, text, length);
        break;
    case GROUP_NAME:
        copy(a->group, sizeof a->group, text, length);
        break;
    case RANKS:
        copy(a->ranks, sizeof a->ranks, text, length);
        break;
    case COLLECTIVE:
        copy(a->collective, sizeof a->collective, text, length);
        break;
    case TYPE:
        copy(a->type, sizeof a->type, text, length);
        break;
    case HOST:
        copy(p->head->host, sizeof p->head->host, text, length);
        break;
    case BACKEND:
        copy(p->head->backend, sizeof p->head->backend, text, length);
        break;
    case PG_NAME:
        copy(last_group(p)->name, sizeof last_group(p)->name, text, length);
        break;
    case START:
    case DURATION:
        return take_time(p, (const char *)text, length);
    default: {
        int64_t *number = number_of(p);
        if (number)
            *number = whole((const char *)text, length);
    }
    }
    p->key = UNKNOWN;
    return 1;
}

static int on_null(void *context)
{
    struct parser *p = context;
    p->tokens++;
    p->key = UNKNOWN;
    return 1;
}

static int on_boolean(void *context, int value)
{
    (void)value;
    return on_null(context);
}

/* --- objects and lists ------------------------------------------------------------------------------------------ */

static int enter(struct parser *p, enum place place)
{
    p->tokens++;
    if (p->depth == TRACE_DEPTH_MOST)
        return stop(p, memory_text("nested more than %d deep, which no profiler writes", TRACE_DEPTH_MOST));
    p->place[++p->depth] = place;
    p->seen[p->depth] = 0;
    p->key = UNKNOWN;
    return 1;
}

static void clear_event(struct trace_event *e)
{
    struct trace_arguments *a = &e->arguments;
    e->phase = e->category[0] = e->name[0] = '\0';
    e->process = e->thread = -1;
    e->start = e->duration = 0;
    e->has_start = e->has_duration = false;
    a->group[0] = a->ranks[0] = a->collective[0] = a->type[0] = '\0';
    a->elements_in = a->elements_out = a->group_size = a->source = a->destination = a->correlation = a->stream = -1;
}

static int add_group(struct parser *p)
{
    struct trace_head *head = p->head;
    if (head->group_count == GROUPS_MOST)
        return stop(p, memory_text("more than %d process groups", GROUPS_MOST));
    head->groups = memory_grow_by_one(head->groups, head->group_count, sizeof *head->groups);
    struct trace_group *group = &head->groups[head->group_count++];
    group->name[0] = group->ranks[0] = '\0';
    group->size = -1;
    return 1;
}

static int on_start_map(void *context)
{
    struct parser *p = context;
    enum place outer = p->place[p->depth], place = ELSEWHERE;
    if (p->depth == 0) {
        place = TOP;
    } else if (outer == EVENTS) {
        place = EVENT;
        clear_event(&p->event);
    } else if (p->key == ARGS) {
        place = ARGUMENTS;
    } else if (p->key == JOB) {
        place = DISTRIBUTED;
    } else if (outer == GROUPS) {
        place = GROUP;
        if (!add_group(p))
            return 0;
    }
    return enter(p, place);
}

static int on_start_array(void *context)
{
    struct parser *p = context;
    bool is_events = p->depth == 0 || p->key == EVENT_LIST; /* Chrome also accepts a bare list of events */
    p->has_events |= is_events;
    return enter(p, is_events ? EVENTS : p->key == CONFIG ? GROUPS : p->key == PG_RANKS ? GROUP_RANKS : ELSEWHERE);
}

static int on_end(void *context)
{
    struct parser *p = context;
    p->tokens++;
    p->key = UNKNOWN;
    if (p->place[p->depth--] != EVENT || !p->event.has_start)
        return 1;
    if (!p->has_first)
        p->first = p->event.start;
    p->has_first = true;
    if (p->event.start > p->first + DURATION_MOST || p->event.start < p->first - DURATION_MOST)
        return stop(p, memory_text("an event is more than %d days from the first one", DAYS_MOST));
    p->take(p->to, &p->event);
    return 1;
}

static int on_key(void *context, const unsigned char *text, size_t length)
{
    struct parser *p = context;
    enum place place = p->place[p->depth];
    p->tokens++;
    p->key = UNKNOWN;
    for (size_t i = 0; place != ELSEWHERE && length > 0 && i < sizeof keys / sizeof *keys; i++) {
        if (keys[i].in != place || (unsigned char)keys[i].name[0] != text[0] || strlen(keys[i].name) != length ||
            memcmp(keys[i].name, text, length) != 0)
            continue;
        if (p->seen[p->depth] >> i & 1)
            return stop(p, memory_text("the key \"%s\" appears twice in one object", keys[i].name));
        p->seen[p->depth] |= UINT32_C(1) << i;
        p->key = keys[i].key;
        break;
    }
    return 1;
}
_Static_assert(sizeof keys / sizeof *keys <= 32, "a bit per key");

/* --- the file --------------------------------------------------------------------------------------------------- */

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

/* Turn the parser's complaint into a line. `byte`: of the uncompressed file. */
static char *complaint(struct parser *p, size_t byte)
{
    if (p->why) {
        char *why = memory_text("byte %zu: %s; record the trace again with torch.profiler", byte, p->why);
        free(p->why);
        return why;
    }
    unsigned char *said = yajl_get_error(p->handle, 0, NULL, 0);
    char *why = memory_text("byte %zu: not JSON: %.*s; record the trace again with torch.profiler", byte,
                            (int)strcspn((const char *)said, "\n"), (const char *)said);
    yajl_free_error(p->handle, said);
    return why;
}

/* Parse block by block. A value that spans blocks stays in yajl's memory, so its length is bounded here. */
static enum trace_end parse(struct parser *p, gzFile file, char **why)
{
    static const unsigned most_blocks = TRACE_VALUE_MOST / BLOCK;
    unsigned char *block = memory_new(BLOCK, 1);
    enum trace_end end = TRACE_WHOLE;
    unsigned without_token = 0;
    size_t byte = 0;
    int got;
    while (end == TRACE_WHOLE && (got = gzread(file, block, BLOCK)) > 0) {
        p->tokens = 0;
        bool is_parsed = yajl_parse(p->handle, block, (size_t)got) == yajl_status_ok;
        without_token = p->tokens ? 0 : without_token + 1;
        byte += is_parsed ? (size_t)got : yajl_get_bytes_consumed(p->handle);
        if (is_parsed && without_token > most_blocks)
            is_parsed = stop(p, memory_text("a value of more than %d bytes", TRACE_VALUE_MOST));
        if (!is_parsed) {
            *why = complaint(p, byte);
            end = TRACE_REFUSED;
        }
    }
    free(block);
    int error = Z_OK;
    const char *said = gzerror(file, &error);
    if (end == TRACE_WHOLE && error != Z_OK && error != Z_BUF_ERROR) {
        *why = memory_text("after %zu bytes: %s; copy the file again", byte, error == Z_ERRNO ? strerror(errno) : said);
        end = TRACE_REFUSED;
    } else if (end == TRACE_WHOLE && byte == 0) {
        *why = memory_text("is empty; record the trace again");
        end = TRACE_REFUSED;
    } else if (end == TRACE_WHOLE && (error == Z_BUF_ERROR || yajl_complete_parse(p->handle) != yajl_status_ok)) {
        *why = memory_text("is cut short after %zu bytes", byte);
        end = TRACE_CUT;
    }
    return end;
}

enum trace_end trace_json_read(const char *path, void (*take)(void *to, const struct trace_event *event), void *to,
                               struct trace_head *head, char **why)
{
    *head = (struct trace_head){ .rank = -1, .world_size = -1, .base = -1 };
    *why = NULL;
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file) {
        *why = memory_text("cannot be read: %s; name an existing trace", strerror(errno));
        return TRACE_REFUSED;
    }
    gzbuffer(file, 1 << 17);
    struct parser *p = memory_new(1, sizeof *p);
    *p = (struct parser){ .take = take, .to = to, .head = head };
    p->handle = yajl_alloc(&callbacks, NULL, p);
    yajl_config(p->handle, yajl_dont_validate_strings, 1); /* texts are compared, not shown, so bytes do no harm */
    enum trace_end end = parse(p, file, why);
    if (end == TRACE_WHOLE && !p->has_events) {
        *why = memory_text("has no \"traceEvents\"; name a file that torch.profiler's export_chrome_trace() wrote");
        end = TRACE_REFUSED;
    }
    yajl_free(p->handle);
    free(p);
    gzclose(file);
    return end;
}
