/* lab: the frame of every lab. A lab describes itself as data (struct lab_spec), writes the training step, and calls
 *
 *     lab_open       parses the options, asks for the guess, starts the ranks; reads or measures the machine card
 *     lab_next_block gives the settings of the next block (rounds x variants, in a seeded order), false after the last; restarts the
 *                    trainer, after it has judged the block before: is the loss finite, are the replicas equal?
 *     lab_next_step  false after the block's last step
 *     lab_phase      begins the step's next phase. A phase of the host (data, host) first waits for the device, as in a
 *                    loop that reads each step's loss; other phases begin when the device reaches them
 *     lab_close      measures the lab's own tables, gathers, checks, writes, draws lanes and table; returns the exit status
 *
 * Between two lab_phase calls of a measured step, the frame allocates nothing, prints nothing and does not synchronise. */
#ifndef LOCKSTEP_LAB_H
#define LOCKSTEP_LAB_H

#include "base/csv.h"
#include "base/die.h"
#include "card/brief.h"
#include "collective/span.h"
#include "frame/lab_spec.h"
#include "report/operations_trace.h"
#include "world/world.h"

#include <stdbool.h>
#include <stddef.h>

struct lab;
struct collective;
struct zero;

/* Return in the ranks only. In the process that the user started, start the ranks and exit with their status. */
struct lab *lab_open(const struct lab_spec *spec, struct options *base, int argc, char **argv);

struct world *lab_world(const struct lab *lab);

/* Return this rank's model, optimizer and data. */
struct trainer *lab_trainer(const struct lab *lab);

const struct card *lab_card(const struct lab *lab);

/* Return the settings of the i-th case that runs, and its name; NULL behind the last. */
const struct options *lab_case(const struct lab *lab, int i, const char **name);

/* Give the settings of the next block that this rank takes part in. The rank sleeps (parked) during blocks without it. The trainer is
 * restarted with this rank's share. */
bool lab_next_block(struct lab *lab, struct options *options);

/* Take `zero` as the model of the block until its last step is done, in a lab whose blocks open their models. Its losses and
 * parameters are then the block's result. */
void lab_trains_divided(struct lab *lab, struct zero *zero);

/* Return the collective of the block's ranks. */
struct collective *lab_collective(const struct lab *lab);

bool lab_next_step(struct lab *lab);

/* Begin the step's next phase. With SPAN_DATA and SPAN_HOST first wait for all work of the device. Loaders depend on that wait: they
 * overwrite the buffer of an earlier batch (model/loader.h), so call lab_phase(SPAN_DATA) before each loader_next(). */
void lab_phase(struct lab *lab, enum span_kind kind);

/* True in every n-th step. The count begins after the warm-up's last step, which is one of them. */
bool lab_every(const struct lab *lab, int n);

/* Draw a number below n: the same on all ranks, and the same for every variant of a round. */
int lab_draw(struct lab *lab, int n);

/* True if this rank is hit, where each rank of the block is hit with probability p, independently. Each rank draws for all of
 * them in turn, so all ranks stay in the same place of the random sequence. */
bool lab_chance(struct lab *lab, double p);

/* all: return how often to measure what a table of the lab's own compares, if measuring all of it once took `seconds` on rank 0: as often
 * as fits a quarter of the run's budget, `least` to `most` times. The same on all ranks. */
int lab_turns(struct world *world, const struct run *run, double seconds, int least, int most);

/* Begin a table that only this lab has, at most twelve. Returns NULL on ranks other than 0. The file appears when the lab is
 * closed. */
struct csv *lab_table(struct lab *lab, const char *name);

/* Write operations.json (report/operations_trace.h), given on rank 0. */
void lab_trace_operations(struct lab *lab, const struct timed_pass *passes, int count);

/* Add failed checks of what the lab measured after the last block, given on rank 0. They make every case wrong. */
void lab_add_wrong(struct lab *lab, struct check_failures wrong);

int lab_close(struct lab *lab);

#endif
