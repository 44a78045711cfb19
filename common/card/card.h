/* card: the machine card. What this machine does when nothing is wrong, measured before any variant runs; every
 * prediction is made from it and from nothing that it predicts.
 *
 * All times in seconds. A cost that grows with the batch has the terms of work.h, fitted to batches of other sizes than
 * the lab's own. */
#ifndef LOCKSTEP_CARD_H
#define LOCKSTEP_CARD_H

#include "card/p2p_cost.h"
#include "model/workload.h"
#include "options/run.h"
#include "options/work.h"
#include "world/hosts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What a local step costs one rank. */
struct local_cost {
    struct cost fetch;  /* copying a batch together */
    struct cost passes; /* forward and backward */
    double update;      /* the optimizer */
};

enum { CARD_LINKS_MOST = 2, CARD_NAME = 128 };

struct card {
    char cpu[CARD_NAME];
    int ranks, cores;
    struct local_cost alone;    /* one rank works, the others are parked */
    struct local_cost together; /* as many ranks at once as have a core, without a collective */
    double jitter;              /* median over steps of (slowest rank - mean rank), so many at once */
    double copy_bandwidth;      /* bytes read plus written per second, of each of so many ranks at once */
    double fresh_bandwidth;     /* bytes per second of mapping, filling and releasing memory, likewise */
    double sleep_overshoot;     /* how much longer than asked a sleep takes, */
    double sleep_stretch;       /* and in addition for each second asked */
    double transfer_core; /* share of a transfer that keeps the core busy: 1 where cores copy the messages, 0 where a
                                 (simulated) network does and a helper may use the core meanwhile */
    double stamp_cost;    /* of taking one stamp and writing it down */
    /* Of the time in which local steps were measured, what others had of rank 0's core: */
    double queued_share; /* other programs of this machine */
    double stolen_share; /* the host of this virtual machine */
    /* Of a modelled machine, from its platform file; all zero where one host has all cores. Of several real ones only `host`
     * and `feeds` are known: */
    double relative_jitter; /* standard deviation of a rank's step, as a share of it */
    struct card_place {     /* of a rank */
        short host, cores;  /* index of its host, and that one's cores */
        float feeds;        /* so many ranks of its host can train at full speed at once */
        float pace;         /* how many times as long as on the fastest host it needs */
    } place[RANKS_MOST];
    int links; /* as card_group_sizes() has them */
    struct alpha_beta link[CARD_LINKS_MOST];
    struct p2p_cost passing; /* of two ranks */
};

/* The card is of GPUs, so many that all ranks share: `about` begins with their name. The host's cores are beside them. */
void card_on_gpus(struct card *card, const char *about, int gpus);

/* The card is of real ranks on several hosts, each rank's as in hosts (ranks). */
void card_on_hosts(struct card *card, const struct host *hosts);

/* How many of `ranks` take part in the all-reduces that a card has: all, and half, where there are so many. Returns how often. */
int card_group_sizes(int ranks, int sizes[CARD_LINKS_MOST]);

/* What ranks of this world train on: "core", "simulated core" or "GPU". */
const char *card_trains_on(void);

/* Whether the first `ranks` are more than there is for them to train on, on any host. */
bool card_is_oversubscribed(const struct card *card, int ranks);

/* Ranks that have one, of all. */
int card_busy_ranks(const struct card *card);

/* What a local step costs while `ranks` work at once: between one alone and all that have a core, in proportion. Where they
 * are more it is what one takes alone; that they share time is for predict_step(). */
struct local_cost card_local(const struct card *card, int ranks);

/* The host of a rank: its index, and how many of its ranks can train at full speed at once: one for each core, or what
 * memory feeds. */
int card_host(const struct card *card, int rank);
double card_parallel_capacity(const struct card *card, int rank);

/* How many times as long as alone work takes while the first `ranks` train at once, on the host of rank 0. */
double card_contention_slowdown(const struct card *card, int ranks);

/* Whether memory is what the ranks of a host share, so that one that does not train, but sleeps or works on the host, leaves
 * it to the others. */
bool card_is_fed_by_memory(const struct card *card);

/* Where a rank's helper computes. Real ranks keep to one core, with their helpers; simulated ones whose hosts have more
 * cores than they need, but not twice as many, share them in a way that the formulas do not know. */
enum card_helper { HELPER_ON_THE_RANKS_CORE, HELPER_ON_ITS_OWN, HELPER_SOMEWHERE };
enum card_helper card_helper(const struct card *card);

/* How many times as long as on the fastest host a rank needs for the same work. */
double card_rank_slowdown(const struct card *card, int rank);

/* By how much the slowest of `ranks` that are alike exceeds their mean, with so many seconds of work each. */
double card_jitter(const struct card *card, int ranks, double local);

/* Seconds that a sleep lasts for which `seconds` were asked. */
double card_sleep(const struct card *card, double seconds);

/* Seconds of an all-reduce of `bytes` among `ranks`, in place: among one there is nothing to do. NaN where the card has no such
 * number of ranks. */
double card_allreduce(const struct card *card, int ranks, double bytes);

/* Seconds of a barrier of `ranks`, after the last has come; NaN where the card has no such number of ranks. */
double card_barrier(const struct card *card, int ranks);

/* Seconds of a whole local step. */
double local_step(const struct local_cost *cost, struct work work);

/* The card in a few lines, for people. */
void card_show(FILE *out, const struct card *card, const struct workload *workload, const struct run *run);

#endif
