/* trace_json: streams a Chrome trace as torch.profiler writes it, plain or compressed with gzip, event by event.
 *
 * A trace has up to gigabytes, so nothing of it is kept here: yajl parses block by block, and the texts of an event lie in buffers
 * that the next event reuses. Only what blame needs is looked at. Refused are bytes that are no JSON (NaN among them), nesting
 * beyond TRACE_DEPTH_MOST, a value longer than TRACE_VALUE_MOST, a known key that appears twice in an object, and times that
 * are no decimal numbers or beyond all bounds. */
#ifndef LOCKSTEP_TRACE_JSON_H
#define LOCKSTEP_TRACE_JSON_H

#include <stdbool.h>
#include <stdint.h>

enum { TRACE_DEPTH_MOST = 64, TRACE_VALUE_MOST = 1 << 20, TRACE_NAME_MOST = 256, TRACE_RANKS_TEXT = 4096 };

/* Arguments of an event. Texts are "" and numbers -1 where the trace has none. */
struct trace_arguments {
    char group[128];              /* "Process Group Name" */
    char ranks[TRACE_RANKS_TEXT]; /* "Process Group Ranks", as "[0, 1]" */
    char collective[64];          /* "Collective name" */
    char type[32];                /* "dtype" */
    int64_t elements_in, elements_out, group_size, source, destination;
    int64_t correlation; /* of a call that starts a kernel, and of the kernel */
    int64_t stream;
};

/* A complete event ("ph": "X"), or the begin of an arrow ("s"). Names longer than the buffers are cut. */
struct trace_event {
    char phase;
    char category[32], name[TRACE_NAME_MOST];
    int64_t process, thread;      /* -1: not a number */
    int64_t start, duration;      /* ns; the start counts from the head's base */
    bool has_start, has_duration; /* the trace has them */
    struct trace_arguments arguments;
};

/* A process group of the job. */
struct trace_group {
    char name[128];
    char ranks[TRACE_RANKS_TEXT]; /* as "0,1" */
    int64_t size;
};

/* Description of a trace's rank. Keys may follow the events, so the head is complete only at the end. */
struct trace_head {
    int64_t rank, world_size; /* -1: unknown */
    char backend[32], host[256];
    int64_t base; /* ns; -1: unknown */
    int group_count;
    struct trace_group *groups; /* (group_count) free them */
};

enum trace_end {
    TRACE_WHOLE,
    TRACE_CUT,     /* the file ends in the middle */
    TRACE_REFUSED, /* it cannot be used */
};

/* Read the file at `path`, and call `take` with each event. Unless the result is TRACE_WHOLE, *why is one line: place, reason and
 * cure. Free it. Several threads may read, each its own file. */
enum trace_end trace_json_read(const char *path, void (*take)(void *to, const struct trace_event *event), void *to,
                               struct trace_head *head, char **why);

#endif
