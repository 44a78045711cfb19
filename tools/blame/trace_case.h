/* trace_case: the traces of a job as spans, as if they stood in a spans.csv (spans_file.h). */
#ifndef LOCKSTEP_TRACE_CASE_H
#define LOCKSTEP_TRACE_CASE_H

#include "spans_file.h"
#include "trace_job.h"

/* True if the file's first bytes are those of gzip or JSON. */
bool trace_is_trace(const char *path);

/* Read the traces, compare the clocks and build one case, "job". Close it with spans_file_close(). `wishes`: a clock error of NaN is
 * estimated; warm-up is by default what the profiler left out. */
struct spans_file *trace_case_open(const char *const *paths, int count, const struct trace_options *options,
                                   const struct spans_wishes *wishes);

#endif
