#include "helper.h"

#include "companion_sim.h"
#include "die.h"
#include "memory.h"
#include "platform.h"

#include <stdbool.h>
#include <stdlib.h>

struct helper {
    int which; /* companion */
    int job;
    void (*work)(void *context); /* NULL while there is nothing to wait for */
    void *context;
};

static bool is_taken[PLATFORM_HELPERS];

static void do_work(void *argument, MPI_Comm peers)
{
    (void)peers;
    const struct helper *h = argument;
    h->work(h->context);
}

struct helper *helper_open(void)
{
    int which = 0;
    while (which < PLATFORM_HELPERS && is_taken[which])
        which++;
    if (which == PLATFORM_HELPERS)
        die(STATUS_WRONG, "a simulated rank has %d helpers, and no more", PLATFORM_HELPERS);
    is_taken[which] = true;
    struct helper *h = memory_new(1, sizeof *h);
    h->which = which;
    return h;
}

void helper_close(struct helper *h)
{
    helper_end(h);
    is_taken[h->which] = false;
    free(h);
}

void helper_begin(struct helper *h, void (*work)(void *context), void *context)
{
    h->work = work;
    h->context = context;
    h->job = companion_begin(companion_helper(h->which), do_work, h);
}

void helper_end(struct helper *h)
{
    if (!h->work)
        return;
    companion_end(companion_helper(h->which), h->job);
    h->work = NULL;
}
