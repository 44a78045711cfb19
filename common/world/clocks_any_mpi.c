#include "world/clocks.h"

#include "base/memory.h"
#include "base/number.h"
#include "world/hosts.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <math.h>
#include <stdlib.h>

enum { TAG = 4711 };

/* On rank 0. */
static struct comparison ask(MPI_Comm firsts, int host)
{
    struct comparison best = { .error = INFINITY };
    for (int i = 0; i < CLOCKS_ROUND_TRIPS; i++) {
        double told = 0, asked = world_now();
        MPI_Send(NULL, 0, MPI_BYTE, host, TAG, firsts);
        MPI_Recv(&told, 1, MPI_DOUBLE, host, TAG, firsts, MPI_STATUS_IGNORE);
        double heard = world_now(), error = (heard - asked) / 2;
        if (error < best.error)
            best = (struct comparison){ .here = told, .ahead = asked + error - told, .error = error };
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

/* all: one host after the other, so that none disturbs another's round trips. */
static struct comparison compare(struct world *world)
{
    struct comparison mine = { .here = world_now() }; /* of the host of rank 0 */
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

/* On rank 0: of two hosts both may be off. */
static double find_disagreement(MPI_Comm firsts, int hosts, double mine)
{
    double *all = memory_new((size_t)hosts, sizeof *all), most = 0, second = 0;
    MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, firsts);
    for (int host = 0; host < hosts; host++) {
        second = fmax(second, fmin(most, all[host]));
        most = fmax(most, all[host]);
    }
    free(all);
    return most + second;
}

void clocks_end(struct clocks *clocks, struct world *world)
{
    if (hosts_count(world) == 1)
        return;
    clocks->after = compare(world);
    if (world->place == 0)
        clocks->disagree = find_disagreement(world->firsts, world->hosts, clocks_error(clocks));
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
