/* text_loader: the batches of a token plan as rows of tokens.
 *
 * The words of the texts are drawn, which matters to nobody: what a step costs depends on their number. */
#ifndef LOCKSTEP_TEXT_LOADER_H
#define LOCKSTEP_TEXT_LOADER_H

#include "device/sequence.h"
#include "model/tokens.h"
#include "options/memory_estimate.h"
#include "options/work.h"

struct sequence_loader;

/* What a batch has to do. */
struct work token_work(const struct token_batch *batch);

/* The words of a corpus, alike on every rank: 1 … vocab-1, 0 being padding; and buffers for batches of at most `most`. */
struct sequence_loader *sequence_loader_open(const struct token_corpus *corpus, int vocab, int seed,
                                             struct token_most most);
void sequence_loader_close(struct sequence_loader *loader);
struct memory_estimate sequence_loader_memory(double texts, double tokens, double most_rows, double most_texts);

/* What a rank reads from now on. */
struct reading {
    const struct batch_schedule *plan;
    int rank;
    int first; /* step of the plan to begin with */
    /* Every text of a step counts alike; else every rank does, as averaging ranks' means has it. */
    bool weighs_by_texts;
};
void sequence_loader_restart(struct sequence_loader *loader, struct reading reading);

/* The next batch; it stays valid until the next call. */
const struct sequence_batch *sequence_loader_next(struct sequence_loader *loader);

#endif
