#include "report/lanes.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Look of a segment: a glyph that is distinct without colour, and an Okabe-Ito colour. */
struct look {
    const char *glyph, *color, *word;
};

static struct look look_of(int kind)
{
    switch (kind) {
    case SPAN_DATA:
        return (struct look){ "░", "38;2;86;180;233", "data" };
    case SPAN_HOST:
        return (struct look){ "▒", "38;2;230;159;0", "host" };
    case SPAN_UPDATE:
        return (struct look){ "▓", "38;2;204;121;167", "update" };
    case SPAN_OTHER:
        return (struct look){ "·", "38;2;166;166;166", "other" };
    case SEGMENT_WAIT:
        return (struct look){ "╱", "38;2;213;94;0", "wait" };
    case SEGMENT_TRANSFER:
        return (struct look){ "▄", "38;2;0;158;115", "transfer" };
    case SEGMENT_EXPOSED:
        return (struct look){ "═", "38;2;0;158;115", "exposed" };
    case SEGMENT_TRAVEL:
        return (struct look){ "─", "38;2;0;158;115", "travelling" };
    default:
        return (struct look){ "█", "38;2;0;114;178", "compute" };
    }
}

/* Output and scale of the lanes. */
struct canvas {
    FILE *out;
    int label, columns; /* widths of a rank's name and of its lane */
    double scale;       /* seconds of a column */
    bool has_color;
};

enum { MARK = 8 }; /* columns behind a lane, for " ◀ last" */

/* Write text in lines of at most `columns`. All but the first begin with `indent` blanks. A byte counts as a column. */
static void write_wrapped(FILE *out, const char *text, int indent, int columns)
{
    int at = indent;
    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " ");
        if (at > indent && at + 1 + length > columns) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        }
        at += fprintf(out, "%s%.*s", at > indent ? " " : "", length, word);
        word += length + (word[length] == ' ');
    }
    fputc('\n', out);
}

static void draw_lane(const struct canvas *c, const struct timeline_view *p, int rank, int lane)
{
    int before = -1;
    for (int column = 0; column < c->columns; column++) {
        int kind = timeline_view_kind(p, rank, lane, column * c->scale, (column + 1) * c->scale);
        struct look look = look_of(kind);
        if (c->has_color && kind != before)
            fprintf(c->out, kind < 0 ? "\033[0m" : "\033[0;%sm", look.color);
        fputs(kind < 0 ? " " : look.glyph, c->out);
        before = kind;
    }
    if (c->has_color)
        fputs("\033[0m", c->out);
}

/* Return "  rank 3 " or "  rank 100-1023 ". Free it. */
static char *label_of(const struct timeline_view *p, const struct collapsed_ranks *lane_ranks)
{
    int first = timeline_view_rank(p, lane_ranks->first), last = timeline_view_rank(p, lane_ranks->last);
    return last > first ? memory_text("  rank %d-%d ", first, last) : memory_text("  rank %d ", first);
}

static int widest_label(const struct timeline_view *p)
{
    int widest = 0;
    for (int i = 0; i < p->collapsed_count; i++) {
        char *label = label_of(p, &p->collapsed[i]);
        int width = (int)strlen(label);
        widest = width > widest ? width : widest;
        free(label);
    }
    return widest;
}

static void draw_rank(const struct canvas *c, const struct timeline_view *p, const struct collapsed_ranks *lane_ranks)
{
    char *label = label_of(p, lane_ranks);
    fprintf(c->out, "%-*s", c->label, label);
    free(label);
    draw_lane(c, p, lane_ranks->first, 0);
    fprintf(c->out, "%s\n", lane_ranks->first == p->last ? " ◀ last" : "");
    if (!timeline_view_has_lane(p, lane_ranks->first, 1))
        return;
    fprintf(c->out, "%*s", c->label, "");
    draw_lane(c, p, lane_ranks->first, 1);
    fputc('\n', c->out);
}

