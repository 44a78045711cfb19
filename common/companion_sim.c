#include "companion_sim.h"

#include "die.h"
#include "platform.h"

#include <simgrid/semaphore.h>
#include <smpi/smpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { JOBS_MOST = 512 }; /* handed over and not yet done: a collective each, more than can be started */

struct job {
    void (*work)(void *context, MPI_Comm peers);
    void *context;
};

struct companion {
    sg_sem_t given, done; /* count jobs */
    struct job jobs[JOBS_MOST];
    int given_jobs, taken_jobs, done_jobs; /* the last as far as the rank has asked */
};

static struct companion mine[1 + PLATFORM_COMPANIONS]; /* of this rank, from 1; SMPI gives each process its globals */

/* SimGrid's own waiting: takes no simulated time when there is nothing to wait for. What a process computed before is
 * charged first, and other processes' work while it waits is not. */
static void acquire(sg_sem_t semaphore)
{
    smpi_bench_end();
    sg_sem_acquire(semaphore);
    smpi_bench_begin();
}

static void release(sg_sem_t semaphore)
{
    smpi_bench_end();
    sg_sem_release(semaphore);
    smpi_bench_begin();
}

/* A companion's life. */
static void serve(struct companion *companion, MPI_Comm peers)
{
    for (;;) {
        acquire(companion->given);
        struct job job = companion->jobs[companion->taken_jobs++ % JOBS_MOST];
        if (!job.work)
            break;
        job.work(job.context, peers);
        release(companion->done);
    }
}

MPI_Comm companion_muster(void)
{
    int process = 0, processes = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    int ranks = processes / (1 + PLATFORM_COMPANIONS), role = process / ranks;
    MPI_Comm peers = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, role, process, &peers);
    enum { GREETING = 1 };
    if (role == 0) {
        for (int k = 1; k <= PLATFORM_COMPANIONS; k++) {
            struct companion *companion = &mine[k];
            *companion = (struct companion){ .given = sg_sem_init(0), .done = sg_sem_init(0) };
            MPI_Send(&companion, sizeof companion, MPI_BYTE, k * ranks + process, GREETING, MPI_COMM_WORLD);
        }
        MPI_Barrier(peers); /* the ranks begin together */
        return peers;
    }
    struct companion *companion = NULL;
    MPI_Recv(&companion, sizeof companion, MPI_BYTE, process % ranks, GREETING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    serve(companion, peers);
    MPI_Comm_free(&peers);
    MPI_Finalize();
    smpi_exit(STATUS_RIGHT);
}

void companion_dismiss(void)
{
    for (int k = 1; k <= PLATFORM_COMPANIONS; k++)
        companion_begin(&mine[k], NULL, NULL);
}

struct companion *companion_engine(void)
{
    return &mine[PLATFORM_ENGINES];
}

struct companion *companion_helper(int which)
{
    return &mine[PLATFORM_ENGINES + 1 + which];
}

int companion_begin(struct companion *companion, void (*work)(void *context, MPI_Comm peers), void *context)
{
    companion->jobs[companion->given_jobs % JOBS_MOST] = (struct job){ work, context };
    release(companion->given);
    return companion->given_jobs++;
}

void companion_end(struct companion *companion, int job)
{
    for (; companion->done_jobs <= job; companion->done_jobs++)
        acquire(companion->done);
}

bool companion_helps(void)
{
    bool helps = false;
    for (int i = 0; i < PLATFORM_HELPERS; i++)
        helps |= companion_helper(i)->given_jobs > companion_helper(i)->done_jobs;
    return helps;
}
