/* trace: writes trace.json, for Perfetto (ui.perfetto.dev) or chrome://tracing.
 *
 * Names and categories are those of torch.profiler, so that queries written for its traces work here: a step is `ProfilerStep#N`, a
 * collective `mpi:all_reduce` or `nccl:all_reduce`, and these and the phases are user annotations.
 *
 * A case is a process, a rank one of its threads. A started collective travels on further threads below its rank. Slices are
 * phases; in these are collectives. If a rank waited, its collective is split into `wait` and `transfer`. Arrows link the slices
 * of a collective, from the rank of the group that arrived last to every other rank of the group. In a broadcast they start at the
 * root; in a send-receive they follow the messages. Each case begins at time 0. */
#ifndef LOCKSTEP_TRACE_H
#define LOCKSTEP_TRACE_H

#include "report/run_report.h"

/* Limits that keep a trace quick to open and readable. A long case is cut to a window of TRACE_STEPS_MOST steps. All cases together have as
 * many events as a browser takes easily (some 30 MB). With many ranks the window has fewer steps, but at least one. */
enum { TRACE_STEPS_MOST = 32, TRACE_EVENTS_MOST = 200000 };

/* Write a round of every case (picture.h) in the Trace Event Format: whole, or a window around the step that lanes show. The file
 * names the window (otherData, process name). Returns the fewest steps kept of any shortened case; 0 if every case is whole. */
int trace_write(const struct report *report);

#endif
