/* trace_events: events of the Trace Event Format (Google, 2016) as Perfetto reads it (src/trace_processor/importers/json and
 * common/flow_tracker.cc of its sources, 2025):
 * - process and thread 0 mean the kernel's idle loop, so both count from 1; no two processes share a thread number;
 * - slices of a thread must nest, so times are whole nanoseconds, written as microseconds with three decimals. Equal times
 *   stay equal;
 * - a flow event belongs to the innermost slice that is open at its time and stands before it in the file. Flow events
 *   therefore come last, and an empty slice has none. The arrow starts at the slice that began first. */
#ifndef LOCKSTEP_TRACE_EVENTS_H
#define LOCKSTEP_TRACE_EVENTS_H

#include <stdio.h>

struct trace_events {
    FILE *out;
    int count; /* so far */
};

/* Write the beginning of the file, up to its first event; and its end, up to what it says of itself: "{…}" follows, then "}". */
void trace_open(struct trace_events *events, FILE *out);
void trace_end_events(const struct trace_events *events);

/* Begin an event, up to the value of its name. Return the file, for the rest. */
FILE *trace_begin_event(struct trace_events *events, char phase, int process, int thread, const char *name);

/* Begin a slice from `start` to `end`, in nanoseconds, up to its arguments. One that ends before its
 * start, which is a failed check, has no length. */
FILE *trace_begin_slice(struct trace_events *events, int process, int thread, const char *name, const char *category,
                        long long start, long long end);

/* Name a process or thread: what is "process_name" and key "name", for example. */
void trace_write_name(struct trace_events *events, const char *what, int process, int thread, const char *key,
                      const char *name);

/* Write the place of a process or thread among the others: what is "process_sort_index", for example. */
void trace_write_place(struct trace_events *events, const char *what, int process, int thread, int place);

/* Write a time within an event. */
void trace_write_time(FILE *out, const char *key, long long nanoseconds);

#endif
