/* lab_private: a lab's data, shared by the files that implement lab.h. Nothing else includes this header.
 *
 * lab_open.c fills it, up to the first block; lab_card.c, its part of the machine card. lab_blocks.c moves it through rounds, blocks
 * and steps. lab.c has what a step calls, lab_close.c the end. */
#ifndef LOCKSTEP_LAB_PRIVATE_H
#define LOCKSTEP_LAB_PRIVATE_H

#include "analysis/block_results.h"
#include "base/interference.h"
#include "base/random.h"
#include "base/rss.h"
#include "card/card.h"
#include "card/own_probe.h"
#include "card/probe.h"
#include "collective/zero.h"
#include "frame/cases.h"
#include "frame/lab.h"
#include "frame/process_groups.h"
#include "frame/run_results.h"
#include "frame/schedule.h"
#include "launch/job.h"
#include "model/trainer.h"
#include "world/clocks.h"

struct lab {
    const struct lab_spec *spec;
    const struct option_row *tables[4];
    struct option_row *model_rows; /* those of the model, moved to their place in the options */
    int argc;
    char *const *argv;
    struct run run; /* base settings, final once the world is known */
    struct options *base;
    char *folder; /* folder of this platform's results */
    struct world *world;
    struct spans spans;
    struct card card;
    struct trainer *trainer;
    const struct model *model;   /* that the block trains */
    struct zero *divided;        /* its owner if ranks divide it among themselves; else NULL */
    struct check_failures tried; /* on rank 0: checks that failed before the first block */

    struct process_groups groups;
    const struct process_group *group; /* group of the current block */

    struct cases cases;
    double expected[CASES_MOST]; /* predicted seconds per step */
    struct schedule schedule;
    struct window window;
    int step, micro_batches; /* of the block */
    int compared;            /* steps that all cases make, after which their losses are compared */
    long passes;             /* forward passes of the block after `compared` steps */
    struct random draws;
    struct rank_result result;
    struct interruptions {
        double queued;           /* run-queue delay */
        double taken;            /* of it, by other programs */
        double at;               /* real time */
    } before;                    /* when the measured steps began */
    struct steal_reading stolen; /* when the block began; on rank 0 */
    struct clocks clocks;
    struct rss_peaks memory;   /* of this rank */
    struct memory_count begun; /* rank_memory_begin(), of this rank */

    /* On rank 0: */
    char *hosts;    /* hosts_text() */
    char *card_key; /* identifies this card */
    struct run_results *results;
    struct probe *probe;         /* on all ranks; NULL if nothing computes */
    struct own_probe *own_probe; /* likewise; NULL if the lab has no costs of its own */
    int blocks;                  /* since the last whole probe */
    double probed;               /* world_wall() when the last probe ended */
    struct terminal terminal;
};

/* all: read a fresh card from disk, add what this lab uses and the card lacks, or measure a card. Rank 0 prints it. */
void lab_get_card(struct lab *lab);

/* all: probe the speed of this machine and compare it with the card's: all of it, or the local step alone, briefly. Return true on rank
 * 0, which has the drift. */
bool lab_probe(struct lab *lab, bool is_whole, struct card_drift *drift);

#endif
