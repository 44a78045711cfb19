/* make_shards: writes shards of tokens for lab 08_token_loader, or for any other loader.
 *
 *     build/bin/make_shards --out /tmp/tokens --shards 2 --tokens 100000000
 *     build/bin/make_shards --out /tmp/tokens --text README.md --text CHANGELOG.md --format llmc16
 *
 * Without --text, tokens are drawn by seed. With --text, a token is a byte of the texts, one after the other, 0 … 255. Documents, and
 * each text is one, begin with token 50256 (GPT-2), or 128000 (Llama 3) if --format is llmc32. The shards are DIR/NAME_0000.bin and so on
 * (.npy for NumPy's format), and have equally many tokens, the last one of texts what is left. The same flags write the same bytes on
 * every machine. */
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "feed/shard_make.h"
#include "options/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    const char *out, *name;
    int shards, vocab, document, format;
    double tokens;
    uint64_t seed;
    struct option_list texts;
};

static const struct option_row rows[] = {
    { "--out", OPTION_TEXT, offsetof(struct settings, out), 0, 0, "DIR", "folder of the shards" },
    { "--name", OPTION_TEXT, offsetof(struct settings, name), 0, 0, "NAME", "begin of their names" },
    { "--shards", OPTION_INTEGER, offsetof(struct settings, shards), 1, 10000, "N", "number of seeded shards" },
    { "--tokens", OPTION_NUMBER, offsetof(struct settings, tokens), 1, 1e12, "N", "tokens of each shard" },
    { "--format", OPTION_CHOICE, offsetof(struct settings, format), 0, 0, SHARD_FORMAT_WORDS,
      "no header and uint16, or that of llm.c or NumPy with 16 or 32 bits" },
    { "--seed", OPTION_SEED, offsetof(struct settings, seed), 0, 0, "N", "seed of the tokens" },
    { "--vocab-size", OPTION_INTEGER, offsetof(struct settings, vocab), 1, TOKEN_DOCUMENT, "N",
      "seeded tokens are below N" },
    { "--document", OPTION_INTEGER, offsetof(struct settings, document), 2, 1000000, "N",
      "mean tokens of a seeded document" },
    { "--text", OPTION_LIST, offsetof(struct settings, texts), 0, 0, "FILE", "a text instead; may be repeated" },
    { 0 },
};

static struct file begin(const struct settings *s, int shard)
{
    const bool is_npy = s->format == SHARD_NPY_16 || s->format == SHARD_NPY_32;
    char *name = memory_text("%s_%04d.%s", s->name, shard, is_npy ? "npy" : "bin");
    struct file file = file_begin(s->out, name);
    free(name);
    return file;
}

static void end(struct file *file, uint64_t tokens)
{
    printf("%s: %" PRIu64 " tokens\n", file->path, tokens);
    file_commit(file);
}

static void make_seeded(const struct settings *s)
{
    for (int shard = 0; shard < s->shards; shard++) {
        struct file file = begin(s, shard);
        shard_make(file.out, &(struct shard_recipe){ .format = (enum shard_format)s->format,
                                                     .tokens = (uint64_t)s->tokens,
                                                     .seed = s->seed + (uint64_t)shard * UINT64_C(0x9e3779b97f4a7c15),
                                                     .vocab = (uint32_t)s->vocab,
                                                     .document = (uint32_t)s->document });
        end(&file, (uint64_t)s->tokens);
    }
}

/* All texts as one, each behind the token with which documents begin. */
struct text {
    uint32_t *token;
    uint64_t count;
};

static void add_text(struct text *all, enum shard_format format, const char *path)
{
    size_t size;
    char *bytes = file_read(path, &size);
    if (!bytes)
        die(STATUS_USAGE, "--text %s: cannot be read: %s", path, strerror(errno));
    all->token = memory_grow(all->token, (all->count + size + 1) * sizeof *all->token);
    all->token[all->count++] = token_shard_document(format);
    for (size_t i = 0; i < size; i++)
        all->token[all->count++] = (unsigned char)bytes[i];
    free(bytes);
}

static void make_from_texts(const struct settings *s)
{
    struct text all = { 0 };
    for (int i = 0; i < s->texts.count; i++)
        add_text(&all, (enum shard_format)s->format, s->texts.text[i]);
    const uint64_t most = (uint64_t)s->tokens;
    for (uint64_t done = 0, shard = 0; done < all.count; done += most, shard++) {
        const uint64_t count = all.count - done < most ? all.count - done : most;
        struct file file = begin(s, (int)shard);
        shard_make_header(file.out, (enum shard_format)s->format, count);
        for (uint64_t i = 0; i < count; i++)
            shard_make_token(file.out, (enum shard_format)s->format, all.token[done + i]);
        end(&file, count);
    }
    free(all.token);
}

int main(int argc, char **argv)
{
    struct settings s = { .out = "results/shards",
                          .name = "tokens",
                          .shards = 2,
                          .tokens = 10e6,
                          .seed = 2026,
                          .vocab = TOKEN_DOCUMENT,
                          .document = 500 };
    options_parse((const struct option_row *const[]){ rows, NULL }, &s,
                  "make_shards: writes shards of tokens, drawn by seed or from texts.", argc, argv);
    if ((double)shard_make_most((enum shard_format)s.format) < s.tokens)
        die(STATUS_USAGE, "--tokens %g: a header of llm.c can tell at most %" PRIu32 " tokens; make more shards",
            s.tokens, UINT32_MAX);
    if (s.texts.count > 0)
        make_from_texts(&s);
    else
        make_seeded(&s);
    return STATUS_RIGHT;
}
