/* token_shard: a file of tokens, in one of these formats, told apart by their first bytes:
 *
 *     llm.c    256 int32 of header: magic 20240520, version 1, number of tokens; then uint16 (GPT-2)
 *              magic 20240801, version 7, likewise; then uint32 (Llama 3)
 *     NumPy    .npy of versions 1 to 3, an array of one dimension and of type uint16 or uint32
 *     none     only uint16
 *
 * All numbers are little-endian. A reader that expects no header takes the header of llm.c for 512 tokens. The magics as two uint16
 * are (55432, 308) and (55713, 308), and GPT-2 has no tokens above 50256, so its shards never begin like that.
 *
 * A file that is missing, empty, truncated, longer than its header says, or of another format ends the program with one line. */
#ifndef LOCKSTEP_TOKEN_SHARD_H
#define LOCKSTEP_TOKEN_SHARD_H

#include "base/die.h"

#include <stdint.h>

enum shard_format { SHARD_PLAIN, SHARD_LLMC_16, SHARD_LLMC_32, SHARD_NPY_16, SHARD_NPY_32 };

/* Documents begin with the first token in GPT-2's vocabulary ("<|endoftext|>"), with the second one in Llama 3's ("<|begin_of_text|>"). */
enum { TOKEN_DOCUMENT = 50256, TOKEN_DOCUMENT_LLAMA = 128000 };

/* Header of llm.c, in int32. */
enum {
    LLMC_HEADER = 256,
    LLMC_MAGIC_16 = 20240520,
    LLMC_VERSION_16 = 1,
    LLMC_MAGIC_32 = 20240801,
    LLMC_VERSION_32 = 7
};

struct token_shard {
    char *path;
    const char *name; /* within path: behind the last slash */
    enum shard_format format;
    int width;       /* bytes of a token: 2 or 4 */
    uint64_t offset; /* of the first token in the file, bytes */
    uint64_t tokens;
    uint64_t bytes; /* size of the whole file */
};

/* Examine a file. Close the shard. */
struct token_shard token_shard_open(const char *path);
void token_shard_close(struct token_shard *shard);

/* Return the token with which documents begin in shards of this format: Llama 3's behind llm.c's header for that model. Other formats do
 * not tell their vocabulary; GPT-2's is assumed. */
uint32_t token_shard_document(enum shard_format format);

/* Return the exit status of a program that cannot read its shards. In a rank it is STATUS_WRONG, because only the first rank prints the
 * message of a STATUS_USAGE (die.h), and other ranks may be able to read theirs. */
enum status token_shard_status(void);

/* Open the file for reading again; end the program if it is gone or has another size than before. Return a descriptor. */
int token_shard_reopen(const struct token_shard *shard);

#endif
