/* shard_make: writes shards: of seeded tokens, or of texts. */
#ifndef LOCKSTEP_SHARD_MAKE_H
#define LOCKSTEP_SHARD_MAKE_H

#include "feed/token_shard.h"

#include <stdio.h>

/* Words for the formats, in the order of the enum. */
#define SHARD_FORMAT_WORDS "plain llmc16 llmc32 npy16 npy32"

struct shard_recipe {
    enum shard_format format;
    uint64_t tokens;   /* of the shard */
    uint64_t seed;     /* of this shard */
    uint32_t vocab;    /* tokens are below this, */
    uint32_t document; /* but documents begin with token_shard_document(); they are so long on average */
};

/* Write a shard into an open file. Documents have geometrically distributed lengths; the last one may go on in no other shard. Half of a
 * document's tokens are from a narrow range of the vocabulary, which it draws: so neighbours in a shard resemble each other, as in real
 * text, and a shuffle can be judged. */
void shard_make(FILE *out, const struct shard_recipe *recipe);

/* Write the header of a shard of `tokens` tokens; write a token. */
void shard_make_header(FILE *out, enum shard_format format, uint64_t tokens);
void shard_make_token(FILE *out, enum shard_format format, uint32_t token);

/* Return the most tokens that a header of this format can hold. */
uint64_t shard_make_most(enum shard_format format);

#endif
