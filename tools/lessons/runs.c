#include "runs.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- where ---------------------------------------------------------------------------------------------------------- */

bool where_is_lab(const char *word)
{
    return strspn(word, "0123456789") == 2 && word[2] == '_';
}

static bool ends_with(const char *word, const char *end)
{
    size_t length = strlen(word), least = strlen(end);
    return length > least && strcmp(word + length - least, end) == 0;
}

static bool take_word(struct where *where, const char *word)
{
    const char *equals = strchr(word, '=');
    if (equals) {
        if (where->filters == WHERE_FILTERS)
            return false;
        snprintf(where->filter[where->filters].key, WHERE_WORD, "%.*s", (int)(equals - word), word);
        snprintf(where->filter[where->filters++].value, WHERE_WORD, "%s", equals + 1);
        return true;
    }
    if (ends_with(word, ".csv"))
        snprintf(where->file, WHERE_WORD, "%s", word);
    else if (where_is_lab(word))
        snprintf(where->lab, WHERE_WORD, "%s", word);
    else if (strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(word))
        snprintf(where->place, WHERE_WORD, "%s", word);
    else
        return false;
    return true;
}

bool where_read(struct where *where, const char *words, size_t length, char bad[WHERE_WORD])
{
    for (size_t at = 0; at < length;) {
        size_t next = at;
        while (next < length && !isspace((unsigned char)words[next]))
            next++;
        snprintf(bad, WHERE_WORD, "%.*s", (int)(next - at), words + at);
        if (next > at && (next - at >= WHERE_WORD || !take_word(where, bad)))
            return false;
        at = next + 1;
    }
    return true;
}

/* --- tables --------------------------------------------------------------------------------------------------------- */

void runs_close(struct runs *runs)
{
    for (int i = 0; i < runs->count; i++) {
        free(runs->at[i].path);
        csv_free(&runs->at[i].table);
    }
    free(runs->at);
}

/* Return the path of the table. Free it. */
static char *path_of(const struct runs *runs, const struct where *where)
{
    bool is_named = *where->file != '\0';
    if (strcmp(where->place, "claims") == 0)
        return memory_text("%s/%s.csv", runs->expected, where->lab);
    if (strcmp(where->place, "published") == 0)
        return memory_text("%s/%s", runs->expected, is_named ? where->file : "blog.csv");
    if (strcmp(where->place, "torch") == 0)
        return memory_text("%s/torch/%s", runs->runs, is_named ? where->file : "ddp_faults.csv");
    const char *file = is_named ? where->file : "summary.csv";
    if (strcmp(where->place, "here") == 0)
        return memory_text("%s/%s/%s", runs->runs, where->lab, file);
    if (strcmp(where->place, "verdicts") == 0)
        return memory_text("%s/verdicts/%s/%s", runs->runs, where->lab, file);
    return memory_text("%s/platforms/%s/%s/%s", runs->runs, where->place, where->lab, file);
}

/* True if --lesson-figures makes the table. It does not make those of PyTorch jobs. */
static bool path_is_of_run(const struct runs *runs, const char *path)
{
    size_t length = strlen(runs->runs);
    return strncmp(path, runs->runs, length) == 0 && path[length] == '/' && strncmp(path + length, "/torch/", 7) != 0;
}

/* Return the table, read if this is its first use. Takes `path`. */
static struct run_table *open_table(struct runs *runs, char *path)
{
    static const char *const none[] = { NULL };
    for (int i = 0; i < runs->count; i++)
        if (strcmp(runs->at[i].path, path) == 0) {
            free(path);
            return &runs->at[i];
        }
    runs->at = memory_grow(runs->at, ((size_t)runs->count + 1) * sizeof *runs->at);
    struct run_table *table = &runs->at[runs->count++];
    bool is_of_run = path_is_of_run(runs, path);
    bool is_there = !(is_of_run && runs->are_planned) && access(path, F_OK) == 0;
    *table = (struct run_table){ .path = path, .is_of_run = is_of_run, .is_there = is_there };
    if (table->is_there)
        table->table = csv_open(path, none);
    return table;
}

static bool is_wanted(const struct csv_table *table, int row, const struct where *where)
{
    for (int i = 0; i < where->filters; i++) {
        const char *field = csv_field(table, row, where->filter[i].key);
        if (!field || strcmp(field, where->filter[i].value) != 0)
            return false;
    }
    bool is_published = strcmp(where->place, "published") == 0 && csv_column(table, "lab") >= 0;
    return !is_published || strcmp(csv_field(table, row, "lab"), where->lab) == 0;
}

