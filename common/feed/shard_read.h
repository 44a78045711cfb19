/* shard_read: reads tokens of shards into memory, by pread() or through a FILE. It keeps the file of the last call open. */
#ifndef LOCKSTEP_SHARD_READ_H
#define LOCKSTEP_SHARD_READ_H

#include "feed/token_shard.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct shard_read {
    const struct token_shard *shard; /* whose file is open; NULL: none */
    int fd;
    FILE *file; /* NULL: pread() */
    bool is_buffered;
};

void shard_read_open(struct shard_read *read, bool is_buffered);
void shard_read_close(struct shard_read *read);

/* Read `count` tokens from token `first` on, as they stand in the file. Return the number of calls that read. If the shard ends earlier
 * or its disk fails, end the program with one line. */
unsigned shard_read_tokens(struct shard_read *read, const struct token_shard *shard, uint64_t first, size_t count,
                           void *tokens);

#endif
