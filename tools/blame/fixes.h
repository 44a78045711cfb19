/* fixes: "fix this, gain that": how long a step would take if one cause were removed.
 *
 * Candidates are each rank, in all phases and in each; each host of two or more ranks, likewise; and each phase, on all ranks. What is
 * fixed becomes as fast as the median of the others (analysis/what_if.h). Gains are shares of a replayed step, times the measured
 * step.
 *
 * Ranks that differ by noise alone gain a little as well: each is the last one now and then. So a fix is kept only if it gains at
 * least a hundredth of a step, and more than the median of its like: the other ranks, or hosts, in the same phase. The difference
 * must exceed chance over rounds, or stretches of steps (Student's t, 5 % for all candidates of a kind together). Of a phase on all
 * ranks there is no like: it is kept if it gains a twentieth of a step. The fixes of the rank or host that is blamed are kept if they
 * gain a hundredth. Left out is what gains no more than a narrower fix: a host whose one rank gains as much.
 *
 * In a pipeline (chain.h) arrivals show no cause, so all ranks are candidates, and one of them leads if it would save more than three
 * quarters of what all ranks would save, each alone, and at least 2 % of all ranks' time. */
#ifndef LOCKSTEP_FIXES_H
#define LOCKSTEP_FIXES_H

#include "culprit.h"

struct fix {
    int rank, host; /* -1: none; both: all ranks */
    int phase;      /* SPAN_PHASES: all phases */
    double gain;    /* seconds per step */
    double excess;  /* lower end of the gain over its like */
};

struct fixes {
    struct fix *at; /* (count) the largest gain first */
    int count;
    double step;     /* measured, seconds */
    bool are_known;  /* false: the steps cannot be replayed */
    bool are_enough; /* false: too few steps to tell gains from noise */
    int leader;      /* rank that leads; -1: none */
    double led;      /* its gain in all phases, seconds per step */
};

struct fixes fixes_find(const struct spans_case *of, const struct outcome *outcome, const struct hosts *hosts,
                        const struct culprit *culprit);
void fixes_close(struct fixes *fixes);

/* Return "rank 1: data", "host b: all phases", "all ranks: forward". Free it. */
char *fix_name(const struct fix *fix, const struct outcome *outcome, const struct hosts *hosts);

/* Print the best fixes as a table of "fix this", "a step would take", "gain". */
void fixes_print(FILE *out, const struct fixes *fixes, const struct outcome *outcome, const struct hosts *hosts);

#endif
