#include "trace.h"

#include <math.h>

static void write_name(FILE *out, const char *what, int process, int thread, const char *name, int number)
{
    fprintf(out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s", what, process, thread,
            name);
    if (number >= 0)
        fprintf(out, " %d", number);
    fputs("\"}},\n", out);
}

/* A complete event: times in microseconds since the case's first span. */
static void write_slice(FILE *out, int process, int thread, const char *name, const char *category, double start,
                        double end, const struct span *span)
{
    fprintf(out,
            "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
            "\"args\":{\"step\":%d,\"sequence\":%d,\"bytes\":%zu}},\n",
            name, category, process, thread, 1e6 * start, 1e6 * (end - start), span->step, span->sequence, span->bytes);
}

static void write_case(FILE *out, int process, const struct outcome *o)
{
    const struct timeline *t = &o->picture;
    double origin = INFINITY;
    for (int i = 0; i < t->ranks * t->count; i++)
        if (t->spans[i].step >= 0)
            origin = fmin(origin, t->spans[i].start);
    write_name(out, "process_name", process, 0, o->name, -1);
    for (int rank = 0; rank < t->ranks; rank++) {
        /* Even threads hold the ranks' lanes, odd ones what travels beside them. */
        write_name(out, "thread_name", process, 2 * rank, "rank", rank);
        for (int i = 0; i < t->count; i++) {
            const struct span *span = &t->spans[rank * t->count + i];
            if (span->step < 0)
                continue;
            const char *name = span_names[span->kind];
            const char *category = span->step < t->first_step ? "warm-up" : "measured";
            double start = span->start - origin, entered = span->entered - origin, end = span->end - origin;
            if (entered > start)
                write_slice(out, process, 2 * rank + 1, name, category, start, entered, span);
            write_slice(out, process, 2 * rank, name, category, entered, end, span);
        }
    }
}

void trace_write(const struct report *report)
{
    struct file file = file_begin(report->folder, "trace.json");
    fprintf(
        file.out,
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"lab\":\"%s\",\"platform\":\"%s\",\"window\":\"the first round of "
        "each case\"},\n\"traceEvents\":[\n",
        report->lab, report->platform);
    for (int i = 0; i < report->cases; i++)
        write_case(file.out, i, &report->outcomes[i]);
    fprintf(file.out, "{\"ph\":\"M\",\"name\":\"trace_ends\",\"pid\":0,\"tid\":0,\"args\":{}}\n]}\n");
    file_commit(&file);
}
