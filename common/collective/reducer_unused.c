/* Gradients that backward does not compute, because a rank does not use their parameters in a step. */
#include "collective/reducer_private.h"

#include "base/memory.h"
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

void reducer_unused_open(struct reducer_unused *u, int tensors, int ranks)
{
    u->padded = (size_t)((tensors + ranks - 1) / ranks * ranks);
    u->is_ready = memory_new((size_t)tensors, sizeof *u->is_ready);
    u->was_unused = memory_new((size_t)tensors, sizeof *u->was_unused);
    u->users_host = memory_new(u->padded, sizeof *u->users_host);
    u->ticket = NO_TICKET;
}

void reducer_unused_close(struct reducer_unused *u)
{
    free(u->is_ready);
    free(u->was_unused);
    free(u->users_host);
    device_free(u->users);
}

void reducer_unused_restart(struct reducer_unused *u)
{
    u->has_learnt = false;
}

void reducer_unused_begin(struct reducer_unused *u, int tensors)
{
    memset(u->is_ready, 0, (size_t)tensors * sizeof *u->is_ready);
}

static void take_zeros(struct reducer *r, int tensor)
{
    device_fill(r->model->gradients + r->tensor[tensor].begin, 0, r->tensor[tensor].count);
    reducer_tensor_is_ready(r, tensor);
}

void reducer_take_learnt(struct reducer *r)
{
    for (int tensor = r->tensors - 1; r->unused.has_learnt && tensor >= 0; tensor--)
        if (r->unused.was_unused[tensor] && !r->unused.is_ready[tensor])
            take_zeros(r, tensor);
}

void reducer_settle_unused(struct reducer *r)
{
    struct reducer_unused *u = &r->unused;
    const bool learns = r->settings.unused == UNUSED_LEARNT && !u->has_learnt;
    if (r->settings.unused < UNUSED_ZEROS)
        return;
    for (int tensor = r->tensors - 1; tensor >= 0; tensor--) {
        if (learns)
            u->was_unused[tensor] = !u->is_ready[tensor];
        if (!u->is_ready[tensor])
            take_zeros(r, tensor);
    }
    u->has_learnt |= learns;
}

void reducer_find_unused(struct reducer *r, bool (*is_used)(const void *argument, int layer), const void *argument)
{
    struct reducer_unused *u = &r->unused;
    if (!u->users)
        u->users = device_new(MEMORY_COMMUNICATION, u->padded, sizeof *u->users);
    for (int tensor = r->tensors - 1; tensor >= 0; tensor--) {
        const bool is = is_used(argument, r->tensor[tensor].layer);
        u->users_host[tensor] = is ? 1 : 0;
        if (!is)
            take_zeros(r, tensor);
    }
    if (!r->settings.waits)
        reducer_start_ready(r);
}

void reducer_start_users(struct reducer *r)
{
    struct reducer_unused *u = &r->unused;
    if (r->settings.unused != UNUSED_FOUND)
        return;
    device_put(u->users, u->users_host, u->padded * sizeof *u->users);
    u->ticket = collective_start(r->collective, all_reduce(TYPE_F32, u->users, u->users, u->padded));
}

void reducer_finish_users(struct reducer *r)
{
    struct reducer_unused *u = &r->unused;
    if (r->settings.unused != UNUSED_FOUND)
        return;
    collective_finish(r->collective, u->ticket);
    device_fetch(u->users_host, u->users, u->padded * sizeof *u->users);
}

int reducer_users(const struct reducer *r, int layer)
{
    for (int tensor = 0; tensor < r->tensors && r->settings.unused == UNUSED_FOUND; tensor++)
        if (r->tensor[tensor].layer == layer)
            return (int)r->unused.users_host[tensor];
    return -1;
}
