#include "base/ledger.h"

#include "base/die.h"
#include "base/memory.h"

#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

const char *const memory_owner_names[MEMORY_OWNERS] = {
    [MEMORY_PROGRAM] = "program",
    [MEMORY_PARAMETERS] = "parameters",
    [MEMORY_GRADIENTS] = "gradients",
    [MEMORY_MOMENTS] = "moments",
    [MEMORY_ACTIVATIONS] = "activations",
    [MEMORY_DATA] = "data",
    [MEMORY_COMMUNICATION] = "communication",
    [MEMORY_MEASURING] = "measuring",
    [MEMORY_CACHED] = "cached",
};

struct block {
    const void *address;
    size_t bytes;
    enum memory_owner owner;
    enum memory_place place;
    bool is_forced; /* the owner is that of ledger_override_owner() */
    int layer;      /* index into ledger_sums.layer */
};

/* Static, because a process has one heap (ledger.h). */
static struct {
    pthread_mutex_t lock;
    void *blocks; /* tree of tsearch(), by address */
    struct ledger_sums now[MEMORY_PLACES];
    struct ledger_peak peak[MEMORY_PLACES];
    atomic_int phase, layer;                                                                 /* -1: none */
    enum memory_owner owner_of_all;                                                          /* MEMORY_OWNERS: none */
    void (*changed)(void *argument, enum memory_place place, const struct ledger_sums *now); /* NULL: none */
    void *argument;
} ledger = { .lock = PTHREAD_MUTEX_INITIALIZER, .phase = -1, .layer = -1, .owner_of_all = MEMORY_OWNERS };

static int compare(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const struct block *)left)->address,
                    b = (uintptr_t)((const struct block *)right)->address;
    return (a > b) - (a < b);
}

size_t ledger_total(const size_t of[MEMORY_OWNERS])
{
    size_t total = 0;
    for (int owner = 0; owner < MEMORY_OWNERS; owner++)
        total += of[owner];
    return total;
}

size_t ledger_in_use(const size_t of[MEMORY_OWNERS])
{
    return ledger_total(of) - of[MEMORY_CACHED];
}

/* Keep the sums as the peak if they are the largest so far. */
static void note_peak(enum memory_place place, enum memory_owner owner)
{
    const struct ledger_sums *now = &ledger.now[place];
    struct ledger_peak *peak = &ledger.peak[place];
    if (now->of[owner] > peak->most[owner])
        peak->most[owner] = now->of[owner];
    if (ledger_in_use(now->of) <= ledger_in_use(peak->sums.of))
        return;
    peak->sums = *now;
    peak->phase = ledger.phase;
    peak->layer = ledger.layer;
}

/* Return the layer of now, as an index into ledger_sums.layer. */
static int layer_now(void)
{
    const int layer = ledger.layer;
    return layer >= 0 && layer < LEDGER_LAYERS - 1 ? layer : LEDGER_LAYERS - 1;
}

/* Call the watcher, if there is one. */
static void tell(enum memory_place place)
{
    if (ledger.changed)
        ledger.changed(ledger.argument, place, &ledger.now[place]);
}

/* Enter a block into the sums. */
static void enter(const struct block *block)
{
    struct ledger_sums *now = &ledger.now[block->place];
    now->of[block->owner] += block->bytes;
    if (block->owner == MEMORY_ACTIVATIONS)
        now->layer[block->layer] += block->bytes;
    note_peak(block->place, block->owner);
    tell(block->place);
}

/* Take a block out of the sums. If it moves, the watcher is called when it has a new owner. */
static void take_out(const struct block *block)
{
    struct ledger_sums *now = &ledger.now[block->place];
    now->of[block->owner] -= block->bytes;
    if (block->owner == MEMORY_ACTIVATIONS)
        now->layer[block->layer] -= block->bytes;
}

static struct block *find(const void *address)
{
    const struct block wanted = { .address = address };
    struct block **found = tfind(&wanted, &ledger.blocks, compare);
    if (!found)
        die(STATUS_WRONG, "memory that is not in the ledger, or was freed before");
    return *found;
}

void ledger_add(const void *address, size_t bytes, enum memory_owner owner, enum memory_place place)
{
    struct block *block = memory_new(1, sizeof *block);
    pthread_mutex_lock(&ledger.lock);
    const bool is_forced = ledger.owner_of_all < MEMORY_OWNERS;
    *block = (struct block){ .address = address,
                             .bytes = bytes,
                             .owner = is_forced ? ledger.owner_of_all : owner,
                             .place = place,
                             .is_forced = is_forced,
                             .layer = layer_now() };
    struct block **found = tsearch(block, &ledger.blocks, compare);
    if (!found || *found != block)
        die(STATUS_WRONG, found ? "a block of memory is in the ledger twice" : "no memory for the ledger");
    enter(block);
    pthread_mutex_unlock(&ledger.lock);
}

size_t ledger_remove(const void *address)
{
    pthread_mutex_lock(&ledger.lock);
    struct block *block = find(address);
    const size_t bytes = block->bytes;
    tdelete(block, &ledger.blocks, compare);
    take_out(block);
    tell(block->place);
    pthread_mutex_unlock(&ledger.lock);
    free(block);
    return bytes;
}

void ledger_move(const void *address, enum memory_owner owner)
{
    pthread_mutex_lock(&ledger.lock);
    struct block *block = find(address);
    if (!block->is_forced) {
        take_out(block);
        block->owner = owner;
        block->layer = layer_now();
        enter(block);
    }
    pthread_mutex_unlock(&ledger.lock);
}

void ledger_watch(void (*changed)(void *argument, enum memory_place place, const struct ledger_sums *now),
                  void *argument)
{
    ledger.changed = changed;
    ledger.argument = argument;
}

void ledger_override_owner(enum memory_owner owner)
{
    ledger.owner_of_all = owner;
}

void ledger_phase(int phase)
{
    ledger.phase = phase;
}

void ledger_layer(int layer)
{
    ledger.layer = layer;
}

struct ledger_peak ledger_peak(enum memory_place place)
{
    return ledger.peak[place];
}

struct ledger_sums ledger_now(enum memory_place place)
{
    return ledger.now[place];
}

void ledger_restart_peak(void)
{
    pthread_mutex_lock(&ledger.lock);
    ledger.phase = ledger.layer = -1;
    for (int place = 0; place < MEMORY_PLACES; place++) {
        struct ledger_peak *peak = &ledger.peak[place];
        peak->sums = ledger.now[place];
        peak->phase = peak->layer = -1;
        for (int owner = 0; owner < MEMORY_OWNERS; owner++)
            peak->most[owner] = peak->sums.of[owner];
    }
    pthread_mutex_unlock(&ledger.lock);
}
