#include "feed/shard_set.h"

#include "base/folders.h"
#include "base/hash.h"
#include "base/memory.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* glob() sorts by the locale, so sort by bytes here. */
static void expand(const char *text, glob_t *found)
{
    const int error = glob(text, GLOB_NOSORT, NULL, found);
    if (error == GLOB_NOMATCH)
        die(token_shard_status(), "--shards %s: no such file; quote the glob, and check the folder", text);
    if (error)
        die(token_shard_status(), "--shards %s: %s", text, error == GLOB_NOSPACE ? "too many files" : strerror(errno));
    qsort(found->gl_pathv, found->gl_pathc, sizeof *found->gl_pathv, by_bytes);
}

char *shard_set_glob(const char *folder, const char *names)
{
    char *escaped = file_glob_escape(folder), *text = memory_text("%s/%s", escaped, names);
    free(escaped);
    return text;
}

struct shard_set *shard_set_open(const char *glob_text)
{
    glob_t found;
    expand(glob_text, &found);
    struct shard_set *set = memory_new(1, sizeof *set);
    set->shard = memory_new(found.gl_pathc, sizeof *set->shard);
    set->start = memory_new(found.gl_pathc + 1, sizeof *set->start);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct token_shard *shard = &set->shard[set->count++];
        *shard = token_shard_open(found.gl_pathv[i]);
        set->start[i + 1] = set->start[i] + shard->tokens;
        if (shard->width != set->shard[0].width)
            die(token_shard_status(), "%s has tokens of %d bytes, %s of %d; read them in separate runs",
                set->shard[0].path, set->shard[0].width, shard->path, shard->width);
    }
    set->width = set->shard[0].width;
    globfree(&found);
    return set;
}

void shard_set_close(struct shard_set *set)
{
    for (int i = 0; i < set->count; i++)
        token_shard_close(&set->shard[i]);
    free(set->shard);
    free(set->start);
    free(set);
}

void shard_set_keep(struct shard_set *set, uint64_t tokens)
{
    while (set->count > 1 && set->start[set->count - 1] >= tokens)
        token_shard_close(&set->shard[--set->count]);
}

uint64_t shard_set_tokens(const struct shard_set *set)
{
    return set->start[set->count];
}

uint64_t shard_set_identity(const struct shard_set *set)
{
    uint64_t hash = HASH_BEGIN;
    for (int i = 0; i < set->count; i++) {
        for (const char *c = set->shard[i].name; *c; c++)
            hash = hash_add(hash, (unsigned char)*c);
        hash = hash_add(hash_add(hash, 256), set->shard[i].tokens); /* 256: no byte of a name */
    }
    return hash;
}
