/* evidence: what the kernel says about a stretch of this process's work, without privileges. Totals since some time in the past, so
 * only differences count.
 *
 * Sources: getrusage(2), of microseconds; proc(5): /proc/thread-self/schedstat, /proc/self/io; perf_event_open(2), for hardware
 * counters of the calling thread where the kernel and its perf_event_paranoid allow them. Virtual machines mostly have none. */
#ifndef LOCKSTEP_EVIDENCE_H
#define LOCKSTEP_EVIDENCE_H

enum evidence_counter { EVIDENCE_CYCLES, EVIDENCE_INSTRUCTIONS, EVIDENCE_CACHE_MISSES, EVIDENCE_COUNTERS };

/* Totals; NaN: unknown. */
struct evidence {
    double thread_cpu, process_cpu; /* seconds on a core: of this thread, and of all threads */
    double run_queue; /* seconds in which this thread was ready and another ran; in totals: before this was read */
    double run_queue_after; /* … and after: reading takes a while, in which others may run. 0 in differences */
    double minor_faults, major_faults; /* pages that were mapped without and with a read, of all threads */
    double disk_bytes, call_bytes; /* read by the storage layer; and by read calls, from disk or the kernel's cache */
    double counter[EVIDENCE_COUNTERS];
};

/* Open the hardware counters of this thread. Reading the other members needs none: `reader` may be NULL. */
struct evidence_reader;
struct evidence_reader *evidence_open(void);
void evidence_close(struct evidence_reader *reader);

/* Return why there are no hardware counters; NULL if there are. */
const char *evidence_lacks(const struct evidence_reader *reader);

struct evidence evidence_now(const struct evidence_reader *reader);
struct evidence evidence_since(const struct evidence *before, const struct evidence *now);

#endif
