/* trace: trace.json, for Perfetto (ui.perfetto.dev) or chrome://tracing.
 *
 * A case is a process, a rank a thread of it; what a started collective does beside the rank's work lies on threads of its
 * own below it. Slices are phases; in them collectives; and in these, where a rank waited, `wait` and `transfer`. Of every
 * collective the ranks' slices are linked: an arrow goes from the rank that arrived last to each other one. Each case begins
 * at 0. */
#ifndef LOCKSTEP_TRACE_H
#define LOCKSTEP_TRACE_H

#include "report/run_report.h"

/* A trace must open at once and be understood by looking, so of a long case it holds a window of so many steps, and as many
 * events as a browser takes without complaint (some 30 MB): fewer steps where there are many ranks, but one at least. */
enum { TRACE_STEPS_MOST = 32, TRACE_EVENTS_MOST = 200000 };

/* Writes the first round of every case in the Trace Event Format, whole or a window around the step that lanes show. The
 * file says which (otherData, and the process's name). Returns the fewest steps that are left of a case; 0 when all of
 * all are there. */
int trace_write(const struct report *report);

#endif
