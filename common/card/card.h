/* card: the machine card, the measured numbers of this machine without faults. They are measured before any variant runs. Every
 * prediction is computed from the card, and from no measurement of what it predicts.
 *
 * All times are in seconds. A cost that grows with the batch has the terms of work.h, fitted to batches of other sizes than
 * the lab's own. */
#ifndef LOCKSTEP_CARD_H
#define LOCKSTEP_CARD_H

#include "card/collective_cost.h"
#include "card/own_cost.h"
#include "card/p2p_cost.h"
#include "model/workload.h"
#include "options/run.h"
#include "options/work.h"
#include "world/hosts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Cost of a local step of one rank. */
struct local_cost {
    struct cost fetch;    /* assembling a batch */
    struct cost passes;   /* forward and backward */
    double forward_share; /* of forward in both */
    double update;        /* the optimizer */
};

/* Mean seconds of a local step by parts. */
struct local_times {
    double fetch, passes, update;
    double forward; /* part of the passes; 0: not measured */
    double fixed;   /* part of the passes that no smaller batch shortens, by a fit or a small batch; 0: not told */
};

static inline double lap_seconds(struct local_times lap)
{
    return lap.fetch + lap.passes + lap.update;
}

/* Errors of local costs for batches that were not fitted: predicted / measured - 1 of the usual batch; and the largest such error,
 * without sign, of a fitted shape when the fit leaves it out. */
struct fit_error {
    double usual, left_out;
};

/* Steps with the run's usual batch, measured in the same turns as the shapes that costs are fitted to, and all-reduces of the gradients
 * by all ranks (0: none). Nothing is predicted from them: they show how good the fits are, and later probes (drift.h) repeat them. */
struct card_reference {
    struct local_times alone, together;
    double transfer;
    struct fit_error alone_error, together_error; /* of the two local costs */
};

enum { CARD_NAME = 128 };

/* Lengths of sleeps whose overshoot is measured, in seconds. A core that sleeps briefly is hardly asleep: the processor, or the host of a
 * virtual machine, watches for work some 0.2 ms before it rests. */
#define SLEEP_BRIEF_S 0.2e-3
#define SLEEP_SHORT_S 2e-3
#define SLEEP_LONG_S  10e-3

/* Seconds by which brief and short sleeps exceed the request; 0: as longer ones. */
struct card_sleeps {
    double brief_over, short_over;
};

struct card {
    char cpu[CARD_NAME];
    int ranks, cores;
    struct local_cost alone;    /* one rank works, the others are parked */
    struct local_cost together; /* all ranks that have a core at once; their sums are not in it */
    double jitter;          /* mean over local steps of (slowest rank - mean rank) / mean rank, with as many at once */
    double copy_bandwidth;  /* bytes read plus written per second, of each of as many ranks at once */
    double sleep_overshoot; /* seconds by which a sleep of SLEEP_LONG_S or more exceeds the request, */
    double sleep_excess;    /* plus this much for each second requested */
    double transfer_core;   /* share of a transfer that keeps the core busy: 1 if cores copy the messages; 0 if a
                                   (simulated) network does, and an async helper may use the core */
    double stamp_cost;      /* of taking and storing one stamp */
    /* Shares of the time of measuring local steps in which rank 0's core was taken: */
    double queued_share; /* run-queue delay: by other programs of this machine */
    double stolen_share; /* steal time: by the host of this virtual machine */
    /* Properties of a modelled machine, from its platform file; all zero if one host has all cores. Of several real hosts only
     * `host` and `feeds` are known: */
    double relative_jitter;      /* standard deviation of a rank's step, as a share of it */
    struct card_place {          /* of a rank */
        short host, cores;       /* index of its host, and that host's cores */
        float parallel_capacity; /* parallel capacity: ranks of its host that can train at full speed at once */
        float slowdown;          /* slowdown relative to the fastest host */
    } place[RANKS_MOST];
    struct collective_costs collectives; /* those that labs have asked for (collective_use.h) */
    struct p2p_cost p2p;                 /* messages of two ranks, if a lab has asked for them */
    struct card_reference reference;     /* all zero on a modelled machine */
    struct card_sleeps sleeps;           /* likewise */
    const struct card *plan;             /* see card_of_plan(); NULL: this card */
    struct own_costs own; /* costs that the lab defines itself; last, because few labs send them to all ranks */
};

/* Return the card by which a case was planned, such as each rank's share of the samples. A card that follows the machine's drift predicts
 * how long that plan takes; it does not plan again. */
const struct card *card_of_plan(const struct card *card);

