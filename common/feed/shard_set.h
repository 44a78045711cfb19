/* shard_set: the shards of a glob, in the order of their bytes (LC_ALL=C), as one stream of tokens. Positions count tokens from the
 * first one of the first shard. All shards have tokens of the same width. */
#ifndef LOCKSTEP_SHARD_SET_H
#define LOCKSTEP_SHARD_SET_H

#include "feed/token_shard.h"

#include <stddef.h>

struct shard_set {
    int count;
    struct token_shard *shard; /* (count) */
    uint64_t *start;           /* (count + 1): position of each shard's first token; at last, number of all tokens */
    int width;                 /* bytes of a token */
};

/* Open the shards of a glob, or end the program with one line. Close the set. */
struct shard_set *shard_set_open(const char *glob_text);

/* Return the glob of files in a folder whose path may hold the characters of a glob. `names`: a glob. Free it. */
char *shard_set_glob(const char *folder, const char *names);
void shard_set_close(struct shard_set *set);

/* Close the shards that begin behind the first `tokens` tokens. */
void shard_set_keep(struct shard_set *set, uint64_t tokens);

/* Return the number of all tokens. */
uint64_t shard_set_tokens(const struct shard_set *set);

/* Return a hash of the shards' names and numbers of tokens. A resumed run must find the same set. */
uint64_t shard_set_identity(const struct shard_set *set);

#endif
