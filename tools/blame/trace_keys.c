#include "trace_keys.h"

#include <string.h>

static const struct trace_key_row keys[] = {
    { PLACE_TOP, KEY_EVENT_LIST, "traceEvents" },
    { PLACE_TOP, KEY_BASE, "baseTimeNanoseconds" },
    { PLACE_TOP, KEY_HOST, "host_name" },
    { PLACE_TOP, KEY_JOB, "distributedInfo" },
    { PLACE_EVENT, KEY_PHASE, "ph" },
    { PLACE_EVENT, KEY_CATEGORY, "cat" },
    { PLACE_EVENT, KEY_NAME, "name" },
    { PLACE_EVENT, KEY_PROCESS, "pid" },
    { PLACE_EVENT, KEY_THREAD, "tid" },
    { PLACE_EVENT, KEY_START, "ts" },
    { PLACE_EVENT, KEY_DURATION, "dur" },
    { PLACE_EVENT, KEY_ARGS, "args" },
    { PLACE_ARGUMENTS, KEY_GROUP_NAME, "Process Group Name" },
    { PLACE_ARGUMENTS, KEY_RANKS, "Process Group Ranks" },
    { PLACE_ARGUMENTS, KEY_COLLECTIVE, "Collective name" },
    { PLACE_ARGUMENTS, KEY_ELEMENTS_IN, "In msg nelems" },
    { PLACE_ARGUMENTS, KEY_ELEMENTS_OUT, "Out msg nelems" },
    { PLACE_ARGUMENTS, KEY_TYPE, "dtype" },
    { PLACE_ARGUMENTS, KEY_GROUP_SIZE, "Group size" },
    { PLACE_ARGUMENTS, KEY_SOURCE, "Src Rank" },
    { PLACE_ARGUMENTS, KEY_DESTINATION, "Dst Rank" },
    { PLACE_ARGUMENTS, KEY_CORRELATION, "correlation" },
    { PLACE_ARGUMENTS, KEY_STREAM, "stream" },
    { PLACE_DISTRIBUTED, KEY_BACKEND, "backend" },
    { PLACE_DISTRIBUTED, KEY_RANK, "rank" },
    { PLACE_DISTRIBUTED, KEY_WORLD_SIZE, "world_size" },
    { PLACE_DISTRIBUTED, KEY_CONFIG, "pg_config" },
    { PLACE_GROUP, KEY_PG_NAME, "pg_name" },
    { PLACE_GROUP, KEY_PG_RANKS, "ranks" },
    { PLACE_GROUP, KEY_PG_SIZE, "pg_size" },
};
enum { KEYS = sizeof keys / sizeof *keys };
_Static_assert(sizeof keys / sizeof *keys <= 32, "a bit per key");

const struct trace_key_row *trace_keys_find(enum trace_place place, const unsigned char *text, size_t length, int *bit)
{
    for (int i = 0; place != PLACE_ELSEWHERE && length > 0 && i < KEYS; i++)
        if (keys[i].in == place && (unsigned char)keys[i].name[0] == text[0] && strlen(keys[i].name) == length &&
            memcmp(keys[i].name, text, length) == 0) {
            *bit = i;
            return &keys[i];
        }
    return NULL;
}
