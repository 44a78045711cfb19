/* culprit: the rank or host that the ranks of a case waited for, and the phase in which it was late. */
#ifndef LOCKSTEP_CULPRIT_H
#define LOCKSTEP_CULPRIT_H

#include "report/run_report.h"
#include "spans_file.h"

/* The hosts of a case's ranks. */
struct hosts {
    int count;          /* 0: unknown */
    const char **names; /* (count) by first rank */
    int *of;            /* (ranks) index of a rank's host */
    int *sizes;         /* (count) ranks */
};
struct hosts hosts_open(const struct spans_case *of);
void hosts_close(struct hosts *hosts);

/* The rank, or else the host, that stands out. A host stands out by the rule for ranks (case_stats.h, without a baseline) if the others
 * waited for two or more of its ranks: no rank of it has three quarters of the host's charge. */
struct culprit {
    int rank, host; /* -1: none */
    int phase;      /* the phase in which it exceeds the median of the others most; -1: none */
    double wait;    /* seconds per step that others waited for it */
    double share;   /* of all ranks' time */
};

/* `is_partial`: ranks are missing, so no host is named. */
struct culprit culprit_find(const struct spans_case *of, const struct outcome *outcome, const struct hosts *hosts,
                            bool is_partial);

static inline bool culprit_is_named(const struct culprit *culprit)
{
    return culprit->rank >= 0 || culprit->host >= 0;
}

/* Return the rank that stands out by a replay of the steps, which would be shorter by `gain` seconds if it were as fast as the others.
 * Their own work stays, so on each of them that is waiting. */
struct culprit culprit_of_replay(const struct outcome *outcome, int rank, double gain);

/* Return a phase's name for a reader: "host" alone could be a machine, "other" anything. */
static inline const char *culprit_phase_name(int phase)
{
    return phase == SPAN_HOST ? "host work" : phase == SPAN_OTHER ? "other work" : span_names[phase];
}

/* Return "rank 3", or "host b (ranks 2 and 3)". Free it. */
char *culprit_name(const struct culprit *culprit, const struct outcome *outcome, const struct hosts *hosts);

#endif
