#include "launch/mpirun_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Append the line to `words`, with blanks for line breaks and runs of blanks collapsed. */
static void keep_line(struct mpirun_filter *f)
{
    size_t kept = strlen(f->words);
    for (size_t i = 0; i < f->length && kept < MPIRUN_WORDS_MOST; i++) {
        bool is_blank = f->line[i] == ' ' || f->line[i] == '\t';
        bool is_second = kept == 0 || f->words[kept - 1] == ' ';
        if (!is_blank || !is_second)
            f->words[kept++] = is_blank ? ' ' : f->line[i];
    }
    if (kept > 0 && kept < MPIRUN_WORDS_MOST && f->words[kept - 1] != ' ')
        f->words[kept++] = ' ';
    f->words[kept] = '\0';
}

/* True for a line of our own program inside a launcher's message; the row of dashes after that message was lost. */
static bool is_ours(const struct mpirun_filter *f)
{
    size_t name = strlen(program_invocation_short_name);
    return f->length > name + 2 && strncmp(f->line, program_invocation_short_name, name) == 0 &&
           strncmp(f->line + name, ": ", 2) == 0;
}

/* True for "[host:4242] ..." and "[host][[62360,1],0] ...", which Open MPI prints in mpirun or in a rank, and for "[warn] ..." of
 * libevent, which Open MPI uses. */
static bool is_of_library(const char *line, size_t length)
{
    char text[MPIRUN_LINE + 1], end = 0;
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    int process = 0;
    return (sscanf(text, "[%*[^]:]:%d%c", &process, &end) == 2 && end == ']') ||
           (sscanf(text, "[%*[^]]][[%d%c", &process, &end) == 2 && end == ',') || strncmp(text, "[warn] ", 7) == 0;
}

static void collect(struct mpirun_filter *f, char c, struct passed *passed)
{
    if (c != '\n') {
        if (f->length < MPIRUN_LINE - 1)
            f->line[f->length++] = c;
        return;
    }
    bool is_of_rank = f->source == IN_BRACKETS ? !is_of_library(f->line, f->length) : is_ours(f);
    if (is_of_rank) {
        f->line[f->length++] = '\n';
        memcpy(passed->bytes + passed->count, f->line, f->length);
        passed->count += f->length;
    } else {
        keep_line(f);
    }
    if (is_of_rank || f->source == IN_BRACKETS)
        f->source = RANKS;
    f->length = 0;
}

static void route(struct mpirun_filter *f, char c, struct passed *passed)
{
    if (f->source == RANKS && !f->is_in_line && c == '[')
        f->source = IN_BRACKETS;
    if (f->source == RANKS) {
        passed->bytes[passed->count++] = c;
        f->is_in_line = c != '\n';
    } else {
        collect(f, c, passed);
    }
}

/* Release the held-back dashes, which turned out to be no row. */
static void release_dashes(struct mpirun_filter *f, struct passed *passed)
{
    for (; f->dashes > 0; f->dashes--)
        route(f, '-', passed);
}

void mpirun_filter_read(struct mpirun_filter *f, const char *bytes, size_t count, struct passed *passed)
{
    passed->count = 0;
    for (size_t i = 0; i < count; i++) {
        char c = bytes[i];
        if (c == '\0' || (c == '-' && f->dashes == MPIRUN_ROW)) /* Open MPI 5 ends its messages with a zero byte */
            continue;
        if (c == '-') {
            f->dashes++;
        } else if (f->dashes == MPIRUN_ROW) {
            f->dashes = 0;
            f->source = f->source == BETWEEN_ROWS ? RANKS : BETWEEN_ROWS;
            if (c != '\n') /* the line break belongs to the row */
                route(f, c, passed);
        } else {
            release_dashes(f, passed);
            route(f, c, passed);
        }
    }
    f->has_ranks |= passed->count > 0;
}

void mpirun_filter_end(struct mpirun_filter *f, struct passed *passed)
{
    passed->count = 0;
    release_dashes(f, passed);
    if (f->source == IN_BRACKETS && f->length > 0)
        collect(f, '\n', passed);
    keep_line(f);
    size_t kept = strlen(f->words);
    if (kept > 0 && f->words[kept - 1] == ' ')
        f->words[kept - 1] = '\0';
}
