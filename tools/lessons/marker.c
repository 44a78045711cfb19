#include "marker.h"

#include "base/die.h"
#include "base/memory.h"
#include "claims/expression.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void complain(struct check *check, size_t at, const char *format, ...)
{
    check->complaints++;
    if (check->runs->are_planned)
        return;
    printf("%s:%d: ", check->text->path, lesson_text_line(check->text, at));
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

_Noreturn void refuse(const struct check *check, size_t at, const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    die(STATUS_USAGE, "%s:%d: %s; docs/lessons.md explains markers", check->text->path,
        lesson_text_line(check->text, at), text);
}

struct where marker_defaults(const struct check *check)
{
    struct where where = { .place = "here" };
    snprintf(where.lab, sizeof where.lab, "%s", check->lab);
    return where;
}

const char *marker_where(const struct check *check, size_t at, const char *text, struct where *where)
{
    const char *colon = strchr(text, ':');
    char bad[WHERE_WORD];
    if (!colon)
        return text;
    if (!where_read(where, text, (size_t)(colon - text), bad))
        refuse(check, at, "'%s' is no place, table or column=value", bad);
    return colon + 1 + strspn(colon + 1, " ");
}

char *marker_trimmed(const char *from, const char *to)
{
    while (from < to && *from == ' ')
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\r'))
        to--;
    return memory_text("%.*s", (int)(to - from), from);
}

int marker_cut(const char *line, char **parts, int most)
{
    int count = 0;
    for (const char *at = line;;) {
        const char *end = count + 1 < most ? strchr(at, '|') : NULL;
        parts[count++] = marker_trimmed(at, end ? end : at + strlen(at));
        if (!end)
            return count;
        at = end + 1;
    }
}

bool marker_view(struct check *check, size_t at, const struct where *where, struct view *view)
{
    bool is_torch = strcmp(where->place, "torch") == 0; /* one table of all labs */
    if (!*where->lab && !is_torch)
        refuse(check, at, "the marker does not say of which lab; write 01_straggler: before the expression");
    *view = runs_view(check->runs, where);
    if (!view->is_there && is_torch)
        complain(check, at, "%s is missing; tools/torch/ddp_faults.py makes it", view->path);
    else if (!view->is_there)
        complain(check, at, "%s is missing; ./run_all.sh --lesson-figures --only %s makes it", view->path, where->lab);
    return view->is_there;
}

/* True if the expression names no cell and no setting. */
static bool is_arithmetic(const char *expression)
{
    return strspn(expression, "0123456789.+-*/() ") == strlen(expression);
}

bool marker_value(struct check *check, size_t at, const struct where *where, const char *name, const char *expression,
                  double *value)
{
    static const struct csv_table none = { 0 };
    struct view view = { .table = none };
    bool is_plain = is_arithmetic(expression);
    if (is_plain && !strpbrk(expression, "+-*/"))
        refuse(check, at, "'%s' is no expression; name a cell, or calculate", expression);
    if (!is_plain && !marker_view(check, at, where, &view))
        return false;
    int rows = view.table.rows, row = name ? csv_find(&view.table, view.key, name) : rows == 1 ? 0 : -1;
    struct reading reading = { .table = &view.table, .row = row, .key = view.key };
    *value = expression_value(&reading, expression);
    char *path = memory_text("%s", view.path ? view.path : "");
    view_close(&view);
    if (reading.trouble == MALFORMED)
        refuse(check, at, "'%s': %s", expression, reading.why);
    bool is_known = reading.trouble != CASE_NOT_RUN;
    if (!is_known && row < 0 && !name && strcmp(reading.why, "case not run: ") == 0)
        complain(check, at, "'%s': %d rows of %s fit; name a case or column=value for one", expression, rows, path);
    else if (!is_known)
        complain(check, at, "'%s': %s is not in %s", expression,
                 strrchr(reading.why, ' ')[1] ? strrchr(reading.why, ' ') + 1 : name, path);
    free(path);
    return is_known;
}
