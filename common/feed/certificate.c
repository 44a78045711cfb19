#include "feed/certificate.h"

#include "base/memory.h"

#include <stdlib.h>

/* Tokens from … to-1, read once. */
struct piece {
    uint64_t from, to;
};

struct certificate {
    struct piece judged, *piece;
    uint64_t count, room, windows, outside;
};

struct certificate *certificate_open(uint64_t from, uint64_t to)
{
    struct certificate *c = memory_new(1, sizeof *c);
    c->judged = (struct piece){ from, to };
    return c;
}

void certificate_close(struct certificate *c)
{
    free(c->piece);
    free(c);
}

void certificate_add(struct certificate *c, uint64_t position, uint64_t tokens)
{
    const uint64_t from = position > c->judged.from ? position : c->judged.from, end = position + tokens,
                   to = end < c->judged.to ? end : c->judged.to;
    c->windows++;
    c->outside += from < to ? tokens - (to - from) : tokens;
    if (from >= to)
        return;
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : 1024;
        c->piece = memory_grow(c->piece, c->room * sizeof *c->piece);
    }
    c->piece[c->count++] = (struct piece){ from, to };
}

static int by_begin(const void *a, const void *b)
{
    const struct piece *p = a, *q = b;
    return p->from != q->from ? (p->from < q->from ? -1 : 1) : (p->to > q->to) - (p->to < q->to);
}

/* Count tokens from … to-1 as missing or repeated. Join them to the fault before if they follow it. */
static void note(struct certificate_result *r, bool is_repeated, uint64_t from, uint64_t to)
{
    *(is_repeated ? &r->repeated : &r->missing) += to - from;
    struct certificate_fault *last = r->faults > 0 && r->faults <= CERTIFICATE_FAULTS ? &r->fault[r->faults - 1] : NULL;
    if (last && last->is_repeated == is_repeated && last->to == from)
        last->to = to;
    else if (r->faults++ < CERTIFICATE_FAULTS)
        r->fault[r->faults - 1] = (struct certificate_fault){ is_repeated, from, to };
}

/* Sweep over the pieces in the order of their begins. Tokens below `reached` have been read; those from `single` on, once so far. */
struct certificate_result certificate_judge(struct certificate *c)
{
    struct certificate_result r = { .windows = c->windows, .outside = c->outside };
    qsort(c->piece, c->count, sizeof *c->piece, by_begin);
    uint64_t reached = c->judged.from, single = reached;
    for (uint64_t i = 0; i < c->count; i++) {
        const struct piece p = c->piece[i];
        if (p.from > reached)
            note(&r, false, reached, p.from);
        const uint64_t again = p.to < reached ? p.to : reached, from = p.from > single ? p.from : single;
        if (from < again) {
            note(&r, true, from, again);
            single = again;
        }
        reached = p.to > reached ? p.to : reached;
    }
    if (c->judged.to > reached)
        note(&r, false, reached, c->judged.to);
    r.once = c->judged.to - c->judged.from - r.missing - r.repeated;
    return r;
}

bool certificate_holds(const struct certificate_result *r)
{
    return r->missing == 0 && r->repeated == 0;
}
