#include "report/operations_trace.h"

#include "base/json.h"
#include "base/memory.h"
#include "report/run_report.h"
#include "report/trace_events.h"

#include <math.h>
#include <stdlib.h>

static void write_slice(struct trace_events *events, int process, const char *name, const char *category, double began,
                        double ended)
{
    FILE *out = trace_begin_slice(events, process, process, name, category, llround(1e9 * began), llround(1e9 * ended));
    fputs(",\"args\":{\"step\":0,\"measured\":false}}", out); /* watched after the measured steps */
}

/* Write the slice of one direction, which encloses its operations. */
static void write_direction(struct trace_events *events, int process, const struct timed_pass *pass, bool is_backward)
{
    double began = INFINITY, ended = -INFINITY;
    for (int i = 0; i < pass->count; i++)
        if (pass->at[i].is_backward == is_backward) {
            began = fmin(began, pass->at[i].began);
            ended = fmax(ended, pass->at[i].ended);
        }
    if (began <= ended)
        write_slice(events, process, is_backward ? "backward" : "forward", "user_annotation", began, ended);
}

static void write_pass(struct trace_events *events, int process, const struct timed_pass *pass, const char *category)
{
    char *title = memory_text("%s: a pass, with an event around each operation", pass->of);
    trace_write_name(events, "process_name", process, process, "name", title);
    trace_write_place(events, "process_sort_index", process, process, process);
    trace_write_name(events, "thread_name", process, process, "name", "rank 0");
    trace_write_place(events, "thread_sort_index", process, process, process);
    free(title);
    write_direction(events, process, pass, false);
    write_direction(events, process, pass, true);
    for (int i = 0; i < pass->count; i++) {
        const struct timed_operation *operation = &pass->at[i];
        char *name = memory_text("lockstep::%s%s", operation->name, operation->is_backward ? "_backward" : "");
        write_slice(events, process, name, category, operation->began, operation->ended);
        free(name);
    }
}

void operations_trace_write(const struct report *report, const struct timed_pass *passes, int count, bool on_gpu)
{
    struct trace_events events;
    trace_open(&events, file_set_begin(report->files, report->folder, "operations.json"));
    for (int i = 0; i < count; i++)
        write_pass(&events, i + 1, &passes[i], on_gpu ? "kernel" : "cpu_op");
    trace_end_events(&events);
    fprintf(events.out, "{\"lab\":\"%s\",\"platform\":", report->lab);
    json_text(events.out, report->platform);
    fputs(",\"window\":\"the last pass of each branch\"}\n}\n", events.out);
}