/* Set the card to `gpus` GPUs that all ranks share; `about` begins with their name. The cores are still the host's. */
void card_on_gpus(struct card *card, const char *about, int gpus);

/* Set the card to real ranks on several hosts: hosts (ranks). */
void card_on_hosts(struct card *card, const struct host *hosts);

/* Return the device that ranks of this world train on: "core", "simulated core" or "GPU". */
const char *card_trains_on(void);

/* True if the first `ranks` ranks are more than there are cores or GPUs for them on any host (oversubscribed). */
bool card_is_oversubscribed(const struct card *card, int ranks);

/* Return the number of ranks that have a core or GPU. */
int card_busy_ranks(const struct card *card);

/* Return the cost of a local step while `ranks` work at once, interpolated between one rank alone and all that have a core. For
 * more ranks than cores it is the cost of one alone; predict_step() adds their time sharing. */
struct local_cost card_local(const struct card *card, int ranks);

/* Return the cost of passes that follow others of the same rank. Simulated ranks compute one after another, so the first passes of a rank's
 * turn find caches that the other ranks have used, and later ones do not: they cost what they cost a rank alone. Real ranks: as
 * card_local(). */
struct cost card_passes_again(const struct card *card, int ranks);

/* True if simulated ranks measured the card, which compute one after another, or a platform file tells it. */
bool card_is_simulated(const struct card *card);

/* True if the card's local steps were measured, and are not from a platform file. */
bool card_is_measured(const struct card *card);

/* True if the lab sums gradients among all ranks, and the card does not have the time that a probe is compared with. */
bool card_lacks_transfer(const struct card *card, const struct card_uses *uses);

/* Return the index of a rank's host; and its parallel capacity: how many of its ranks can train at full speed at once, one for
 * each core or as many as memory feeds. */
int card_host(const struct card *card, int rank);
double card_parallel_capacity(const struct card *card, int rank);

/* Return the slowdown, relative to one rank alone, on the host of rank 0 while the first `ranks` train at once. */
double card_contention_slowdown(const struct card *card, int ranks);

/* True if the ranks of a host share memory bandwidth, not cores. A rank that sleeps or does host work instead of training leaves
 * its part to the other ranks. */
bool card_is_fed_by_memory(const struct card *card);

/* Return the place where a rank's async helper computes. A real rank and its helpers stay on one core. If a simulated host has
 * more cores than ranks, but not twice as many, they share the cores in a way that the formulas do not cover. */
enum card_helper { HELPER_ON_THE_RANKS_CORE, HELPER_ON_ITS_OWN, HELPER_SOMEWHERE };
enum card_helper card_helper(const struct card *card);

/* Return a rank's slowdown: its time for the same work relative to the fastest host. */
double card_rank_slowdown(const struct card *card, int rank);

/* Return the seconds by which the slowest of `ranks` equal ranks exceeds their mean, with `local` seconds of work each. */
double card_jitter(const struct card *card, int ranks, double local);

/* Return the real seconds of a sleep of `seconds`. Between measured lengths the overshoot is interpolated. */
double card_sleep(const struct card *card, double seconds);

/* Return the seconds of a collective of a group: from the arrival of the last rank until the mean rank has the result, in place
 * except for SEND_RECEIVE. `bytes` are those of `count` elements (struct collective_op), so that n ranks gather n times as much in
 * an all-gather. In SEND_RECEIVE each rank sends to the next one of its group, round a ring; a broadcast comes from the group's
 * first rank. 0 for one rank. NaN if the card lacks this kind in this group: then the lab's `uses` (lab_spec.h) lack it. */
double card_collective(const struct card *card, enum collective_kind kind, struct card_group group, double bytes);

/* Likewise of an all-reduce and of a barrier of the first `ranks` ranks. */
double card_allreduce(const struct card *card, int ranks, double bytes);
double card_barrier(const struct card *card, int ranks);

/* Return a cost that the lab defines itself (own_cost.h), by its name without prefix: "dispatch_s". NaN if the card lacks it, as that
 * of a platform file without it does; formulas then print `-`. */
double card_cost(const struct card *card, const char *name);

/* True if the card has all that a lab uses. */
bool card_covers(const struct card *card, const struct card_uses *uses);

/* Return the number of hosts that rank 0's group of this shape is on. With one, its messages stay within a host. */
int card_group_hosts(const struct card *card, struct card_group group);

/* Return the seconds of a whole local step. */
double local_step(const struct local_cost *cost, struct work work);

/* Print the card in a few lines. */
void card_show(FILE *out, const struct card *card, const struct workload *workload, const struct run *run);

#endif
