/* sequence_loader: the batches of a batch schedule as rows of tokens.
 *
 * The words are random: the cost of a step depends only on their number. */
#ifndef LOCKSTEP_SEQUENCE_LOADER_H
#define LOCKSTEP_SEQUENCE_LOADER_H

#include "model/batch.h"
#include "model/tokens.h"
#include "options/memory_estimate.h"
#include "options/work.h"

struct sequence_loader;

/* Return the work of a batch. */
struct work token_work(const struct token_batch *batch);

/* Open a loader with random words for a corpus, equal on all ranks, and buffers for batches of at most `most`. Words
 * are 1 … vocab-1; 0 is padding. */
struct sequence_loader *sequence_loader_open(const struct token_corpus *corpus, int vocab, uint64_t seed,
                                             struct batch_most most);
void sequence_loader_close(struct sequence_loader *loader);

/* Return the memory of a loader, its corpus and a batch schedule, for batches up to `most`. */
struct memory_estimate sequence_loader_memory(const struct token_recipe *recipe, struct batch_most most);

/* Batches that a rank reads. */
struct reading {
    const struct batch_schedule *schedule;
    int rank;
    int first; /* step of the schedule to begin with */
    /* True if every sequence of a step has the same weight; false if every rank has, as in a mean of the ranks' means. */
    bool weighs_by_texts;
};
void sequence_loader_restart(struct sequence_loader *loader, struct reading reading);

/* Return the next batch, valid until the next call. The device must have finished all work on the batch before, because the new one
 * overwrites its buffer: lab_phase(SPAN_DATA), which comes first in a step, waits for that. */
const struct batch *sequence_loader_next(struct sequence_loader *loader);

#endif
