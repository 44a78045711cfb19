/* trace_names: what the names in a trace mean: phases, collectives and sizes. */
#ifndef LOCKSTEP_TRACE_NAMES_H
#define LOCKSTEP_TRACE_NAMES_H

#include "collective/span.h"
#include "trace_json.h"

/* Return the phase that an annotation or a range of operators stands for; SPAN_PHASES if it is none. */
enum span_kind trace_phase_of(const struct trace_event *event);

/* A call of a collective, as its name says. */
struct trace_call_name {
    enum span_kind kind; /* SPAN_KINDS: the name is of no collective */
    int to, from;        /* of "nccl:send 0->1" and "nccl:recv 1<-0": the ranks within the group; else -1 */
};

/* Read "allreduce", "nccl:_all_gather_base", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)" and similar names. A kernel that PyTorch's
 * NCCL launches for all-to-alls or messages is SendRecv: the range that launched it knows more. */
struct trace_call_name trace_call_named(const char *name);

/* True if the name begins with this text. */
bool trace_name_begins(const char *name, const char *with);

/* True for a kernel of NCCL, or of AMD's RCCL, which has the same names. */
bool trace_is_collective_kernel(const char *name);

/* Return the bytes of an element of PyTorch's type; 0 if unknown. */
int trace_type_bytes(const char *type);

#endif
