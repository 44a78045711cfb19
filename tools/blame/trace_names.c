#include "trace_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- phases ----------------------------------------------------------------------------------------------------- */

/* Words in the names of annotations, by what they decide first: "save_optimizer" is host work, not an update. */
static const struct {
    const char *word;
    enum span_kind phase;
} words[] = {
    { "checkpoint", SPAN_HOST },  { "save", SPAN_HOST },       { "log", SPAN_HOST },      { "logging", SPAN_HOST },
    { "eval", SPAN_HOST },        { "evaluate", SPAN_HOST },   { "validate", SPAN_HOST }, { "validation", SPAN_HOST },
    { "host", SPAN_HOST },        { "metrics", SPAN_HOST },    { "print", SPAN_HOST },    { "dataloader", SPAN_DATA },
    { "data", SPAN_DATA },        { "load", SPAN_DATA },       { "loader", SPAN_DATA },   { "loading", SPAN_DATA },
    { "fetch", SPAN_DATA },       { "batch", SPAN_DATA },      { "input", SPAN_DATA },    { "backward", SPAN_BACKWARD },
    { "bwd", SPAN_BACKWARD },     { "forward", SPAN_FORWARD }, { "fwd", SPAN_FORWARD },   { "loss", SPAN_FORWARD },
    { "optimizer", SPAN_UPDATE }, { "optim", SPAN_UPDATE },    { "update", SPAN_UPDATE },
};

/* True if `name` has this word: a run of letters between other characters, in any case. */
static bool has_word(const char *name, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = name; *at;) {
        if (!isalpha((unsigned char)*at)) {
            at++;
            continue;
        }
        size_t run = 1;
        while (isalpha((unsigned char)at[run]))
            run++;
        if (run == length && strncasecmp(at, word, length) == 0)
            return true;
        at += run;
    }
    return false;
}

bool trace_name_begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

enum span_kind trace_phase_of(const struct trace_event *event)
{
    if (trace_name_begins(event->name, "autograd::engine::evaluate_function"))
        return SPAN_BACKWARD;
    if (trace_name_begins(event->name, "enumerate(DataLoader)")) /* older profilers: an operator */
        return SPAN_DATA;
    if (trace_name_begins(event->name, "Optimizer."))
        return SPAN_UPDATE;
    if (strcmp(event->category, "user_annotation") != 0 || trace_name_begins(event->name, "ProfilerStep") ||
        trace_name_begins(event->name, "nccl:") || trace_name_begins(event->name, "gloo:"))
        return SPAN_PHASES;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(event->name, words[i].word))
            return words[i].phase;
    return SPAN_PHASES;
}

/* --- collectives ------------------------------------------------------------------------------------------------ */

/* Parts of names without their underscores, in the order of looking: "all_reduce_barrier" is a barrier, "reduce_scatter" no
 * reduce. In an all-to-all every rank waits for every rank, as in an all-gather, so it counts as one. Of a reduce or a gather
 * only the root waits for all, and of a scatter all for the root, so ranks leave them early, like a broadcast. */
static const struct {
    const char *part;
    enum span_kind kind;
} parts[] = {
    { "barrier", SPAN_BARRIER },       { "reducescatter", SPAN_REDUCE_SCATTER },
    { "allreduce", SPAN_ALL_REDUCE },  { "allgather", SPAN_ALL_GATHER },
    { "alltoall", SPAN_ALL_GATHER },   { "broadcast", SPAN_BROADCAST },
    { "sendrecv", SPAN_SEND_RECEIVE }, { "send", SPAN_SEND_RECEIVE },
    { "recv", SPAN_SEND_RECEIVE },
};

struct trace_call_name trace_call_named(const char *name)
{
    char plain[64];
    size_t length = 0;
    const char *at = strncmp(name, "nccl", 4) == 0 || strncmp(name, "gloo", 4) == 0 ? name + 4 : name;
    for (; *at && *at != '(' && length < sizeof plain - 1; at++)
        if (isalnum((unsigned char)*at))
            plain[length++] = (char)tolower((unsigned char)*at);
    plain[length] = '\0';
    struct trace_call_name call = { .kind = SPAN_KINDS, .to = -1, .from = -1 };
    for (size_t i = 0; i < sizeof parts / sizeof *parts && call.kind == SPAN_KINDS; i++)
        if (strstr(plain, parts[i].part))
            call.kind = parts[i].kind;
    const char *sends = strstr(name, "->"), *receives = strstr(name, "<-");
    if (call.kind == SPAN_SEND_RECEIVE && sends)
        call.to = atoi(sends + 2);
    else if (call.kind == SPAN_SEND_RECEIVE && receives)
        call.from = atoi(receives + 2);
    return call;
}

bool trace_is_collective_kernel(const char *name)
{
    return trace_name_begins(name, "ncclDevKernel") || trace_name_begins(name, "ncclKernel");
}

int trace_type_bytes(const char *type)
{
    static const struct {
        const char *type;
        int bytes;
    } sizes[] = {
        { "Float", 4 }, { "Half", 2 }, { "BFloat16", 2 },     { "Double", 8 },
        { "Long", 8 },  { "Int", 4 },  { "Short", 2 },        { "Byte", 1 },
        { "Char", 1 },  { "Bool", 1 }, { "ComplexFloat", 8 }, { "ComplexDouble", 16 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(type, sizes[i].type) == 0)
            return sizes[i].bytes;
    return trace_name_begins(type, "Float8") ? 1 : 0;
}
