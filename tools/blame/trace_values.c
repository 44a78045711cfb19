#include "trace_values.h"

#include "base/memory.h"
#include "trace_number.h"

#include <string.h>

static void copy(char *to, size_t room, const char *text, size_t length)
{
    size_t kept = length < room ? length : room - 1;
    memcpy(to, text, kept);
    to[kept] = '\0';
}

void trace_values_clear(struct trace_event *e)
{
    struct trace_arguments *a = &e->arguments;
    e->phase = e->category[0] = e->name[0] = '\0';
    e->process = e->thread = -1;
    e->start = e->duration = 0;
    e->has_start = e->has_duration = false;
    a->group[0] = a->ranks[0] = a->collective[0] = a->type[0] = '\0';
    a->elements_in = a->elements_out = a->group_size = a->source = a->destination = a->correlation = a->stream = -1;
}

/* --- process groups --------------------------------------------------------------------------------------------- */

static struct trace_group *last_group(struct trace_head *head)
{
    return &head->groups[head->group_count - 1];
}

bool trace_values_add_group(struct trace_head *head)
{
    if (head->group_count == TRACE_GROUPS_MOST)
        return false;
    head->groups = memory_grow_by_one(head->groups, head->group_count, sizeof *head->groups);
    struct trace_group *group = &head->groups[head->group_count++];
    group->name[0] = group->ranks[0] = '\0';
    group->size = -1;
    return true;
}

void trace_values_add_rank(struct trace_head *head, const char *text, size_t length)
{
    char *list = last_group(head)->ranks;
    size_t used = strlen(list);
    if (used + length + 2 >= TRACE_RANKS_TEXT)
        return;
    list[used] = ',';
    copy(list + used + (used > 0), length + 1, text, length);
}

/* --- numbers and texts ------------------------------------------------------------------------------------------ */

static bool take_time(struct trace_event *event, enum trace_key key, const char *text, size_t length)
{
    int64_t value;
    bool is_start = key == KEY_START;
    if (!trace_number_thousandths(text, length, &value) || (!is_start && (value < 0 || value > TRACE_DURATION_MOST)))
        return false;
    *(is_start ? &event->start : &event->duration) = value;
    *(is_start ? &event->has_start : &event->has_duration) = true;
    return true;
}

/* Return the place of a whole number; NULL if the key has none. */
static int64_t *number_of(struct trace_values *values, enum trace_key key)
{
    struct trace_event *event = &values->event;
    struct trace_arguments *a = &event->arguments;
    struct trace_head *head = values->head;
    switch (key) {
    case KEY_PROCESS:
        return &event->process;
    case KEY_THREAD:
        return &event->thread;
    case KEY_ELEMENTS_IN:
        return &a->elements_in;
    case KEY_ELEMENTS_OUT:
        return &a->elements_out;
    case KEY_GROUP_SIZE:
        return &a->group_size;
    case KEY_SOURCE:
        return &a->source;
    case KEY_DESTINATION:
        return &a->destination;
    case KEY_CORRELATION:
        return &a->correlation;
    case KEY_STREAM:
        return &a->stream;
    case KEY_RANK:
        return &head->rank;
    case KEY_WORLD_SIZE:
        return &head->world_size;
    case KEY_PG_SIZE:
        return head->group_count ? &last_group(head)->size : NULL;
    default:
        return NULL;
    }
}

bool trace_values_take_number(struct trace_values *values, enum trace_key key, const char *text, size_t length)
{
    if (key == KEY_START || key == KEY_DURATION)
        return take_time(&values->event, key, text, length);
    if (key == KEY_BASE)
        values->head->base = trace_number_nanoseconds(text, length);
    int64_t *number = number_of(values, key);
    if (number)
        *number = trace_number_whole(text, length);
    return true;
}

bool trace_values_take_text(struct trace_values *values, enum trace_key key, const char *text, size_t length)
{
    struct trace_event *event = &values->event;
    struct trace_arguments *a = &event->arguments;
    struct trace_head *head = values->head;
    switch (key) {
    case KEY_PHASE:
        event->phase = length == 1 ? text[0] : '\0';
        break;
    case KEY_CATEGORY:
        copy(event->category, sizeof event->category, text, length);
        break;
    case KEY_NAME:
        copy(event->name, sizeof event->name, text, length);
        break;
    case KEY_GROUP_NAME:
        copy(a->group, sizeof a->group, text, length);
        break;
    case KEY_RANKS:
        copy(a->ranks, sizeof a->ranks, text, length);
        break;
    case KEY_COLLECTIVE:
        copy(a->collective, sizeof a->collective, text, length);
        break;
    case KEY_TYPE:
        copy(a->type, sizeof a->type, text, length);
        break;
    case KEY_HOST:
        copy(head->host, sizeof head->host, text, length);
        break;
    case KEY_BACKEND:
        copy(head->backend, sizeof head->backend, text, length);
        break;
    case KEY_PG_NAME:
        copy(last_group(head)->name, sizeof last_group(head)->name, text, length);
        break;
    case KEY_START:
    case KEY_DURATION:
        return take_time(event, key, text, length);
    default: {
        int64_t *number = number_of(values, key);
        if (number)
            *number = trace_number_whole(text, length);
    }
    }
    return true;
}
