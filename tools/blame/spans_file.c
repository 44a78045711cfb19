#include "spans_file.h"

#include "base/die.h"
#include "base/memory.h"
#include "spans_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *spans_file_head(const struct spans_file *file)
{
    const char *text = file->table.text, *end = text;
    while (*end == '#') {
        end += strcspn(end, "\r\n");
        end += strspn(end, "\r\n");
    }
    bool is_whole = end == text || end[-1] == '\n';
    return memory_text("%.*s%s", (int)(end - text), text, is_whole ? "" : "\n");
}

/* Return the world size of a case with at least one row. */
static int ranks_of(const struct spans_row *rows, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++)
        most = rows[i].rank > most ? rows[i].rank : most;
    return most + 1;
}

/* Return the names of the ranks' hosts; NULL if no row has one. All rows of a rank that have one must have the same. */
static char **hosts_of(const struct spans_file *file, const struct spans_case *of, const struct spans_row *rows,
                       int count)
{
    const struct spans_row **named = memory_new((size_t)of->ranks, sizeof *named), *any = NULL;
    char **hosts = NULL;
    for (int i = 0; i < count; i++) {
        const struct spans_row *row = &rows[i], **first = &named[row->rank];
        if (row->host[0] == '\0')
            continue;
        if (*first && strcmp((*first)->host, row->host) != 0)
            spans_file_refuse(file, row->line,
                              "host is '%.40s' here and '%.40s' in line %d, both of rank %d; a rank "
                              "stays on its host",
                              row->host, (*first)->host, (*first)->line, row->rank);
        *first = *first ? *first : row;
        any = any ? any : row;
    }
    for (int rank = 0; any && rank < of->ranks; rank++)
        if (!named[rank])
            spans_file_refuse(file, any->line,
                              "rank %d has a host here, but rank %d has none; write the hosts of all "
                              "ranks, or none",
                              any->rank, rank);
    if (any)
        hosts = memory_new((size_t)of->ranks, sizeof *hosts);
    for (int rank = 0; any && rank < of->ranks; rank++)
        hosts[rank] = memory_text("%s", named[rank]->host);
    free(named);
    return hosts;
}

static void add_case(struct spans_file *file, struct spans_row *rows, int count, const struct spans_wishes *wishes,
                     bool has_measured)
{
    struct spans_case *added = &file->cases[rows[0].span.variant];
    int rounds = 1;
    for (int i = 1; i < count; i++)
        rounds += rows[i].span.round != rows[i - 1].span.round;
    added->ranks = ranks_of(rows, count);
    added->blocks = memory_new((size_t)rounds, sizeof *added->blocks);
    for (int begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && rows[end].span.round == rows[begin].span.round;)
            end++;
        added->blocks[added->count++] = spans_block_of(file, added, rows + begin, end - begin, wishes, has_measured);
    }
    added->hosts = hosts_of(file, added, rows, count);
    for (int i = 1; i < added->count; i++) /* rounds are compared, so all need the same cycle */
        if (added->blocks[i].every != added->blocks[0].every)
            for (int j = 0; j < added->count; j++)
                added->blocks[j].every = 1;
}

struct spans_file *spans_file_open(const char *path, const struct spans_wishes *wishes)
{
    struct spans_file *file = memory_new(1, sizeof *file);
    char why[320];
    file->path = path;
    if (!csv_read(path, &file->table, why, sizeof why))
        die(STATUS_USAGE, "%s", why);
    bool has_measured = false;
    struct spans_wishes effective = *wishes;
    effective.clock_error = isnan(wishes->clock_error) ? 0 : wishes->clock_error;
    char *split = csv_comment(&file->table, "wait and transfer", 0); /* set by labs whose ranks share a GPU */
    effective.hides_arrivals |= split && strncmp(split, "n/a", 3) == 0;
    free(split);
    int count = 0;
    struct spans_row *rows = spans_rows_read(file, &count, &has_measured);
    for (int begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && rows[end].span.variant == rows[begin].span.variant;)
            end++;
        add_case(file, rows + begin, end - begin, &effective, has_measured);
    }
    free(rows);
    return file;
}

void spans_file_close(struct spans_file *file)
{
    for (int i = 0; i < file->count; i++) {
        for (int j = 0; j < file->cases[i].count; j++)
            free((void *)file->cases[i].blocks[j].timeline.spans);
        free(file->cases[i].blocks);
        for (int rank = 0; file->cases[i].hosts && rank < file->cases[i].ranks; rank++)
            free(file->cases[i].hosts[rank]);
        free(file->cases[i].hosts);
    }
    csv_free(&file->table);
    free(file->own_path);
    free(file->rank_numbers);
    free(file);
}
