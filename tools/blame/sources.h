/* sources: the files that blame reads, and what they are: one file of spans, or the traces of a job's ranks. */
#ifndef LOCKSTEP_SOURCES_H
#define LOCKSTEP_SOURCES_H

#include "options/options.h"
#include "spans_file.h"
#include "trace_case.h"

struct sources {
    char **path; /* (count) */
    int count;
};

/* Take the words that are neither options (rows) nor their values out of argv. */
struct sources sources_take(int *argc, char **argv, const struct option_row *rows);

/* Add a file, or the traces in a folder by name: *.json and *.json.gz. */
void sources_add(struct sources *sources, const char *path);

/* Read the files. Files of another kind, or several of spans, end the program with STATUS_USAGE. */
struct spans_file *sources_open(const struct sources *sources, const struct trace_options *options,
                                const struct spans_wishes *wishes);
void sources_close(struct sources *sources);

#endif
