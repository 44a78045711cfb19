#include "sources.h"

#include "base/die.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void append(struct sources *s, char *path)
{
    s->path = memory_grow_by_one(s->path, s->count, sizeof *s->path);
    s->path[s->count++] = path;
}

static bool ends(const char *text, const char *with)
{
    size_t length = strlen(text), end = strlen(with);
    return length > end && strcmp(text + length - end, with) == 0;
}

static int is_trace_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (ends(entry->d_name, ".json") || ends(entry->d_name, ".json.gz"));
}

void sources_add(struct sources *s, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        append(s, memory_text("%s", path));
        return;
    }
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_trace_name, versionsort);
    if (count < 0)
        die(STATUS_USAGE, "%s: the folder cannot be read: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        append(s, memory_text("%s/%s", path, entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    if (count == 0)
        die(STATUS_USAGE, "%s: the folder has no *.json or *.json.gz; name a folder of torch.profiler's traces", path);
}

/* True for the flag of an option whose value is the next word. */
static bool takes_next_word(const char *word, const struct option_row *rows)
{
    for (const struct option_row *row = rows; row->flag; row++)
        if (strcmp(word, row->flag) == 0)
            return row->kind != OPTION_SWITCH;
    return false;
}

struct sources sources_take(int *argc, char **argv, const struct option_row *rows)
{
    struct sources sources = { 0 };
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (argv[i][0] != '-') {
            sources_add(&sources, argv[i]);
            continue;
        }
        argv[kept++] = argv[i];
        if (takes_next_word(argv[i], rows) && i + 1 < *argc)
            argv[kept++] = argv[++i];
    }
    argv[kept] = NULL;
    *argc = kept;
    return sources;
}

struct spans_file *sources_open(const struct sources *s, const struct trace_options *options,
                                const struct spans_wishes *wishes)
{
    int traces = 0;
    while (traces < s->count && trace_is_trace(s->path[traces]))
        traces++;
    if (traces == s->count)
        return trace_case_open((const char *const *)s->path, s->count, options, wishes);
    if (s->count > 1 && traces > 0 && access(s->path[traces], R_OK) != 0)
        die(STATUS_USAGE, "%s: cannot be read: %s; name an existing file", s->path[traces], strerror(errno));
    if (s->count > 1 && traces == 0)
        die(STATUS_USAGE,
            "%s and %s: blame takes one file of spans; put the spans of all ranks into one, as in  cat spans-*.csv > "
            "spans.csv",
            s->path[0], s->path[1]);
    if (s->count > 1)
        die(STATUS_USAGE, "%s: not a trace of torch.profiler, but %s is one; give the traces of one job",
            s->path[traces], s->path[0]);
    if (options->is_partial || options->step_name)
        die(STATUS_USAGE, "%s: --partial and --step-name are for traces of torch.profiler; leave them out", s->path[0]);
    return spans_file_open(s->path[0], wishes);
}

void sources_close(struct sources *s)
{
    for (int i = 0; i < s->count; i++)
        free(s->path[i]);
    free(s->path);
    *s = (struct sources){ 0 };
}
