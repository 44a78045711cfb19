#include "device/pool.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"

#include <stdlib.h>

/* Pieces of one size. */
struct shelf {
    size_t bytes;
    void **piece; /* (pieces) the first `unused` are in use by none */
    int unused, pieces;
};

struct pool {
    struct shelf *shelf;
    int shelves;
};

struct pool *pool_open(void)
{
    return memory_new(1, sizeof(struct pool));
}

/* Return the shelf of a size; a new one if there is none. There are few sizes. */
static struct shelf *shelf_of(struct pool *p, size_t bytes)
{
    for (int i = 0; i < p->shelves; i++)
        if (p->shelf[i].bytes == bytes)
            return &p->shelf[i];
    p->shelf = memory_grow_by_one(p->shelf, p->shelves, sizeof *p->shelf);
    p->shelf[p->shelves] = (struct shelf){ .bytes = bytes };
    return &p->shelf[p->shelves++];
}

static void add_piece(struct shelf *s)
{
    s->piece = memory_grow_by_one(s->piece, s->pieces++, sizeof *s->piece);
    s->piece[s->unused++] = device_new(MEMORY_CACHED, s->bytes, 1);
}

void pool_reserve(struct pool *p, size_t bytes, int pieces)
{
    struct shelf *s = shelf_of(p, bytes);
    while (s->pieces < pieces)
        add_piece(s);
}

void *pool_take(struct pool *p, size_t bytes, enum memory_owner owner)
{
    struct shelf *s = shelf_of(p, bytes);
    if (s->unused == 0)
        add_piece(s);
    void *memory = s->piece[--s->unused];
    ledger_move(memory, owner);
    return memory;
}

void pool_give(struct pool *p, size_t bytes, void *memory)
{
    struct shelf *s = shelf_of(p, bytes);
    if (!memory)
        return;
    ledger_move(memory, MEMORY_CACHED);
    s->piece[s->unused++] = memory;
}

void pool_close(struct pool *p)
{
    for (int i = 0; i < p->shelves; i++) {
        struct shelf *s = &p->shelf[i];
        if (s->unused < s->pieces)
            die(STATUS_WRONG, "%d of %d pieces of %zu bytes were not given back to their pool", s->pieces - s->unused,
                s->pieces, s->bytes);
        while (s->unused > 0)
            device_free(s->piece[--s->unused]);
        free(s->piece);
    }
    free(p->shelf);
    free(p);
}
