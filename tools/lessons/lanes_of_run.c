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
    size_t most = (size_t)table->rows + 1;
    view.text = lanes_explanation(table, name);
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
    return view;
}

struct lanes {
    struct where where;
    char *names[CASES_MOST], *titles[CASES_MOST];
    int count;
};

static void add_case(const struct check *check, size_t at, struct lanes *lanes, char *name, char *title)
{
    if (lanes->count == CASES_MOST)
        refuse(check, at, "lanes of more than %d cases", CASES_MOST);
    lanes->names[lanes->count] = name;
    lanes->titles[lanes->count++] = title;
}

/* Read "lanes [WHERE:] CASE…", or "lanes [WHERE]" with rows below. Both end up in `lanes`. */
static struct lanes read_lanes(const struct check *check, const struct comment *comment)
{
    struct lanes lanes = { .where = marker_defaults(check) };
    snprintf(lanes.where.file, sizeof lanes.where.file, "lanes.csv");
    char *text = memory_text("%s", comment->text + strlen("lanes")), *rest = text, *line = strsep(&rest, "\n"),
         bad[WHERE_WORD];
    if (rest && !where_read(&lanes.where, line, strlen(line), bad))
        refuse(check, comment->begin, "'%s' is no place", bad);
    if (!rest) {
        const char *cases = marker_where(check, comment->begin, line, &lanes.where);
        char *words = memory_text("%s", cases), *more = NULL;
        for (char *name = strtok_r(words, " ", &more); name; name = strtok_r(NULL, " ", &more))
            add_case(check, comment->begin, &lanes, memory_text("%s", name), memory_text("%s", name));
        free(words);
    }
    while ((line = strsep(&rest, "\n"))) {
        char *parts[2] = { NULL, NULL };
        if (strncmp(line, "row:", 4) != 0)
            refuse(check, comment->begin, "'%s' in lanes; write row: CASE | LABEL", line);
        int count = marker_cut(line + 4, parts, 2);
        add_case(check, comment->begin, &lanes, parts[0], count > 1 ? parts[1] : memory_text("%s", parts[0]));
    }
    free(text);
    if (lanes.count == 0)
        refuse(check, comment->begin, "'lanes' needs the name of a case");
    return lanes;
}

static void free_lanes(struct lanes *lanes)
{
    for (int i = 0; i < lanes->count; i++) {
        free(lanes->names[i]);
        free(lanes->titles[i]);
    }
}

/* Draw the cases. Return false, after a complaint, if one was not run. */
static bool draw(FILE *out, struct check *check, size_t at, const struct view *table, const struct lanes *lanes)
{
    struct timeline_view views[CASES_MOST];
    bool is_whole = true;
    for (int i = 0; i < lanes->count; i++) {
        views[i] = read_view(&table->table, lanes->names[i]);
        if (views[i].count == 0)
            complain(check, at, "%s is not in %s", lanes->names[i], table->path);
        is_whole &= views[i].count > 0;
    }
    if (is_whole)
        lanes_draw_views(out, views, lanes->titles, lanes->count, (struct terminal){ .columns = WIDTH });
    for (int i = 0; i < lanes->count; i++)
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
    struct lanes lanes = read_lanes(check, comment);
    struct view view;
    char *text = NULL;
    size_t size = 0;
    if (marker_view(check, comment->begin, &lanes.where, &view)) {
        FILE *out = memory_stream(&text, &size);
        fputs("\n```text", out);
        bool is_whole = draw(out, check, comment->begin, &view, &lanes);
        fputs("```\n", out);
        fclose(out);
        view_close(&view);
        trim_lines(text);
        if (!is_whole) {
            free(text);
            text = NULL;
        }
    }
    free_lanes(&lanes);
    return text;
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
