/* trace: trace.json, for Perfetto (ui.perfetto.dev) or chrome://tracing: a process per case, a track per rank. */
#ifndef LOCKSTEP_TRACE_H
#define LOCKSTEP_TRACE_H

#include "report.h"

/* Writes the first round of every case, in the Trace Event Format. */
void trace_write(const struct report *report);

#endif
