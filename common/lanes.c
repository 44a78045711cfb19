#include "lanes.h"

#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How a stretch looks: a glyph that differs without colour, and the Okabe-Ito colour of its meaning. */
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
    case STRETCH_WAIT:
        return (struct look){ "╱", "38;2;213;94;0", "wait" };
    case STRETCH_TRANSFER:
        return (struct look){ "▄", "38;2;0;158;115", "transfer" };
    case STRETCH_EXPOSED:
        return (struct look){ "═", "38;2;0;158;115", "exposed" };
    case STRETCH_TRAVEL:
        return (struct look){ "─", "38;2;0;158;115", "travelling" };
    default:
        return (struct look){ "█", "38;2;0;114;178", "compute" };
    }
}

struct picture {
    struct stretch *stretches;
    int count, step;
    int last; /* the rank that came last where the others waited most for it; -1 for none */
    double end;
};

static struct picture take_picture(const struct outcome *o)
{
    struct picture p = { .step = report_typical_step(o), .last = -1 };
    double latest = 0;
    int most = 4 * o->picture.count * o->picture.ranks;
    p.stretches = memory_new((size_t)most, sizeof *p.stretches);
    p.count = timeline_stretches(&o->picture, p.step, p.stretches, most);
    for (int i = 0; i < p.count; i++) {
        p.end = fmax(p.end, p.stretches[i].end);
        if (p.stretches[i].late > latest) {
            latest = p.stretches[i].late;
            p.last = p.stretches[i].rank;
        }
    }
    return p;
}

static void drop_picture(struct picture *p)
{
    free(p->stretches);
}

/* The stretch that covers most of the time from `begin` to `end` on a lane; -1 when the lane is empty there. */
static int kind_within(const struct picture *p, int rank, int lane, double begin, double end)
{
    double covered[STRETCH_KINDS] = { 0 };
    int best = -1;
    for (int i = 0; i < p->count; i++) {
        const struct stretch *s = &p->stretches[i];
        double overlap = fmin(s->end, end) - fmax(s->start, begin);
        if (s->rank != rank || s->lane != lane || overlap <= 0)
            continue;
        covered[s->kind] += overlap;
        if (best < 0 || covered[s->kind] > covered[best])
            best = s->kind;
    }
    return best;
}

static void draw_lane(FILE *out, const struct picture *p, int rank, int lane, int columns, double scale, bool color)
{
    int before = -1;
    for (int column = 0; column < columns; column++) {
        int kind = kind_within(p, rank, lane, column * scale, (column + 1) * scale);
        struct look look = look_of(kind);
        if (color && kind != before)
            fprintf(out, kind < 0 ? "\033[0m" : "\033[0;%sm", look.color);
        fputs(kind < 0 ? " " : look.glyph, out);
        before = kind;
    }
    if (color)
        fputs("\033[0m", out);
}

static bool has_lane(const struct picture *p, int rank, int lane)
{
    for (int i = 0; i < p->count; i++)
        if (p->stretches[i].rank == rank && p->stretches[i].lane == lane)
            return true;
    return false;
}

static void draw_case(FILE *out, const struct outcome *o, const struct picture *p, int columns, double scale,
                      bool color)
{
    fprintf(out, "\n  %s: %s\n", o->name, o->idea);
    for (int rank = 0; rank < o->picture.ranks; rank++) {
        fprintf(out, "  rank %-3d ", rank);
        draw_lane(out, p, rank, 0, columns, scale, color);
        fprintf(out, "%s\n", rank == p->last ? " ◀ last" : "");
        if (has_lane(p, rank, 1)) {
            fprintf(out, "  %-9s", "");
            draw_lane(out, p, rank, 1, columns, scale, color);
            fputc('\n', out);
        }
    }
}

/* A round number of milliseconds that divides the scale into about five. */
static double tick_of(double milliseconds)
{
    double tick = pow(10, floor(log10(milliseconds / 5)));
    while (milliseconds / tick > 10)
        tick *= milliseconds / tick > 25 ? 5 : 2;
    return tick;
}

