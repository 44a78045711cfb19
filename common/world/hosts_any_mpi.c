#include "world/hosts.h"

#include "base/cores.h"
#include "base/die.h"
#include "base/memory.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hosts_find(struct world *world)
{
    MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &world->here);
    MPI_Comm_rank(world->here, &world->place);
    MPI_Comm_split(world->comm, world->place == 0 ? 0 : MPI_UNDEFINED, world->rank, &world->firsts);
    int place[2] = { 0 }; /* index of this host, number of hosts */
    if (world->place == 0) {
        MPI_Comm_rank(world->firsts, &place[0]);
        MPI_Comm_size(world->firsts, &place[1]);
    }
    MPI_Bcast(place, 2, MPI_INT, 0, world->here);
    world->host = place[0];
    world->hosts = place[1];
}

void hosts_leave(struct world *world)
{
    if (world->hosts == 0) /* simulated */
        return;
    MPI_Comm_free(&world->here);
    if (world->firsts != MPI_COMM_NULL)
        MPI_Comm_free(&world->firsts);
}

int hosts_count(const struct world *world)
{
    return world->hosts > 1 ? world->hosts : 1;
}

int hosts_sum(struct world *world, int of_host)
{
    int sum = of_host;
    if (hosts_count(world) == 1)
        return sum;
    if (world->place == 0)
        MPI_Allreduce(&of_host, &sum, 1, MPI_INT, MPI_SUM, world->firsts);
    MPI_Bcast(&sum, 1, MPI_INT, 0, world->here);
    return sum;
}

void hosts_list(struct world *world, struct host *hosts)
{
    struct host mine = { .index = world->host, .cores = world->cores_here };
    world_allgather(world, &mine, sizeof mine, hosts);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

struct host_details {
    struct host host;
    char name[64], cpu[128];
};

/* Print the ranks of a host: "ranks 0-1, 4". */
static void list_ranks(FILE *out, const struct host_details *all, int ranks, int host)
{
    int count = 0, pieces = 0;
    for (int rank = 0; rank < ranks; rank++)
        count += all[rank].host.index == host;
    fputs(count == 1 ? "rank" : "ranks", out);
    for (int rank = 0; rank < ranks; rank++) {
        if (all[rank].host.index != host)
            continue;
        int first = rank;
        while (rank + 1 < ranks && all[rank + 1].host.index == host)
            rank++;
        fprintf(out, "%s%d", pieces++ ? ", " : " ", first);
        if (rank > first)
            fprintf(out, "-%d", rank);
    }
}

static char *describe_hosts(const struct host_details *all, int ranks, int hosts)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    fprintf(out, "%d (", hosts);
    for (int rank = 0, printed = 0; rank < ranks && printed < hosts; rank++) {
        const struct host_details *host = &all[rank];
        if (host->host.index != printed) /* host indices are in the order of their first ranks */
            continue;
        fprintf(out, "%s%s: ", printed ? "; " : "", host->name);
        list_ranks(out, all, ranks, printed++);
        fprintf(out, " on %d core%s", host->host.cores, host->host.cores == 1 ? "" : "s");
        if (strcmp(host->cpu, all[0].cpu) != 0)
            fprintf(out, " of another kind, %s", host->cpu);
    }
    fputc(')', out);
    fclose(out);
    return text;
}

char *hosts_text(struct world *world)
{
    if (hosts_count(world) == 1)
        return NULL;
    struct host_details mine = { .host = { .index = world->host, .cores = world->cores_here } };
    gethostname(mine.name, sizeof mine.name - 1);
    cores_name(mine.cpu, sizeof mine.cpu);
    struct host_details *all = memory_new((size_t)world->size, sizeof *all);
    world_allgather(world, &mine, sizeof mine, all);
    char *text = describe_hosts(all, world->size, world->hosts);
    free(all);
    return text;
}
