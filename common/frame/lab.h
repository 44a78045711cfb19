/* lab: the frame of every lab. A lab tells its story as data (struct lab_spec), writes the training step, and calls
 *
 *     lab_open       settles the options, asks the guess, starts the ranks; reads or measures the machine card
 *     lab_next_block rounds x variants, in a seeded order: settings for the next one, false when all is done
 *     lab_next_step  false when the block's steps are done
 *     lab_phase      the next phase of the step begins now: of the device's work, or, when it is the host's (data, host),
 *                    after all that the device was told is done, as in a loop that reads each step's loss
 *     lab_judge      after a block: is the loss finite, are the replicas equal?
 *     lab_close      gathers, checks, writes the tables, draws lanes and table; returns the exit status
 *
 * Nothing between two lab_phase calls of a measured step allocates, prints or synchronises on the lab's behalf. */
#ifndef LOCKSTEP_LAB_H
#define LOCKSTEP_LAB_H

#include "base/csv.h"
#include "base/die.h"
#include "collective/spans.h"
#include "frame/lab_spec.h"
#include "world/world.h"

#include <stdbool.h>
#include <stddef.h>

struct lab;
struct collective;

/* Does not return in the process a person typed: there it starts the ranks and exits with their status. */
struct lab *lab_open(const struct lab_spec *spec, struct options *base, int argc, char **argv);

struct world *lab_world(const struct lab *lab);
const struct card *lab_card(const struct lab *lab);

/* Settings of the next block this rank takes part in; while others run a block without it, it is parked asleep. */
bool lab_next_block(struct lab *lab, struct options *options);

/* Where the ranks of the block meet. */
struct collective *lab_collective(const struct lab *lab);

bool lab_next_step(struct lab *lab);
void lab_phase(struct lab *lab, enum span_kind kind);

/* Whether this step is an n-th one: the warm-up ends with such a step, and every n-th from there is another. */
bool lab_every(const struct lab *lab, int n);

/* A number below n, the same on all ranks, and the same for every variant of a round. */
int lab_draw(struct lab *lab, int n);

/* Whether this rank is hit in a step where each rank is, by its own chance, with probability p. Drawn for all ranks of the
 * block in turn, so that what one of them draws next does not depend on who it is. */
bool lab_chance(struct lab *lab, double p);

/* all: `loss` is the mean over this rank's `samples` of the last step; parameters (count) must be bit-equal on all
 * ranks. */
void lab_judge(struct lab *lab, double loss, int samples, const float *parameters, size_t count);

/* One more table beside the others (at most four), for rows that only this lab has: on rank 0 what to write them into, NULL
 * on the other ranks. It takes its place when the lab is closed. */
struct csv *lab_table(struct lab *lab, const char *name);

int lab_close(struct lab *lab);

#endif
