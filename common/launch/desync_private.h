/* desync_private: the findings of desync.c, which desync_text.c describes. Nothing else includes this header. */
#ifndef LOCKSTEP_DESYNC_PRIVATE_H
#define LOCKSTEP_DESYNC_PRIVATE_H

#include "launch/desync.h"
#include "options/run.h"

enum desync_kind { LEFT_OUT, OTHER_ORDER, OTHER_SIZE, OTHER_CALL, ENDED_EARLY, CROSSED };

/* Ranks that made one call. */
struct party {
    struct collective_call call;
    int rank[RANKS_MOST], ranks;
    const struct rank_record *first;
};

/* The difference between the ranks' calls. */
struct desync {
    enum desync_kind kind;
    bool is_tie;     /* nothing tells which party is at fault */
    bool is_settled; /* all ranks of the group wait or have ended */
    struct party usual, odd;
    bool has_ended;                /* the odd ranks ended normally: they make no call of the number of the usual one */
    bool has_changed;              /* the odd ranks called `before` at this place a step earlier, */
    struct collective_call before; /* or, CROSSED, called the usual group first */
};

/* Find a difference between the ranks' calls; false if all calls match so far. */
bool desync_find(const struct rank_record *record, int count, struct desync *found);

#endif
