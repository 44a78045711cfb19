#include "helper.h"

#include "companion_sim.h"
#include "die.h"
#include "memory.h"

#include <stdbool.h>
#include <stdlib.h>

struct helper {
    void (*work)(void *context); /* NULL while there is nothing to wait for */
    void *context;
    int job;
};

static bool is_taken; /* a rank has one helping companion */

static void do_work(void *argument, MPI_Comm peers)
{
    (void)peers;
    const struct helper *h = argument;
    h->work(h->context);
}

struct helper *helper_open(void)
{
    if (is_taken)
        die(STATUS_WRONG, "a second helper beside a rank: simulated ranks have one");
    is_taken = true;
    return memory_new(1, sizeof(struct helper));
}

void helper_close(struct helper *h)
{
    helper_end(h);
    free(h);
    is_taken = false;
}

void helper_begin(struct helper *h, void (*work)(void *context), void *context)
{
    *h = (struct helper){ .work = work, .context = context };
    h->job = companion_begin(companion_of(COMPANION_HELPER), do_work, h);
}

void helper_end(struct helper *h)
{
    if (!h->work)
        return;
    companion_end(companion_of(COMPANION_HELPER), h->job);
    h->work = NULL;
}