struct view runs_view(struct runs *runs, const struct where *where)
{
    struct run_table *from = open_table(runs, path_of(runs, where));
    const struct csv_table *table = &from->table;
    struct view view = { .table = *table,
                         .key = strcmp(where->place, "claims") == 0 ? "id" : "case",
                         .path = from->path,
                         .is_there = from->is_there };
    from->is_used = true;
    if (!from->is_there || !table->cell)
        return view;
    size_t columns = (size_t)table->columns;
    view.table.cell = memory_new(((size_t)table->rows + 1) * columns, sizeof *table->cell);
    view.table.line = memory_new((size_t)table->rows + 1, sizeof *table->line);
    memcpy(view.table.cell, table->cell, columns * sizeof *table->cell);
    view.table.rows = 0;
    for (int row = 0; row < table->rows; row++) {
        if (!is_wanted(table, row, where))
            continue;
        size_t to = (size_t)++view.table.rows;
        memcpy(view.table.cell + to * columns, table->cell + ((size_t)row + 1) * columns,
               columns * sizeof *table->cell);
        view.table.line[to] = table->line[row + 1];
    }
    return view;
}

void view_close(struct view *view)
{
    if (!view->is_there)
        return;
    free(view->table.cell);
    free(view->table.line);
}

/* --- settings ------------------------------------------------------------------------------------------------------- */

void runs_begin_text(struct runs *runs)
{
    for (int i = 0; i < runs->count; i++)
        runs->at[i].is_used = false;
}

/* True if the comment `key` of the table holds `word` between blanks. */
static bool has_word(const struct csv_table *table, const char *key, const char *word)
{
    char *comment = csv_comment(table, key, 0);
    bool is_there = false;
    for (char *at = comment ? strtok(comment, " ") : NULL; at; at = strtok(NULL, " "))
        is_there |= strcmp(at, word) == 0;
    free(comment);
    return is_there;
}

bool runs_have_setting(const struct runs *runs, const char *word)
{
    for (int i = 0; i < runs->count; i++) {
        const struct run_table *run = &runs->at[i];
        bool has = run->is_used && run->is_there &&
                   (has_word(&run->table, "command", word) || has_word(&run->table, "ranks", word) ||
                    has_word(&run->table, "cores", word));
        if (has)
            return true;
    }
    return false;
}

/* --- machine -------------------------------------------------------------------------------------------------------- */

/* Return the most rounds of any case. */
static int rounds_of(const struct csv_table *table)
{
    double most = 0;
    for (int row = 0; row < table->rows; row++) {
        double rounds = csv_value(table, row, "rounds");
        most = rounds > most ? rounds : most;
    }
    return (int)most;
}

/* Leave marks out of a processor's name: "Intel(R) Xeon(R)". */
static void leave_out(char *name, const char *mark)
{
    for (char *at = name; at && (at = strstr(at, mark));)
        memmove(at, at + strlen(mark), strlen(at + strlen(mark)) + 1);
}

char *runs_machine(const struct view *view)
{
    const struct csv_table *table = &view->table;
    char *ranks = csv_comment(table, "ranks", 0), *cores = csv_comment(table, "cores", 0);
    char *machine = csv_comment(table, "machine", 0), *when = csv_comment(table, "when", 0);
    char *simulated = csv_comment(table, "simulated", 0), *place = NULL;
    leave_out(machine, "(R)");
    leave_out(machine, "(TM)");
    const char *about = simulated ? strchr(simulated, ',') : NULL;
    bool is_modelled = machine && strncmp(machine, "costs of", 8) == 0;
    const char *plural = ranks && strcmp(ranks, "1") == 0 ? "" : "s";
    if (about) /* up to a colon, behind which it says how far to trust it */
        place = memory_text("simulated rank%s on %.*s%s%s%s", plural, (int)strcspn(about + 2, ":"), about + 2,
                            is_modelled ? "" : " (", is_modelled || !machine ? "" : machine, is_modelled ? "" : ")");
    else
        place = memory_text("rank%s on %s cores (%s)", plural, cores ? cores : "?", machine ? machine : "?");
    char *text =
        memory_text("%s %s, %d rounds, %.10s", ranks ? ranks : "?", place, rounds_of(table), when ? when : "?");
    free(ranks);
    free(cores);
    free(machine);
    free(when);
    free(simulated);
    free(place);
    return text;
}
