/* reading_state: how far a set of shards has been read, in a file of one line. A run resumes there with any number of ranks and any
 * batch size (--tail exact), or with the same ones (--tail published, whose order depends on them).
 *
 * The line is replaced as a whole (files.h), so a program that is killed leaves the old line or the new one. The program that trains
 * on the batches must store its own results at the same moment: what it consumed after the last line is read again. A training
 * job stores the line in its checkpoint. A program whose result is a file notes in the line where that file ended (output); on
 * resume it cuts the file there, and so removes what it wrote of a step that the line does not have. */
#ifndef LOCKSTEP_READING_STATE_H
#define LOCKSTEP_READING_STATE_H

#include "feed/shard_set.h"
#include "feed/window_order.h"

#include <stdbool.h>
#include <stdint.h>

struct reading_state {
    uint64_t rows;     /* consumed, of all epochs */
    uint64_t steps;    /* of all runs */
    uint64_t checksum; /* sum over consumed rows of what reading_state_row() returns: independent of their order */
    struct output_place {
        uint64_t device, inode; /* of the file that holds the consumer's output; 0 if it has none */
        uint64_t begin, end;    /* bytes at which this output begins and, up to the last step, ends */
    } output;
};

/* Return a number for a row of tokens at a position, whose x has this CRC-32. */
uint64_t reading_state_row(uint64_t position, uint32_t crc);

/* Return zlib's CRC-32 of tokens that are int32. */
uint32_t reading_state_crc(const void *tokens, uint64_t count);

/* Return what the rows of a batch add to the checksum. Its tokens x are int32, filled from these windows (batch_source.h). */
uint64_t reading_state_batch(const struct window_order *order, const struct token_window *windows, const void *x);

/* Note a step of this order, whose rows sum up to `checksum`. */
void reading_state_step(struct reading_state *state, const struct window_order *order, uint64_t checksum);

/* Store the state. End the program if that fails; the old file then stays. */
void reading_state_save(const char *path, const struct reading_state *state, const struct window_order *order,
                        const struct shard_set *set);

/* Read a state and let `order` go on from there. Return zeros if the file does not exist. End the program if the file holds no such
 * line, or one of other shards, or of settings with which the order cannot go on. */
struct reading_state reading_state_load(const char *path, struct window_order *order, const struct shard_set *set);

#endif
