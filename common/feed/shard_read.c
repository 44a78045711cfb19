#include "feed/shard_read.h"

#include "base/hot.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void shard_read_open(struct shard_read *read, bool is_buffered)
{
    *read = (struct shard_read){ .fd = -1, .is_buffered = is_buffered };
}

void shard_read_close(struct shard_read *read)
{
    if (read->file)
        fclose(read->file); /* closes the descriptor, too */
    else if (read->shard)
        close(read->fd);
    *read = (struct shard_read){ .fd = -1, .is_buffered = read->is_buffered };
}

static void change_file(struct shard_read *read, const struct token_shard *shard)
{
    shard_read_close(read);
    read->fd = token_shard_reopen(shard);
    read->shard = shard;
    if (read->is_buffered && !(read->file = fdopen(read->fd, "rb")))
        die(token_shard_status(), "%s: cannot be read: %s", shard->path, strerror(errno));
}

_Noreturn static void die_short(const struct token_shard *shard, uint64_t byte, int error)
{
    if (error)
        die(token_shard_status(),
            "%s: the disk cannot read byte %" PRIu64 ": %s; check the disk, or copy the shard from elsewhere",
            shard->path, byte, strerror(error));
    die(token_shard_status(),
        "%s: shrank to %" PRIu64 " bytes while it was read; write shards under another name, then rename them",
        shard->path, byte);
}

HOT unsigned shard_read_tokens(struct shard_read *read, const struct token_shard *shard, uint64_t first, size_t count,
                               void *tokens)
{
    if (read->shard != shard)
        change_file(read, shard);
    const size_t bytes = count * (size_t)shard->width;
    const uint64_t from = shard->offset + first * (uint64_t)shard->width;
    if (read->file) {
        if (fseeko(read->file, (off_t)from, SEEK_SET) != 0 || fread(tokens, 1, bytes, read->file) != bytes)
            die_short(shard, from, ferror(read->file) ? errno : 0);
        return 1;
    }
    unsigned calls = 0;
    for (size_t done = 0; done < bytes; calls++) {
        const ssize_t got = pread(read->fd, (char *)tokens + done, bytes - done, (off_t)(from + done));
        if (got <= 0 && !(got < 0 && errno == EINTR))
            die_short(shard, from + done, got < 0 ? errno : 0);
        done += got > 0 ? (size_t)got : 0;
    }
    return calls;
}