static void draw_axis(FILE *out, int columns, double scale)
{
    double tick = tick_of(1e3 * scale * columns);
    fprintf(out, "  %-9s", "");
    int at = 0;
    for (int i = 0; i * tick <= 1e3 * scale * columns; i++) {
        int column = (int)lround(i * tick / (1e3 * scale));
        char label[32];
        int width = snprintf(label, sizeof label, "|%g%s", i * tick, i ? "" : " ms");
        if (column < at || column + width > columns)
            continue;
        fprintf(out, "%*s%s", column - at, "", label);
        at = column + width;
    }
    fputc('\n', out);
}

static void draw_legend(FILE *out, const struct picture *pictures, int count, bool color)
{
    static const int order[] = { SPAN_DATA,        SPAN_FORWARD,    SPAN_HOST,      STRETCH_WAIT,
                                 STRETCH_TRANSFER, STRETCH_EXPOSED, STRETCH_TRAVEL, SPAN_UPDATE };
    fprintf(out, "  %-9s", "");
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        bool is_used = false;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < pictures[i].count; j++)
                is_used |= pictures[i].stretches[j].kind == order[k];
        struct look look = look_of(order[k]);
        if (is_used && color)
            fprintf(out, "\033[%sm%s%s\033[0m %s   ", look.color, look.glyph, look.glyph, look.word);
        else if (is_used)
            fprintf(out, "%s%s %s   ", look.glyph, look.glyph, look.word);
    }
    fputc('\n', out);
}

void lanes_draw(FILE *out, const struct report *report, const char *const *names, struct terminal terminal)
{
    enum { PICTURES_MOST = 8, LABEL = 11, MARK = 8, LEAST = 20, MOST = 160 };
    const struct outcome *shown[PICTURES_MOST];
    struct picture pictures[PICTURES_MOST];
    int count = 0;
    double longest = 0;
    for (; *names && count < PICTURES_MOST; names++)
        for (int i = 0; i < report->cases; i++)
            if (strcmp(report->outcomes[i].name, *names) == 0 && !report->outcomes[i].tally.wrong) {
                shown[count] = &report->outcomes[i];
                pictures[count] = take_picture(shown[count]);
                longest = fmax(longest, pictures[count++].end);
            }
    if (count == 0)
        return;
    int columns = terminal.columns - LABEL - MARK;
    columns = columns < LEAST ? LEAST : columns > MOST ? MOST : columns;
    double scale = longest / columns;
    fprintf(out, "\nA typical step, one line per rank%s:\n",
            report->is_simulated        ? " (simulated)"
            : report->is_oversubscribed ? " (they share time: more ranks than there is to train on)"
                                        : "");
    for (int i = 0; i < count; i++)
        draw_case(out, shown[i], &pictures[i], columns, scale, terminal.has_color);
    draw_axis(out, columns, scale);
    draw_legend(out, pictures, count, terminal.has_color);
    for (int i = 0; i < count; i++)
        drop_picture(&pictures[i]);
}

void lanes_write(const struct report *report)
{
    struct file file = file_begin(report->folder, "lanes.csv");
    fputs(report->preamble, file.out);
    struct csv csv = { .out = file.out };
    for (int i = 0; i < report->cases; i++) {
        const struct outcome *o = &report->outcomes[i];
        struct picture p = take_picture(o);
        for (int j = 0; j < p.count; j++)
            do {
                const struct stretch *s = &p.stretches[j];
                csv_text(&csv, "case", o->name);
                csv_integer(&csv, "step", p.step);
                csv_integer(&csv, "rank", s->rank);
                csv_integer(&csv, "lane", s->lane);
                csv_text(&csv, "kind", stretch_names[s->kind]);
                csv_ms(&csv, "start_ms", s->start);
                csv_ms(&csv, "end_ms", s->end);
                csv_integer(&csv, "arrived_last", s->late > 0);
            } while (csv_end_row(&csv));
        drop_picture(&p);
    }
    file_commit(&file);
}
