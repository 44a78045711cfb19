/* trace_events: from the JSON of a trace to its events. yajl takes the text block by block; a value that spans blocks stays in its
 * memory, so a value's length is bounded here. */
#ifndef LOCKSTEP_TRACE_EVENTS_H
#define LOCKSTEP_TRACE_EVENTS_H

#include "trace_json.h"

#include <stddef.h>

struct trace_events;

/* Begin. `take` is called with each event; the head is filled. */
struct trace_events *trace_events_open(void (*take)(void *to, const struct trace_event *event), void *to,
                                       struct trace_head *head);
void trace_events_close(struct trace_events *events);

/* Parse the next block of the text, which begins at this byte. Return NULL, or why it is refused: one line, with place and cure. Free
 * it. */
char *trace_events_parse(struct trace_events *events, const unsigned char *block, size_t size, size_t byte);

/* True if the JSON is complete. Call it at the end of the text. */
bool trace_events_are_complete(struct trace_events *events);

/* True if the JSON has a list of events. */
bool trace_events_are_there(const struct trace_events *events);

#endif
