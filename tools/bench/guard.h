/* guard: shows how much of a start other programs took, and repeats a start if they took too much of it.
 *
 * The decision rests on the machine's own counters and never on the measured time, so it does not select fast starts. Taken is
 *     steal time + the smaller of the others' CPU time and the run-queue delay
 * as a share of the time of the CPUs that the ranks fill. The others' CPU time alone would count programs on idle CPUs, and the
 * run-queue delay (proc(5): pressure/cpu) alone would count ranks that share a CPU with each other. Both are of the whole machine:
 * the delay of a rank cannot be read after its process has ended. */
#ifndef LOCKSTEP_BENCH_GUARD_H
#define LOCKSTEP_BENCH_GUARD_H

#include <stdbool.h>

enum { GUARD_REPEATS = 2 };

struct guard {
    const char *root;     /* "", or a folder that holds another machine's proc/ */
    int ranks;            /* ranks that run at a time */
    const double *living; /* CPU seconds so far of processes of ours that go on after a start; NULL: all end */
};

/* Run start(argument), which returns false if it cannot run, and again if others took too much of it, at most GUARD_REPEATS times.
 * The last one counts. Return true if others took too much of that one, too. */
bool guard_run(const struct guard *guard, bool (*start)(void *argument), void *argument);

#endif
