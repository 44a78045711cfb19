/* card: the machine card. What this machine does when nothing is wrong, measured before any variant runs; every
 * prediction is made from it and from nothing that it predicts.
 *
 * All times in seconds. A cost that grows with the batch is fixed + per_sample x samples, drawn through two batch
 * sizes of which neither is the lab's own. */
#ifndef LOCKSTEP_CARD_H
#define LOCKSTEP_CARD_H

#include "link.h"
#include "run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct line {
    double fixed, per_sample;
};

/* What a local step costs one rank. */
struct local_cost {
    struct line fetch;  /* copying a batch together */
    struct line passes; /* forward and backward */
    double update;      /* the optimizer */
};

enum { CARD_LINKS_MOST = 12, CARD_NAME = 128 };

struct card {
    char cpu[CARD_NAME];
    int ranks, cores;
    struct local_cost alone;    /* one rank works, the others are parked */
    struct local_cost together; /* all ranks at once, without a collective */
    double jitter;              /* median over steps of (slowest rank - mean rank), all at once */
    double copy_bandwidth;      /* bytes read plus written per second, one rank */
    double sleep_overshoot;     /* how much longer than asked a sleep takes */
    double transfer_core; /* share of a transfer that keeps the core busy: 1 where cores copy the messages, 0 where a
                                 (simulated) network does and a helper may use the core meanwhile */
    double stamp_cost;    /* of taking one stamp and writing it down */
    int links;
    struct link link[CARD_LINKS_MOST];
};

/* Writes folder/machine.csv. `platform`: "here", or what tells a simulated machine from others. */
void card_write(const struct card *card, const char *folder, const struct run *run, const char *platform);

/* Reads folder/machine.csv into `card`. False when there is none that fits: another machine, job or version, or older
 * than an hour (shared machines drift). */
bool card_read(struct card *card, const char *folder, const struct run *run, const char *platform, int cores);

/* Seconds of an all-reduce of `bytes` among `ranks`; among one it is a copy. NaN where the card has no such number of
 * ranks. */
double card_allreduce(const struct card *card, int ranks, double bytes);

/* Seconds of a barrier of `ranks`, after the last has come; NaN where the card has no such number of ranks. */
double card_barrier(const struct card *card, int ranks);

/* Seconds of a line at so many samples, not below zero; and of a whole local step. */
double line_at(struct line line, double samples);
double local_step(const struct local_cost *cost, double samples);

/* The card in a few lines, for people. */
void card_show(FILE *out, const struct card *card, const struct run *run, double bytes);

#endif
