/* operations_trace: writes operations.json, a trace (trace.h) in which each operation of some passes is an event of its own: of category
 * cpu_op, or kernel if a GPU computed it, as in torch.profiler's traces. A pass is a process; `forward` and `backward` enclose its
 * operations. A backward operation is called lockstep::gelu_backward. */
#ifndef LOCKSTEP_OPERATIONS_TRACE_H
#define LOCKSTEP_OPERATIONS_TRACE_H

#include <stdbool.h>

struct report;

struct timed_operation {
    const char *name;
    bool is_backward;
    double began, ended; /* seconds since the pass began */
};

/* A pass in the order of its operations: forward, then backward. */
struct timed_pass {
    const char *of; /* its case */
    int count;
    struct timed_operation *at; /* (count) */
};

void operations_trace_write(const struct report *report, const struct timed_pass *passes, int count, bool on_gpu);

#endif
