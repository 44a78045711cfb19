#include "report/trace_events.h"

#include "base/json.h"

void trace_open(struct trace_events *events, FILE *out)
{
    *events = (struct trace_events){ .out = out };
    fputs("{\"traceEvents\":[\n", out);
}

void trace_end_events(const struct trace_events *events)
{
    fputs("\n],\"displayTimeUnit\":\"ms\",\"otherData\":", events->out);
}

FILE *trace_begin_event(struct trace_events *events, char phase, int process, int thread, const char *name)
{
    fprintf(events->out, "%s{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"name\":", events->count++ ? ",\n" : "", phase,
            process, thread);
    json_text(events->out, name);
    return events->out;
}

FILE *trace_begin_slice(struct trace_events *events, int process, int thread, const char *name, const char *category,
                        long long start, long long end)
{
    FILE *out = trace_begin_event(events, 'X', process, thread, name);
    fprintf(out, ",\"cat\":\"%s\"", category);
    trace_write_time(out, "ts", start);
    trace_write_time(out, "dur", end > start ? end - start : 0);
    return out;
}

void trace_write_name(struct trace_events *events, const char *what, int process, int thread, const char *key,
                      const char *name)
{
    FILE *out = trace_begin_event(events, 'M', process, thread, what);
    fprintf(out, ",\"args\":{\"%s\":", key);
    json_text(out, name);
    fputs("}}", out);
}

void trace_write_place(struct trace_events *events, const char *what, int process, int thread, int place)
{
    fprintf(trace_begin_event(events, 'M', process, thread, what), ",\"args\":{\"sort_index\":%d}}", place);
}

void trace_write_time(FILE *out, const char *key, long long nanoseconds)
{
    fprintf(out, ",\"%s\":%lld.%03lld", key, nanoseconds / 1000, nanoseconds % 1000);
}