static void draw_case(const struct canvas *c, const char *title, const struct timeline_view *p)
{
    int width = c->label + c->columns + MARK;
    fputs("\n  ", c->out);
    write_wrapped(c->out, title, 2, width);
    for (int i = 0; i < p->collapsed_count; i++)
        draw_rank(c, p, &p->collapsed[i]);
    if (p->text) {
        fprintf(c->out, "%*s", c->label, "");
        write_wrapped(c->out, p->text, c->label, width);
    }
}

/* Return a round number of milliseconds that divides a scale (above 0) into about five parts. */
static double tick_of(double milliseconds)
{
    double tick = pow(10, floor(log10(milliseconds / 5)));
    while (milliseconds / tick > 10)
        tick *= milliseconds / tick > 25 ? 5 : 2;
    return tick;
}

static void draw_axis(const struct canvas *c)
{
    double length = 1e3 * c->scale * c->columns;
    if (!(length > 0)) /* all steps took no time */
        return;
    double tick = tick_of(length);
    fprintf(c->out, "%*s", c->label, "");
    int at = 0;
    for (int i = 0; i * tick <= length; i++) {
        int column = (int)lround(i * tick / (1e3 * c->scale));
        char label[32];
        int width = snprintf(label, sizeof label, "|%g%s", i * tick, i ? "" : " ms");
        if (column < at || column + width > c->columns)
            continue;
        fprintf(c->out, "%*s%s", column - at, "", label);
        at = column + width;
    }
    fputc('\n', c->out);
}

static void draw_legend(const struct canvas *c, const struct timeline_view *views, int count)
{
    static const int order[] = { SPAN_DATA,       SPAN_FORWARD,   SPAN_HOST,   SEGMENT_WAIT, SEGMENT_TRANSFER,
                                 SEGMENT_EXPOSED, SEGMENT_TRAVEL, SPAN_UPDATE, SPAN_OTHER };
    int at = 0;
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        bool is_used = false;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < views[i].count; j++)
                is_used |= views[i].segments[j].kind == order[k];
        if (!is_used)
            continue;
        struct look look = look_of(order[k]);
        int width = (int)strlen(look.word) + 6;
        if (at == 0 || at + width > c->columns + MARK) {
            fprintf(c->out, "%s%*s", at ? "\n" : "", c->label, "");
            at = 0;
        }
        at += width;
        if (c->has_color)
            fprintf(c->out, "\033[%sm%s%s\033[0m %s   ", look.color, look.glyph, look.glyph, look.word);
        else
            fprintf(c->out, "%s%s %s   ", look.glyph, look.glyph, look.word);
    }
    fputc('\n', c->out);
}

static void print_collapsed(const struct canvas *c, const struct timeline_view *views, int count)
{
    double share = 0;
    for (int i = 0; i < count; i++)
        share = fmax(share, views[i].fold);
    if (!(share > 0))
        return;
    char *text =
        memory_text("Ranks that share a lane differ from its first rank by at most %g %% of the lane.", 100 * share);
    fprintf(c->out, "%*s", c->label, "");
    write_wrapped(c->out, text, c->label, c->label + c->columns + MARK);
    free(text);
}

void lanes_draw_views(FILE *out, const struct timeline_view *views, char *const *titles, int count,
                      struct terminal terminal)
{
    enum { LABEL = 11, LEAST = 20, MOST = 160 };
    struct canvas canvas = { .out = out, .label = LABEL, .has_color = terminal.has_color };
    double longest = 0;
    for (int i = 0; i < count; i++) {
        int label = widest_label(&views[i]);
        canvas.label = label > canvas.label ? label : canvas.label;
        longest = fmax(longest, views[i].end);
    }
    int columns = terminal.columns - canvas.label - MARK;
    canvas.columns = columns < LEAST ? LEAST : columns > MOST ? MOST : columns;
    canvas.scale = longest / canvas.columns;
    for (int i = 0; i < count; i++)
        draw_case(&canvas, titles[i], &views[i]);
    draw_axis(&canvas);
    draw_legend(&canvas, views, count);
    print_collapsed(&canvas, views, count);
}

