/* matched_collectives: the calls of each collective side by side, and each rank's arrival. timeline.h defines the quantities. */
#ifndef LOCKSTEP_MATCHED_COLLECTIVES_H
#define LOCKSTEP_MATCHED_COLLECTIVES_H

#include "analysis/timeline.h"
#include "collective/span.h"

/* Seconds within which two stamps are one instant: the resolution of the clocks plus half of spans.csv's, so that a tie is also one in
 * spans.csv. */
#define MATCHED_TIE 1.5e-9

/* A collective: the n-th call in a group by each of its members. A rank is a member if it called any collective of the group; all
 * ranks are members of group 0. `cause` is the member for which others wait: the root of a broadcast, else the last one (the first
 * of several); of messages there is none. */
struct matched {
    int members;
    const int *rank;        /* (members) in rising order */
    const struct span **at; /* (members) their calls */
    int cause;              /* -1: none */
    double latest;          /* start of `cause`; NaN if there is none */
    int last;               /* rank of `cause` if it is blamed; -1: a tie, or no waiting */
    double late;            /* seconds from the arrival before to that of `last` */
    double caused;          /* seconds of waiting that `last` is charged with */
};

/* A rank's call of a collective. */
struct matched_call {
    const struct matched *collective; /* NULL: not a collective */
    int member;                       /* index of the rank in the collective */
};

/* The first calls that differ, of two members. */
struct mismatch {
    int group, rank[2];
    const struct span *call[2]; /* NULL: this rank made fewer calls */
};

/* All collectives of a block, by group and number. Phases may differ between ranks. If the members of a group made different calls,
 * only `members`, `rank` and `calls` are valid. */
struct matched_collectives {
    int count;
    struct matched *at;         /* (count) */
    struct matched_call *calls; /* (ranks, count of the timeline) of each span */
    bool are_alike;             /* the members of each group made the same calls */
    struct mismatch mismatch;   /* if not */
    int *ranks;                 /* memory of the collectives' lists */
    const struct span **spans;
};

struct matched_collectives matched_collectives_find(const struct timeline *timeline);
void matched_collectives_close(struct matched_collectives *matched);

/* List a rank's calls by the time of entering: (timeline's count). Return their number. */
int matched_calls_of(const struct matched_collectives *matched, const struct timeline *timeline, int rank,
                     struct matched_call *calls);

/* Return the member with this rank; -1 if there is none. */
int matched_member(const struct matched *collective, int rank);

static inline const struct span *matched_span(struct matched_call call)
{
    return call.collective->at[call.member];
}

/* The last of the ranks for which a call waits, itself included. */
struct awaited {
    double latest; /* its start */
    int rank;      /* -1: several arrive together; of the two ranks of a message, `from` is then taken */
};
struct awaited matched_awaited(struct matched_call call);

/* Return the seconds of waiting that would vanish if all ranks of the host that came last had come with the last rank of another host;
 * hosts (ranks) are numbers. *host is the one that is charged; -1 and 0 seconds: none, as for a single rank (timeline.h). */
double matched_caused_by_host(const struct timeline *timeline, const struct matched *collective, const int *hosts,
                              int *host);

/* Return the traffic of a rank in a call; NaN if this needs `to` and `from`, which are unknown. */
struct collective_traffic matched_traffic(const struct timeline *timeline, struct matched_call call);

/* Seconds of a rank in a collective. */
struct parts {
    double wait, transfer, hidden, exposed;
    bool is_known; /* wait and transfer can be separated */
};
struct parts parts_of(const struct timeline *timeline, struct matched_call call);

#endif
