/* trace_clocks: compares the clocks of a job's ranks by the collectives themselves.
 *
 * NCCL's kernels of one collective end together: each runs until the last rank's data is through. So the clocks are shifted until
 * the ends agree (their median over the collectives), and then every collective's kernels are given one end. A rank's wait is
 * then its kernel's duration minus the shortest one, whatever the clocks say.
 *
 * Gloo's calls do not end together, but no rank leaves before every rank has entered. With o the offset of a clock, and S and E
 * the stamps of a call's start and end, every collective bounds
 *
 *     S_i - E_j  <=  o_i - o_j  <=  E_i - S_j
 *
 * Ranks with one host name and comparable base times have one clock, unless these bounds forbid it. Other clocks are shifted until
 * the ends agree in the median, inside the bounds; then the error is half of the bounds'
 * width, beside the clock with which all others can be compared best. A broadcast or a message bounds
 * nothing: its sender may leave early. */
#ifndef LOCKSTEP_TRACE_CLOCKS_H
#define LOCKSTEP_TRACE_CLOCKS_H

#include "trace_job.h"

struct trace_clocks {
    int64_t *offsets;      /* (ranks) ns that a rank's clock is ahead of the first rank's. Free them. */
    double error;          /* seconds by which two clocks may still differ */
    double largest_offset; /* seconds */
    bool are_one;          /* all ranks have one clock, of one host */
    bool are_kernels;      /* the offsets come from the ends of NCCL's kernels */
};

/* Estimate the offsets, and shift all calls of the job's collectives and all phases to the first rank's clock. */
struct trace_clocks trace_clocks_settle(struct trace_job *job);

#endif
