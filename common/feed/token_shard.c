#include "feed/token_shard.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NPY_MAGIC = 6, NPY_HEAD_MOST = 4096, SNIFFED = 12 + NPY_HEAD_MOST };

/* The first bytes of a file. */
struct beginning {
    unsigned char byte[SNIFFED + 1];
    size_t count;
};

uint32_t token_shard_document(enum shard_format format)
{
    return format == SHARD_LLMC_32 ? TOKEN_DOCUMENT_LLAMA : TOKEN_DOCUMENT;
}

enum status token_shard_status(void)
{
    return die_rank() ? STATUS_WRONG : STATUS_USAGE;
}

static uint32_t word_at(const unsigned char *byte)
{
    return (uint32_t)byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

/* --- llm.c ------------------------------------------------------------------------------------------------------ */

/* True for a number that reads as a day, YYYYMMDD: llm.c's magics are days. */
static bool is_day(uint32_t n)
{
    const uint32_t year = n / 10000, month = n / 100 % 100, day = n % 100;
    return year >= 2020 && year < 2100 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* True if the file has a header like llm.c's, with any magic: a day, and nothing in its second half. Tokens do not look so. */
static bool has_llmc_header(const struct beginning *b)
{
    if (b->count < 4 * LLMC_HEADER || !is_day(word_at(b->byte)))
        return false;
    for (int i = LLMC_HEADER / 2; i < LLMC_HEADER; i++)
        if (word_at(b->byte + 4 * i) != 0)
            return false;
    return true;
}

static bool is_llmc_magic(const struct beginning *b)
{
    const uint32_t magic = b->count >= 4 ? word_at(b->byte) : 0;
    return magic == LLMC_MAGIC_16 || magic == LLMC_MAGIC_32;
}

static void read_llmc(struct token_shard *shard, const struct beginning *b)
{
    const uint32_t magic = word_at(b->byte);
    if (b->count < 4 * LLMC_HEADER)
        die(token_shard_status(),
            "%s: begins like a shard of llm.c, but ends within its header of %d bytes; copy it again", shard->path,
            4 * LLMC_HEADER);
    const bool is_wide = magic == LLMC_MAGIC_32;
    if (!is_llmc_magic(b))
        die(token_shard_status(),
            "%s: magic %" PRIu32 " is not that of token shards (%d or %d); it may be another file of llm.c",
            shard->path, magic, LLMC_MAGIC_16, LLMC_MAGIC_32);
    const uint32_t version = word_at(b->byte + 4), wanted = is_wide ? LLMC_VERSION_32 : LLMC_VERSION_16;
    if (version != wanted)
        die(token_shard_status(),
            "%s: version %" PRIu32 " of llm.c's shards, but magic %" PRIu32 " has version %" PRIu32
            "; write it anew with llm.c's scripts",
            shard->path, version, magic, wanted);
    shard->format = is_wide ? SHARD_LLMC_32 : SHARD_LLMC_16;
    shard->width = is_wide ? 4 : 2;
    shard->offset = 4 * LLMC_HEADER;
    shard->tokens = word_at(b->byte + 8);
}

/* --- NumPy ------------------------------------------------------------------------------------------------------ */

static bool is_npy(const struct beginning *b)
{
    return b->count >= NPY_MAGIC && memcmp(b->byte, "\x93NUMPY", NPY_MAGIC) == 0;
}

/* Return the text behind 'key': in the header, a Python dictionary; "" if there is none. */
static const char *value_of(const char *head, const char *key)
{
    const char *place = strstr(head, key);
    place = place ? strchr(place, ':') : NULL;
    return place ? place + 1 + strspn(place + 1, " ") : "";
}

/* Parse a shape of one dimension, "(1000,)". Return false for others. */
static bool read_shape(const char *text, uint64_t *count)
{
    char *end;
    if (text[0] != '(' || text[1] < '0' || text[1] > '9')
        return false;
    errno = 0;
    *count = strtoull(text + 1, &end, 10);
    end += strspn(end, " L"); /* Python 2 wrote 1000L */
    return errno == 0 && *end == ',' && end[1 + strspn(end + 1, " ")] == ')';
}

static void read_npy(struct token_shard *shard, struct beginning *b)
{
    const int version = b->count > NPY_MAGIC ? b->byte[NPY_MAGIC] : 0;
    if (version < 1 || version > 3)
        die(token_shard_status(), "%s: version %d of .npy is unknown; save it anew with numpy.save()", shard->path,
            version);
    const size_t begin = version == 1 ? 10 : 12;
    const uint64_t length = b->count < begin ? 0
                            : version == 1   ? (uint64_t)(b->byte[8] | b->byte[9] << 8)
                                             : word_at(b->byte + 8);
    if (length == 0 || length > NPY_HEAD_MOST || begin + length > b->count)
        die(token_shard_status(), "%s: ends within its .npy header, or that is longer than %d bytes; copy it again",
            shard->path, NPY_HEAD_MOST);
    b->byte[begin + length] = '\0';
    const char *head = (const char *)b->byte + begin, *type = value_of(head, "'descr'");
    const bool is_narrow = strncmp(type, "'<u2'", 5) == 0, is_wide = strncmp(type, "'<u4'", 5) == 0;
    if (!is_narrow && !is_wide)
        die(token_shard_status(), "%s: holds elements of type %.*s; save it as uint16 or uint32 ('<u2', '<u4')",
            shard->path, (int)strcspn(type, ",}\n") < 12 ? (int)strcspn(type, ",}\n") : 12, type);
    if (!read_shape(value_of(head, "'shape'"), &shard->tokens))
        die(token_shard_status(), "%s: its array has not one dimension; save it with .reshape(-1)", shard->path);
    shard->format = is_wide ? SHARD_NPY_32 : SHARD_NPY_16;
    shard->width = is_wide ? 4 : 2;
    shard->offset = begin + length;
}

/* --- any file ----------------------------------------------------------------------------------------------------- */

static void read_plain(struct token_shard *shard)
{
    if (shard->bytes % 2)
        die(token_shard_status(),
            "%s: %" PRIu64 " bytes are no whole number of uint16 tokens, and it has no header of llm.c or .npy; "
            "copy it again, or leave it out of the glob",
            shard->path, shard->bytes);
    shard->format = SHARD_PLAIN;
    shard->width = 2;
    shard->tokens = shard->bytes / 2;
}

/* Compare the file's size with its header. */
static void refuse_size(const struct token_shard *shard)
{
    const uint64_t room = (shard->bytes - shard->offset) / (uint64_t)shard->width;
    const bool is_whole = (shard->bytes - shard->offset) % (uint64_t)shard->width == 0;
    if (shard->tokens > room)
        die(token_shard_status(),
            "%s: truncated: its header says %" PRIu64 " tokens, the file has room for %" PRIu64 "; copy it again",
            shard->path, shard->tokens, room);
    if (shard->tokens < room || !is_whole)
        die(token_shard_status(),
            "%s: its header says %" PRIu64 " tokens, but %" PRIu64 " bytes follow the last one; write it anew",
            shard->path, shard->tokens, shard->bytes - shard->offset - shard->tokens * (uint64_t)shard->width);
    if (shard->tokens == 0)
        die(token_shard_status(), "%s: has no tokens; leave it out of the glob", shard->path);
}

/* Read up to `most` bytes from the beginning. */
static void sniff(const struct token_shard *shard, int fd, struct beginning *b)
{
    while (b->count < SNIFFED) {
        const ssize_t got = pread(fd, b->byte + b->count, SNIFFED - b->count, (off_t)b->count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            die(token_shard_status(), "%s: cannot be read: %s; check the disk, or copy it again", shard->path,
                strerror(errno));
        if (got == 0)
            return;
        b->count += (size_t)got;
    }
}

/* Open the file and return its size in *bytes. */
static int open_file(const char *path, uint64_t *bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die(token_shard_status(), "%s: cannot be opened: %s; check the name and the rights", path, strerror(errno));
    struct stat status;
    if (fstat(fd, &status) != 0)
        die(token_shard_status(), "%s: cannot be examined: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        die(token_shard_status(), "%s: is no file, but a folder or device; leave it out of the glob", path);
    *bytes = (uint64_t)status.st_size;
    return fd;
}

struct token_shard token_shard_open(const char *path)
{
    struct token_shard shard = { .path = memory_text("%s", path) };
    const char *slash = strrchr(shard.path, '/');
    shard.name = slash ? slash + 1 : shard.path;
    const int fd = open_file(path, &shard.bytes);
    struct beginning b = { .count = 0 };
    sniff(&shard, fd, &b);
    close(fd);
    if (is_npy(&b))
        read_npy(&shard, &b);
    else if (is_llmc_magic(&b) || has_llmc_header(&b))
        read_llmc(&shard, &b);
    else
        read_plain(&shard);
    refuse_size(&shard);
    return shard;
}

void token_shard_close(struct token_shard *shard)
{
    free(shard->path);
    shard->path = NULL;
}

int token_shard_reopen(const struct token_shard *shard)
{
    uint64_t bytes;
    const int fd = open_file(shard->path, &bytes);
    if (bytes != shard->bytes)
        die(token_shard_status(),
            "%s: has changed from %" PRIu64 " to %" PRIu64 " bytes since it was opened; "
            "leave shards alone while they are read",
            shard->path, shard->bytes, bytes);
    return fd;
}