void lanes_draw(FILE *out, const struct report *report, const char *const *names, struct terminal terminal)
{
    enum { VIEWS_MOST = 8 };
    char *titles[VIEWS_MOST];
    struct timeline_view views[VIEWS_MOST];
    int count = 0;
    for (; *names && count < VIEWS_MOST; names++) {
        const struct outcome *o = report_find_case(report, *names);
        if (!o || o->stats.wrong.count)
            continue;
        titles[count] = memory_text("%s: %s", o->name, o->idea);
        views[count++] = timeline_view_take(o);
    }
    if (count == 0)
        return;
    fprintf(out, "\nA typical step, one line per rank%s:\n",
            report->is_simulated        ? " (simulated)"
            : report->is_oversubscribed ? " (more ranks than cores or GPUs: ranks share time)"
                                        : "");
    lanes_draw_views(out, views, titles, count, terminal);
    for (int i = 0; i < count; i++) {
        timeline_view_drop(&views[i]);
        free(titles[i]);
    }
}

/* Write the tokens that a rank trains on in forward and backward, and how many it computes with padding; else blanks. */
static void put_tokens(struct csv *csv, const struct outcome *o, int step, const struct segment *s)
{
    const bool is_pass = s->kind == SPAN_FORWARD || s->kind == SPAN_BACKWARD;
    const int at = o->tokens ? (step - o->picture.first_step) * o->tokens->ranks + s->rank : 0;
    csv_index(csv, "tokens", o->tokens && is_pass ? o->tokens->useful_at[at] : -1);
    csv_index(csv, "padded_tokens", o->tokens && is_pass ? o->tokens->padded_at[at] : -1);
}

static void put_segment(struct csv *csv, const struct outcome *o, int step, const struct segment *s, int last)
{
    csv_text(csv, "case", o->name);
    csv_integer(csv, "step", step);
    csv_integer(csv, "rank", timeline_rank(&o->picture, s->rank));
    csv_integer(csv, "to_rank", timeline_rank(&o->picture, last));
    csv_integer(csv, "lane", s->lane);
    csv_text(csv, "kind", segment_names[s->kind]);
    csv_ms(csv, "start_ms", s->start);
    csv_ms(csv, "end_ms", s->end);
    csv_integer(csv, "arrived_last", s->late > 0);
    put_tokens(csv, o, step, s);
}

static void write_segments(struct csv *csv, const struct outcome *o, const struct timeline_view *p)
{
    for (int i = 0, at = 0; i < p->count; i++) {
        const struct segment *s = &p->segments[i];
        while (p->collapsed[at].first != s->rank)
            at++;
        do
            put_segment(csv, o, p->step, s, p->collapsed[at].last);
        while (csv_end_row(csv));
    }
}

#define EXPLANATION "explanation of "

char *lanes_explanation(const struct csv_table *lanes, const char *name)
{
    static const char *const keys[] = { EXPLANATION, "told of " };
    char *text = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !text; i++) {
        char *key = memory_text("%s%s", keys[i], name);
        text = csv_comment(lanes, key, 0);
        free(key);
    }
    return text;
}

void lanes_write(const struct report *report)
{
    struct csv csv = report_begin_table(report, "lanes.csv");
    struct timeline_view *views = memory_new((size_t)report->cases, sizeof *views);
    for (int i = 0; i < report->cases; i++) {
        views[i] = timeline_view_take(&report->outcomes[i]);
        if (views[i].text && !report->outcomes[i].stats.wrong.count)
            fprintf(csv.out, "# " EXPLANATION "%s: %s\n", report->outcomes[i].name, views[i].text);
    }
    for (int i = 0; i < report->cases; i++) {
        if (!report->outcomes[i].stats.wrong.count)
            write_segments(&csv, &report->outcomes[i], &views[i]);
        timeline_view_drop(&views[i]);
    }
    free(views);
    if (!csv.is_named) { /* no case has segments: write the column names alone */
        put_segment(&csv, &(struct outcome){ .name = "" }, 0, &(struct segment){ 0 }, 0);
        csv_end_row(&csv);
    }
}
