/* trace_keys: the keys of a trace that are looked at, each in its place. All others are skipped. */
#ifndef LOCKSTEP_TRACE_KEYS_H
#define LOCKSTEP_TRACE_KEYS_H

#include <stddef.h>

/* An object or a list whose contents are looked at, or elsewhere. */
enum trace_place {
    PLACE_ELSEWHERE,
    PLACE_TOP,
    PLACE_EVENTS,
    PLACE_EVENT,
    PLACE_ARGUMENTS,
    PLACE_DISTRIBUTED,
    PLACE_GROUPS,
    PLACE_GROUP,
    PLACE_GROUP_RANKS,
};

enum trace_key {
    KEY_UNKNOWN,
    KEY_EVENT_LIST,
    KEY_BASE,
    KEY_HOST,
    KEY_JOB,
    KEY_PHASE,
    KEY_CATEGORY,
    KEY_NAME,
    KEY_PROCESS,
    KEY_THREAD,
    KEY_START,
    KEY_DURATION,
    KEY_ARGS,
    KEY_GROUP_NAME,
    KEY_RANKS,
    KEY_COLLECTIVE,
    KEY_ELEMENTS_IN,
    KEY_ELEMENTS_OUT,
    KEY_TYPE,
    KEY_GROUP_SIZE,
    KEY_SOURCE,
    KEY_DESTINATION,
    KEY_CORRELATION,
    KEY_STREAM,
    KEY_BACKEND,
    KEY_RANK,
    KEY_WORLD_SIZE,
    KEY_CONFIG,
    KEY_PG_NAME,
    KEY_PG_RANKS,
    KEY_PG_SIZE,
};

struct trace_key_row {
    enum trace_place in;
    enum trace_key key;
    const char *name;
};

/* Return the row of a key in a place, NULL if it is not looked at. *bit: the row's own, 0 to 31. */
const struct trace_key_row *trace_keys_find(enum trace_place place, const unsigned char *text, size_t length, int *bit);

#endif
