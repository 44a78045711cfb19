#include "world/clocks.h"

#include "base/memory.h"
#include "base/number.h"
#include "world/hosts.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <math.h>
#include <stdlib.h>

enum { TAG = 4711 };

/* Compare the clocks of rank 0 and another host. Called on rank 0. */
static struct comparison ask(MPI_Comm firsts, int host)
{
    struct comparison best = { .error = INFINITY };
    for (int i = 0; i < CLOCKS_ROUND_TRIPS; i++) {
        double answered = 0, asked = world_now();
        MPI_Send(NULL, 0, MPI_BYTE, host, TAG, firsts);
        MPI_Recv(&answered, 1, MPI_DOUBLE, host, TAG, firsts, MPI_STATUS_IGNORE);
        double received = world_now(), error = (received - asked) / 2;
        if (error < best.error)
            best = (struct comparison){ .here = answered, .ahead = asked + error - answered, .error = error };
    }
    return best;
}

static void answer(MPI_Comm firsts)
{
    for (int i = 0; i < CLOCKS_ROUND_TRIPS; i++) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, firsts, MPI_STATUS_IGNORE);
        double now = world_now();
        MPI_Send(&now, 1, MPI_DOUBLE, 0, TAG, firsts);
    }
}

/* all: compare one host after the other, so that no host disturbs the round trips of another. */
static struct comparison compare(struct world *world)
{
    struct comparison mine = { .here = world_now() }; /* for the host of rank 0 */
    for (int host = 1; host < world->hosts && world->rank == 0; host++) {
        struct comparison theirs = ask(world->firsts, host);
        MPI_Send(&theirs, sizeof theirs, MPI_BYTE, host, TAG, world->firsts);
    }
    if (world->host > 0 && world->place == 0) {
        answer(world->firsts);
        MPI_Recv(&mine, sizeof mine, MPI_BYTE, 0, TAG, world->firsts, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(&mine, sizeof mine, MPI_BYTE, 0, world->here);
    return mine;
}

void clocks_begin(struct clocks *clocks, struct world *world)
{
    *clocks = (struct clocks){ 0 };
    if (hosts_count(world) > 1)
        clocks->before = clocks->after = compare(world);
}

double clocks_disagreement(const double *errors, int hosts)
{
    double most = 0, second = 0;
    for (int host = 0; host < hosts; host++) {
        second = fmax(second, fmin(most, errors[host]));
        most = fmax(most, errors[host]);
    }
    return most + second;
}

void clocks_end(struct clocks *clocks, struct world *world)
{
    if (hosts_count(world) == 1)
        return;
    clocks->after = compare(world);
    if (world->place > 0)
        return;
    double mine = clocks_error(clocks), *all = memory_new((size_t)world->hosts, sizeof *all);
    MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, world->firsts);
    clocks->disagree = world->rank == 0 ? clocks_disagreement(all, world->hosts) : 0;
    free(all);
}

double clocks_first(const struct clocks *clocks, double here)
{
    const struct comparison *before = &clocks->before, *after = &clocks->after;
    double between = after->here - before->here;
    double share = between > 0 ? (here - before->here) / between : 0;
    return here + before->ahead + share * (after->ahead - before->ahead);
}

double clocks_error(const struct clocks *clocks)
{
    double drift = clocks->after.ahead - clocks->before.ahead;
    return fmax(clocks->before.error, clocks->after.error) + fabs(drift) / 2;
}

char *clocks_text(double error)
{
    return memory_text("agree within %.*f ms; shorter waits count as transfer", number_ms_decimals(error), 1e3 * error);
}
