/* text_loader: the batches of a token plan as rows of tokens.
 *
 * The words of the texts are drawn, which matters to nobody: what a step costs depends on their number. */
#ifndef LOCKSTEP_TEXT_LOADER_H
#define LOCKSTEP_TEXT_LOADER_H

#include "needs.h"
#include "text.h"
#include "tokens.h"
#include "work.h"

struct text_loader;

/* What a batch has to do. */
struct work token_work(const struct token_batch *batch);

/* The words of a corpus, alike on every rank: 1 … vocab-1, 0 being padding; and buffers for batches of at most `most`. */
struct text_loader *text_loader_open(const struct token_corpus *corpus, int vocab, int seed, struct token_most most);
void text_loader_close(struct text_loader *loader);
struct needs text_loader_need(double texts, double tokens, double most_rows, double most_texts);

/* What a rank reads from now on. */
struct reading {
    const struct token_plan *plan;
    int rank;
    int first; /* step of the plan to begin with */
    /* Every text of a step counts alike; else every rank does, as averaging ranks' means has it. */
    bool weighs_by_texts;
};
void text_loader_restart(struct text_loader *loader, struct reading reading);

/* The next batch; it stays valid until the next call. */
const struct text_batch *text_loader_next(struct text_loader *loader);

#endif
