/* epoch_certificate: do the batches of all ranks have each token of an epoch exactly once? Batches are fetched as a training step would
 * fetch them (batch_source.h), one step after the other, and nothing is trained. Of each batch two things are examined: the windows from
 * which the source says it was filled, which are counted (certificate.h); and whether x and y are the tokens that stand there, which are
 * read from the shards another time. */
#ifndef LOCKSTEP_EPOCH_CERTIFICATE_H
#define LOCKSTEP_EPOCH_CERTIFICATE_H

#include "feed/batch_source.h"

#include <stdio.h>

enum { EPOCH_NEXT = -1 };

struct epoch_request {
    const struct shard_set *set;
    struct window_order order; /* of a run from its beginning */
    enum source_way way;
    long long epoch;        /* counted from 0; EPOCH_NEXT: that of the next row, which is 0 without a state */
    const char *state_path; /* of a state (reading_state.h); NULL: none */
};

/* Write whether each token of the epoch is read exactly once, and which are missing or repeated. If published, epoch e is each rank's
 * own pass e over all shards.
 *
 * With a state, the rows that it has come first: all of them are fetched again, and their checksum must be that of the state. The ranks
 * and batches of `order` then read what is left of the epoch. The certificate is about both together.
 *
 * Return true if each token is read once, x and y are right, and so is the checksum. */
bool epoch_certify(FILE *out, const struct epoch_request *request);

#endif
