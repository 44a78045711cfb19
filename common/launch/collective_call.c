#include "launch/collective_call.h"

const char *const collective_names[COLLECTIVE_KINDS] = {
    [ALL_REDUCE] = "all-reduce", [ALL_GATHER] = "all-gather",     [REDUCE_SCATTER] = "reduce-scatter",
    [BROADCAST] = "broadcast",   [SEND_RECEIVE] = "send-receive", [BARRIER] = "barrier",
};

/* Print the group and the first few of its ranks. */
void collective_call_print_group(FILE *out, const struct collective_call *call)
{
    enum { SHOWN = 6 };
    int printed = 0;
    fprintf(out, " in group %d of ranks ", call->group);
    for (int rank = 0; rank < 64 && printed < SHOWN; rank++)
        if (collective_call_has(call, rank)) {
            printed++;
            fprintf(out, "%s%d", printed == 1 ? "" : printed == call->ranks ? " and " : ", ", rank);
        }
    if (printed < call->ranks)
        fprintf(out, " and %d more", call->ranks - printed);
}

void collective_call_print(FILE *out, const struct collective_call *call)
{
    fprintf(out, "%s %d", collective_names[call->kind], call->sequence);
    if (call->bytes > 0)
        fprintf(out, " of %.3g MB", (double)call->bytes / 1e6);
    if (call->group > 0)
        collective_call_print_group(out, call);
    if (call->step >= 0)
        fprintf(out, " (step %d)", call->step);
}

void collective_call_print_bytes(FILE *out, size_t bytes)
{
    if (bytes < 1000)
        fprintf(out, "%zu B", bytes);
    else if (bytes < 1000000)
        fprintf(out, "%.3g kB", (double)bytes / 1e3);
    else
        fprintf(out, "%.3g MB", (double)bytes / 1e6);
}

void collective_call_print_content(FILE *out, const struct collective_call *call)
{
    if (call->bucket > 0)
        fprintf(out, "bucket %d", call->bucket);
    else
        fputs(collective_names[call->kind], out);
    if (call->bytes > 0) {
        fputs(" of ", out);
        collective_call_print_bytes(out, call->bytes);
    }
}
