#include "page_lanes.h"

#include "base/memory.h"
#include "report/html.h"
#include "report/timeline_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const page_lanes_look =
    ".lanes { width: 100%; font-size: 13px; overflow: visible; }\n"
    ".lanes text, .legend { fill: var(--ink); }\n"
    ".lanes text.in { font-size: 12px; text-anchor: middle; }\n"
    ".lanes text.tick { fill: var(--soft); }\n"
    ".lanes rect { stroke: var(--page); stroke-width: 1px; }\n"
    ".lanes line { stroke: var(--line); }\n"
    ".data { fill: #56B4E9; } .forward, .backward { fill: #0072B2; } .host { fill: #E69F00; } .update { fill: #CC79A7; "
    "}\n"
    ".transfer, .exposed, .travel { fill: #009E73; } .wait { fill: url(#hatch); }\n"
    ".lanes text.on-data, .lanes text.on-host, .lanes text.on-update, .lanes text.on-other { fill: #010101; }\n"
    ".lanes text.on-forward, .lanes text.on-backward { fill: #fefefe; }\n"
    ".lanes text.on-transfer, .lanes text.on-exposed { fill: #010101; }\n"
    ".lanes text.on-wait { stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }\n"
    ".legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 15px; }\n"
    ".legend svg { width: 26px; height: 13px; vertical-align: -1px; }\n"
    "figure { margin: 0; }\n"
    ".lead, .note { overflow-wrap: anywhere; }\n";

enum { LABEL = 17, BAR = 24, LINE = 7, GAP = 9, AXIS = 22 }; /* heights in pixels */

/* The page while its lanes are drawn. */
struct drawing {
    FILE *out;
    const struct answer *answer;
    const struct timeline_view *view;
    int y;
};

static double percent(const struct drawing *d, double seconds)
{
    return d->view->end > 0 ? 100 * seconds / d->view->end : 0;
}

static int height_of(const struct timeline_view *p)
{
    int height = AXIS;
    for (int i = 0; i < p->collapsed_count; i++)
        height += LABEL + BAR + GAP + (timeline_view_has_lane(p, p->collapsed[i].first, 1) ? LINE : 0);
    return height;
}

/* Write a bar's name into it if a page of 390 pixels has room. */
static void put_name(const struct drawing *d, const struct segment *s)
{
    static const double letter = 2.3; /* percent of such a page */
    const char *name = segment_names[s->kind];
    double begin = percent(d, s->start), width = percent(d, s->end) - begin;
    if (width > letter * (double)(strlen(name) + 1))
        fprintf(d->out, "<text class=\"in on-%s\" x=\"%.3f%%\" y=\"%d\">%s</text>\n", name, begin + width / 2,
                d->y + LABEL + 17, name);
}

static void put_segments(const struct drawing *d, int rank)
{
    for (int i = 0; i < d->view->count; i++) {
        const struct segment *s = &d->view->segments[i];
        if (s->rank != rank)
            continue;
        fprintf(d->out, "<rect class=\"%s\" x=\"%.3f%%\" y=\"%d\" width=\"%.3f%%\" height=\"%d\"/>\n",
                segment_names[s->kind], percent(d, s->start), d->y + LABEL + (s->lane ? BAR + 2 : 0),
                percent(d, s->end - s->start), s->lane ? LINE - 3 : BAR);
        if (s->lane == 0)
            put_name(d, s);
    }
}

static void put_lane(struct drawing *d, const struct collapsed_ranks *ranks)
{
    const struct hosts *hosts = &d->answer->hosts;
    const int first = timeline_view_rank(d->view, ranks->first), last = timeline_view_rank(d->view, ranks->last);
    fprintf(d->out, "<text x=\"0\" y=\"%d\">", d->y + 12);
    if (last > first)
        fprintf(d->out, "ranks %d to %d", first, last);
    else
        fprintf(d->out, "rank %d", first);
    if (last == first && hosts->count > 1) {
        fputs(", host ", d->out);
        html_text(d->out, hosts->names[hosts->of[ranks->first]]);
    }
    fprintf(d->out, "%s</text>\n", ranks->first == d->view->last ? ": comes last" : "");
    put_segments(d, ranks->first);
    d->y += LABEL + BAR + GAP + (timeline_view_has_lane(d->view, ranks->first, 1) ? LINE : 0);
}

/* Write marks at round milliseconds, at most five. */
static void put_axis(const struct drawing *d)
{
    const double length = 1e3 * d->view->end;
    if (!(length > 0))
        return;
    double tick = pow(10, floor(log10(length / 4)));
    while (length / tick > 5)
        tick *= length / tick > 12.5 ? 5 : 2;
    for (int i = 0; i * tick <= length; i++) {
        const double x = percent(d, 1e-3 * i * tick);
        fprintf(d->out, "<line x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"%d\"/>\n", x, x, d->y);
        fprintf(d->out, "<text class=\"tick\" x=\"%.3f%%\" y=\"%d\" text-anchor=\"%s\">%g%s</text>\n", x, d->y + 15,
                i == 0   ? "start"
                : x > 95 ? "end"
                         : "middle",
                i * tick, i == 0 ? " ms" : "");
    }
}

/* Write the legend of the colours. Forward and backward share one. */
static void put_legend(FILE *out, const struct timeline_view *p)
{
    bool is_used[SEGMENT_KINDS] = { false };
    for (int i = 0; i < p->count; i++)
        is_used[p->segments[i].kind == SPAN_BACKWARD ? SPAN_FORWARD : p->segments[i].kind] = true;
    fputs("<ul class=\"legend\">\n", out);
    for (int kind = 0; kind < SEGMENT_KINDS; kind++) {
        const bool is_line = kind == SEGMENT_TRAVEL;
        const char *name = kind == SPAN_FORWARD ? "forward, backward"
                           : kind < SPAN_PHASES ? culprit_phase_name(kind)
                           : is_line            ? "on its way"
                                                : segment_names[kind];
        if (is_used[kind])
            fprintf(out,
                    "<li><svg aria-hidden=\"true\"><rect class=\"%s\" y=\"%d\" width=\"26\" height=\"%d\"/></svg> "
                    "%s</li>\n",
                    segment_names[kind], is_line ? 5 : 0, is_line ? LINE - 3 : 13, name);
    }
    fputs("</ul>\n", out);
}

void page_lanes(FILE *out, const struct answer *a)
{
    struct timeline_view view = timeline_view_take(a->shown);
    struct drawing d = { .out = out, .answer = a, .view = &view };
    const int height = height_of(&view);
    fprintf(out, "<figure>\n<svg class=\"lanes\" role=\"img\" height=\"%d\" aria-label=\"", height);
    fprintf(out, "Step %d, one lane per rank", view.step);
    if (view.text) {
        fputs(": ", out);
        html_text(out, view.text);
    }
    fputs("\">\n<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\"><rect width=\"3\" height=\"6\" fill=\"#D55E00\"/></pattern></defs>\n",
          out);
    d.y = height - AXIS;
    put_axis(&d);
    d.y = 0;
    for (int i = 0; i < view.collapsed_count; i++)
        put_lane(&d, &view.collapsed[i]);
    fputs("</svg>\n", out);
    put_legend(out, &view);
    fprintf(out, "<figcaption>Step %d, a typical one.", view.step);
    if (view.text) {
        fputs(" In it ", out);
        html_text(out, view.text);
        fputc('.', out);
    }
    fputs("</figcaption>\n</figure>\n", out);
    timeline_view_drop(&view);
}
