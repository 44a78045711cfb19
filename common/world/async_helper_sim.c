#include "world/async_helper.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/platform.h"
#include "world/side_process_sim.h"

#include <stdbool.h>
#include <stdlib.h>

struct async_helper {
    int which; /* index of the side process */
    int job;
    void (*work)(void *context); /* NULL: no job to wait for */
    void *context;
};

static bool is_taken[PLATFORM_HELPERS];

static void do_work(void *argument, MPI_Comm peers)
{
    (void)peers;
    const struct async_helper *h = argument;
    h->work(h->context);
}

struct async_helper *async_helper_open(void)
{
    int which = 0;
    while (which < PLATFORM_HELPERS && is_taken[which])
        which++;
    if (which == PLATFORM_HELPERS)
        die(STATUS_WRONG, "a simulated rank has at most %d helpers", PLATFORM_HELPERS);
    is_taken[which] = true;
    struct async_helper *h = memory_new(1, sizeof *h);
    h->which = which;
    return h;
}

void async_helper_close(struct async_helper *h)
{
    async_helper_end(h);
    is_taken[h->which] = false;
    free(h);
}

void async_helper_begin(struct async_helper *h, void (*work)(void *context), void *context)
{
    h->work = work;
    h->context = context;
    h->job = side_process_begin(side_process_helper(h->which), do_work, h);
}

void async_helper_end(struct async_helper *h)
{
    if (!h->work)
        return;
    side_process_end(side_process_helper(h->which), h->job);
    h->work = NULL;
}
