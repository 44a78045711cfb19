#include "launch/collective_call.h"

const char *const collective_names[COLLECTIVE_KINDS] = {
    [ALL_REDUCE] = "all-reduce", [ALL_GATHER] = "all-gather",     [REDUCE_SCATTER] = "reduce-scatter",
    [BROADCAST] = "broadcast",   [SEND_RECEIVE] = "send-receive", [BARRIER] = "barrier",
};

void collective_call_print(FILE *out, const struct collective_call *call)
{
    fprintf(out, "%s %d", collective_names[call->kind], call->sequence);
    if (call->bytes > 0)
        fprintf(out, " of %.3g MB", (double)call->bytes / 1e6);
    if (call->group > 0)
        fprintf(out, " in group %d", call->group);
    if (call->step >= 0)
        fprintf(out, " (step %d)", call->step);
}
