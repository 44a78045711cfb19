/* trace_values: where a value of the JSON belongs: a field of the event, or what the trace says about its rank. */
#ifndef LOCKSTEP_TRACE_VALUES_H
#define LOCKSTEP_TRACE_VALUES_H

#include "trace_json.h"
#include "trace_keys.h"

#include <stddef.h>

enum { TRACE_DAYS_MOST = 46 };
static const int64_t TRACE_DURATION_MOST = INT64_C(4000000000000000); /* ns: TRACE_DAYS_MOST */

/* An event, and the head of its trace. */
struct trace_values {
    struct trace_event event;
    struct trace_head *head;
};

/* Make all fields of the event unknown. */
void trace_values_clear(struct trace_event *event);

/* Put the value of a key where it belongs; a key without a place changes nothing. A text may hold a number. Return false if the value
 * of "ts" or "dur" is no time in microseconds. */
bool trace_values_take_number(struct trace_values *values, enum trace_key key, const char *text, size_t length);
bool trace_values_take_text(struct trace_values *values, enum trace_key key, const char *text, size_t length);

/* Add a process group, or a rank to the last one. Return false if there are too many groups, TRACE_GROUPS_MOST. */
enum { TRACE_GROUPS_MOST = 1 << 14 };
bool trace_values_add_group(struct trace_head *head);
void trace_values_add_rank(struct trace_head *head, const char *text, size_t length);

#endif
