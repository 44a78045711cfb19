/* Functions that are the same for real and simulated MPI. Start, end and time: world_mpi.c and world_sim.c. */
#include "world/world.h"
#include "world/world_mpi.h"

#include "base/die.h"
#include "base/memory.h"
#include "base/number.h"
#include "launch/flight_recorder.h"
#include "world/hosts.h"

#include <limits.h>
#include <stdlib.h>

int world_rank(const struct world *world)
{
    return world->rank;
}

int world_size(const struct world *world)
{
    return world->size;
}

int world_cores(const struct world *world)
{
    return world->cores;
}

void world_exit(struct world *world, int status)
{
    world_close(world);
    exit(status);
}

struct flight_recorder *world_recorder(const struct world *world)
{
    return world->recorder;
}

void world_set_timeout(struct world *world, double seconds)
{
    flight_recorder_set_timeout(world->recorder, seconds);
}

void world_heartbeat(struct world *world)
{
    flight_recorder_heartbeat(world->recorder);
}

int world_spare_cores(const struct world *world)
{
    return world->cores > world->size ? world->cores - world->size : 0;
}

void world_trains_on(struct world *world, int cores)
{
    world->cores = cores;
}

struct world *world_split(struct world *world, int color, int key)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(world->comm, color < 0 ? MPI_UNDEFINED : color, key, &comm);
    if (comm == MPI_COMM_NULL)
        return NULL;
    struct world *part = memory_new(1, sizeof *part);
    *part = (struct world){ .comm = comm,
                            .job = world->job,
                            .cores = world->cores,
                            .recorder = world->recorder,
                            .cores_here = world->cores_here };
    MPI_Comm_rank(comm, &part->rank);
    MPI_Comm_size(comm, &part->size);
    if (world->hosts)
        hosts_find(part);
    return part;
}

void world_ranks_in(const struct world *part, const struct world *world, int *ranks)
{
    int *own = memory_new((size_t)part->size, sizeof *own);
    for (int rank = 0; rank < part->size; rank++)
        own[rank] = rank;
    MPI_Group members = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
    MPI_Comm_group(part->comm, &members);
    MPI_Comm_group(world->comm, &all);
    MPI_Group_translate_ranks(members, part->size, own, all, ranks);
    MPI_Group_free(&members);
    MPI_Group_free(&all);
    free(own);
}

/* FNV-1a of the numbers of these ranks in the job. */
static uint64_t hash_of_ranks(const struct world *world)
{
    int *ranks = memory_new((size_t)world->size, sizeof *ranks);
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < world->size; i++)
        ranks[i] = i;
    if (world != world->job)
        world_ranks_in(world, world->job, ranks);
    for (int i = 0; i < world->size; i++)
        hash = (hash ^ (uint64_t)ranks[i]) * UINT64_C(1099511628211);
    free(ranks);
    return hash;
}

int world_next_number(struct world *world)
{
    const uint64_t ranks = hash_of_ranks(world);
    for (struct part *part = world->job->parts; part < world->job->parts + PARTS_MOST; part++)
        if (part->count == 0 || part->ranks == ranks) {
            part->ranks = ranks;
            return part->count++;
        }
    return -1;
}

struct world *world_first(struct world *world, int n)
{
    return world_split(world, world->rank < n ? 0 : -1, world->rank);
}

void world_leave(struct world *part)
{
    hosts_leave(part);
    MPI_Comm_free(&part->comm);
    free(part);
}

void world_barrier(struct world *world)
{
    MPI_Barrier(world->comm);
}

static int mpi_count(size_t bytes)
{
    if (bytes > INT_MAX)
        die(STATUS_WRONG, "a rank sends %.3g GB to the others, but MPI takes 2.1 GB at a time; use fewer --steps",
            1e-9 * (double)bytes);
    return (int)bytes;
}

void world_broadcast(struct world *world, void *bytes, size_t count)
{
    MPI_Bcast(bytes, mpi_count(count), MPI_BYTE, 0, world->comm);
}

void world_gather(struct world *world, const void *mine, size_t count, void *all)
{
    MPI_Gather(mine, mpi_count(count), MPI_BYTE, all, mpi_count(count), MPI_BYTE, 0, world->comm);
}

void world_allgather(struct world *world, const void *mine, size_t count, void *all)
{
    MPI_Allgather(mine, mpi_count(count), MPI_BYTE, all, mpi_count(count), MPI_BYTE, world->comm);
}

double world_property_number(const char *name, double otherwise)
{
    const char *text = world_property(name);
    double value = otherwise;
    return text && number_parse(text, &value) ? value : otherwise;
}

const char *world_about(void)
{
    const char *about = world_property("about");
    return about ? about : "its file has no description";
}
