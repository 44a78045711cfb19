/* flight_file: reads dumps of PyTorch's flight recorder, the list of the last collectives that a rank called. A dump is JSON, as
 * torch._C._distributed_c10d._dump_fr_trace_json() (gloo) and _dump_nccl_trace_json() return it. Pickled ones are converted first:
 *
 *     import json, pickle, sys
 *     json.dump(pickle.load(open(sys.argv[1], "rb")), open(sys.argv[1] + ".json", "w"))
 *
 * A dump does not name its rank, so the file does (rank_name.h).
 *
 * Of a call only some fields count: process_group, profiling_name, collective_seq_id, input_sizes, output_sizes, input_dtypes,
 * state, retired, time_created_ns and time_discovered_completed_ns. gloo leaves `state` at "scheduled" and that time at 0. There only
 * `retired` tells that a call ended, with a result or with an error. gloo records no messages. */
#ifndef LOCKSTEP_FLIGHT_FILE_H
#define LOCKSTEP_FLIGHT_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { FLIGHT_NAME = 48 };

struct flight_call {
    char group[FLIGHT_NAME], description[FLIGHT_NAME]; /* "0", "default_pg" */
    char kind[FLIGHT_NAME];                            /* "all_reduce", without its backend; "send 0->1" */
    char sizes[FLIGHT_NAME];                           /* "1000 Float", for the reader */
    double in, out;                                    /* elements of all inputs, of all outputs */
    int64_t sequence; /* in the group, of collectives; of messages: place in the dump */
    bool is_message;
    bool is_ended, is_completed; /* completed: with a result; ended: perhaps with an error */
    int64_t created, completed;  /* nanoseconds since 1970; completed: 0 if unknown */
};

/* A process group that a dump describes. The name may be blank: gloo describes only its latest group, and by local ranks. */
struct flight_group {
    char name[FLIGHT_NAME];
    int count, *rank; /* (count) rising */
};

struct flight_dump {
    const char *path;
    int rank;
    int count;
    struct flight_call *call; /* (count) by group, then sequence; one for each sequence of a group; messages last */
    int groups;
    struct flight_group *group; /* (groups) */
};

/* True if the file begins like a dump. */
bool flight_file_is_dump(const char *path);

/* Read a dump. Refuse other JSON, and hostile JSON, with STATUS_USAGE and one line. */
struct flight_dump flight_file_read(const char *path);
void flight_file_close(struct flight_dump *dump);

#endif
