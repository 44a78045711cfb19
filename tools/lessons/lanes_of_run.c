#include "generated.h"

#include "base/memory.h"
#include "report/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MOST = 4, WIDTH = 100 };

static int kind_of(const char *name)
{
    for (int kind = 0; kind < SEGMENT_KINDS; kind++)
        if (segment_names[kind] && strcmp(segment_names[kind], name) == 0)
            return kind;
    return SPAN_FORWARD;
}

static struct segment segment_of(const struct csv_table *table, int row)
{
    return (struct segment){ .rank = (int)csv_value(table, row, "rank"),
                             .lane = (int)csv_value(table, row, "lane"),
                             .kind = kind_of(csv_field(table, row, "kind")),
                             .start = csv_value(table, row, "start_ms") / 1e3,
                             .end = csv_value(table, row, "end_ms") / 1e3,
                             .late = csv_value(table, row, "arrived_last") };
}

/* Return the view that lanes.csv has of a case, as lanes_write() wrote it. */
static struct timeline_view read_view(const struct csv_table *table, const char *name)
{
    struct timeline_view view = { .last = -1 };
    char *key = memory_text("told of %s", name);
    size_t most = (size_t)table->rows + 1;
    view.text = csv_comment(table, key, 0);
    view.segments = memory_new(most, sizeof *view.segments);
    view.collapsed = memory_new(most, sizeof *view.collapsed);
    for (int row = 0; row < table->rows; row++) {
        if (strcmp(csv_field(table, row, "case"), name) != 0)
            continue;
        struct segment s = segment_of(table, row);
        if (view.count == 0 || view.segments[view.count - 1].rank != s.rank)
            view.collapsed[view.collapsed_count++].last = (int)csv_value(table, row, "to_rank");
        view.collapsed[view.collapsed_count - 1].first = s.rank;
        view.segments[view.count++] = s;
        view.end = fmax(view.end, s.end);
        view.last = s.late > 0 ? s.rank : view.last;
    }
    free(key);
    return view;
}

/* Draw the cases named in `names`. Return false, after a complaint, if one was not run. Changes `names`. */
static bool draw(FILE *out, struct check *check, size_t at, const struct view *table, char *names)
{
    struct timeline_view views[CASES_MOST];
    char *titles[CASES_MOST], *rest = NULL;
    int count = 0;
    bool is_whole = true;
    for (char *name = strtok_r(names, " ", &rest); name && count < CASES_MOST; name = strtok_r(NULL, " ", &rest)) {
        titles[count] = name;
        views[count++] = read_view(&table->table, name);
        if (views[count - 1].count == 0)
            complain(check, at, "%s is not in %s", name, table->path);
        is_whole &= views[count - 1].count > 0;
    }
    if (is_whole)
        lanes_draw_views(out, views, titles, count, (struct terminal){ .columns = WIDTH });
    for (int i = 0; i < count; i++)
        timeline_view_drop(&views[i]);
    return is_whole;
}

/* Remove blanks at the ends of lines. */
static void trim_lines(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        while (*from == '\n' && to > text && to[-1] == ' ')
            to--;
        *to++ = *from;
    }
    *to = '\0';
}

char *generated_lanes(struct check *check, const struct comment *comment)
{
    struct where where = marker_defaults(check);
    snprintf(where.file, sizeof where.file, "lanes.csv");
    const char *cases = marker_where(check, comment->begin, comment_after(comment, "lanes"), &where);
    struct view view;
    if (!*cases)
        refuse(check, comment->begin, "'lanes' needs the name of a case");
    if (!marker_view(check, comment->begin, &where, &view))
        return NULL;
    char *text = NULL, *names = memory_text("%s", cases);
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    fputs("\n```text", out);
    bool is_whole = draw(out, check, comment->begin, &view, names);
    fputs("```\n", out);
    fclose(out);
    view_close(&view);
    free(names);
    trim_lines(text);
    if (is_whole)
        return text;
    free(text);
    return NULL;
}

char *generated_machine(struct check *check, const struct comment *comment)
{
    struct where where = marker_defaults(check);
    const char *words = comment_after(comment, "machine");
    char bad[WHERE_WORD];
    if (!where_read(&where, words, strlen(words), bad))
        refuse(check, comment->begin, "'%s' is no place", bad);
    struct view view;
    if (!marker_view(check, comment->begin, &where, &view))
        return NULL;
    char *text = runs_machine(&view);
    view_close(&view);
    return text;
}
