/* 07_triage_evidence: evidence.csv of lab 07, steps of every case with what is known about each without a change: the loader's queue, the
 * kernel's accounts (base/evidence.h), and what the branches' operations count. The accounts are read between steps. */
#include "07_triage.h"

#include <math.h>
#include <stdlib.h>

enum { WARMUPS = 2, STEPS = 8 };

/* A step and what is known about it. */
struct observed {
    double step, data, empty; /* seconds; empty: of waiting for a batch that was not made */
    struct evidence evidence;
    struct eager_count count;
};

static struct observed take_step(struct trainer *t, struct worker_loader *loader, struct branches *branches,
                                 const struct options *o, const struct evidence_reader *reader)
{
    const struct worker_loader_waits waited = worker_loader_waits(loader);
    const struct evidence before = evidence_now(reader);
    const double began = world_now();
    const struct batch *batch = worker_loader_next(loader);
    const double fetched = world_now();
    trainer_forward(t, batch);
    trainer_backward(t, batch);
    branches_run(branches, batch);
    trainer_update(t);
    if (o->host_s > 0)
        stall((struct stall){ STALL_BUSY, o->host_s });
    device_wait();
    const double end = world_now();
    const struct evidence now = evidence_now(reader);
    const bool was_empty = worker_loader_waits(loader).empty > waited.empty;
    return (struct observed){ .step = end - began,
                              .data = fetched - began,
                              .empty = was_empty ? fetched - began : 0,
                              .evidence = evidence_since(&before, &now),
                              .count = branches_count(branches) };
}

/* Write a row. `own`: bytes of the reads of the kernel's counters themselves. */
static void put_step(struct csv *csv, const char *name, int step, const struct observed *at, double own)
{
    const struct evidence *e = &at->evidence;
    csv_text(csv, "case", name);
    csv_integer(csv, "step", step);
    csv_ms(csv, "step_ms", at->step);
    csv_ms(csv, "data_ms", at->data);
    csv_ms(csv, "queue_empty_ms", at->empty);
    csv_ms(csv, "run_queue_ms", e->run_queue);
    csv_ms(csv, "thread_cpu_ms", e->thread_cpu);
    csv_ms(csv, "process_cpu_ms", e->process_cpu);
    csv_number(csv, "minor_faults", e->minor_faults);
    csv_number(csv, "major_faults", e->major_faults);
    csv_number(csv, "disk_read_bytes", e->disk_bytes);
    csv_number(csv, "cached_read_bytes", fmax(0, e->call_bytes - own - e->disk_bytes));
    csv_integer(csv, "dispatched", at->count.dispatched);
    csv_number(csv, "moved_bytes", at->count.work.bytes);
    csv_number(csv, "flops", at->count.work.flops);
    csv_number(csv, "cycles", e->counter[EVIDENCE_CYCLES]);
    csv_number(csv, "instructions", e->counter[EVIDENCE_INSTRUCTIONS]);
    csv_number(csv, "cache_misses", e->counter[EVIDENCE_CACHE_MISSES]);
}

static void write_case(struct lab *lab, struct worker_loader *loader, const struct options *o, const char *name,
                       const struct evidence_reader *reader, struct csv *csv)
{
    struct observed at[WARMUPS + STEPS];
    const struct evidence first = evidence_now(reader), second = evidence_now(reader);
    struct branches *branches = branches_open(o);
    worker_loader_restart(loader, share_even(&o->run, world_rank(lab_world(lab))), 1, plan_of(o));
    for (int i = 0; i < WARMUPS + STEPS; i++) {
        at[i] = take_step(lab_trainer(lab), loader, branches, o, reader);
        world_heartbeat(lab_world(lab));
    }
    worker_loader_settle(loader);
    branches_close(branches);
    for (int i = 0; csv && i < STEPS; i++)
        do
            put_step(csv, name, i, &at[WARMUPS + i], evidence_since(&first, &second).call_bytes);
        while (csv_end_row(csv));
}

void write_evidence(struct lab *lab, const struct options *base, struct csv *csv)
{
    struct worker_loader *loader = workers_open(lab, base);
    struct evidence_reader *reader = evidence_open();
    const char *name, *lacks = evidence_lacks(reader);
    const struct options *o;
    for (int i = 0; (o = lab_case(lab, i, &name)) != NULL; i++)
        write_case(lab, loader, o, name, reader, csv);
    if (csv && lacks)
        printf("Hardware counters: none here (perf_event_open: %s), so their columns of evidence.csv are blank.\n",
               lacks);
    else if (csv)
        puts("Hardware counters: read for evidence.csv.");
    evidence_close(reader);
    worker_loader_close(loader);
}
