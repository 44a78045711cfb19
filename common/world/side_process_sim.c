#include "world/side_process_sim.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/job.h"
#include "launch/platform.h"

#include <simgrid/semaphore.h>
#include <smpi/smpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS_MOST = 512 }; /* submitted and unfinished; one per collective, more than can be started */

struct job {
    void (*work)(void *context, MPI_Comm peers);
    void *context;
};

struct side_process {
    sg_sem_t given, done; /* semaphores that count jobs */
    struct job jobs[JOBS_MOST];
    int given_jobs, taken_jobs, done_jobs; /* done_jobs: those for which the rank has waited */
};

/* Side processes of this rank (1 + side_processes()), from index 1. SMPI gives each simulated process its own globals. */
static struct side_process *mine;
static unsigned yields; /* likewise */

/* Wait by a SimGrid semaphore, which takes no simulated time if there is nothing to wait for. Charge this process's computation
 * first. The work of other processes during the wait is not charged to this process. */
static void acquire(sg_sem_t semaphore)
{
    yields++;
    smpi_bench_end();
    sg_sem_acquire(semaphore);
    smpi_bench_begin();
}

static void release(sg_sem_t semaphore)
{
    yields++;
    smpi_bench_end();
    sg_sem_release(semaphore);
    smpi_bench_begin();
}

/* Run jobs in a side process until a job without work. */
static void serve(struct side_process *side, MPI_Comm peers)
{
    for (;;) {
        acquire(side->given);
        struct job job = side->jobs[side->taken_jobs++ % JOBS_MOST];
        if (!job.work)
            break;
        job.work(job.context, peers);
        release(side->done);
    }
}

/* SimGrid lets processes that are ready at the same time compute in the order of their numbers. With LOCKSTEP_TURNS=reversed the last
 * rank computes first, to test that the order of turns does not matter. */
static bool turns_are_reversed(void)
{
    const char *turns = getenv("LOCKSTEP_TURNS");
    return turns && strcmp(turns, "reversed") == 0;
}

int side_process_helpers(void)
{
    return job_helpers();
}

static int side_processes(void)
{
    return PLATFORM_ENGINES + side_process_helpers();
}

MPI_Comm side_process_start(void)
{
    int process = 0, processes = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    int ranks = processes / (1 + side_processes()), role = process / ranks;
    MPI_Comm peers = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, role, turns_are_reversed() ? -process : process, &peers);
    enum { GREETING = 1 };
    if (role == 0) {
        mine = memory_new(1 + (size_t)side_processes(), sizeof *mine);
        for (int k = 1; k <= side_processes(); k++) {
            struct side_process *side = &mine[k];
            *side = (struct side_process){ .given = sg_sem_init(0), .done = sg_sem_init(0) };
            MPI_Send(&side, sizeof side, MPI_BYTE, k * ranks + process, GREETING, MPI_COMM_WORLD);
        }
        MPI_Barrier(peers); /* the ranks begin together */
        return peers;
    }
    struct side_process *side = NULL;
    MPI_Recv(&side, sizeof side, MPI_BYTE, process % ranks, GREETING, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    serve(side, peers);
    MPI_Comm_free(&peers);
    MPI_Finalize();
    smpi_exit(STATUS_RIGHT);
}

void side_process_stop(void)
{
    for (int k = 1; k <= side_processes(); k++)
        side_process_begin(&mine[k], NULL, NULL);
}

struct side_process *side_process_engine(void)
{
    return &mine[PLATFORM_ENGINES];
}

struct side_process *side_process_helper(int which)
{
    return &mine[PLATFORM_ENGINES + 1 + which];
}

int side_process_begin(struct side_process *process, void (*work)(void *context, MPI_Comm peers), void *context)
{
    process->jobs[process->given_jobs % JOBS_MOST] = (struct job){ work, context };
    release(process->given);
    return process->given_jobs++;
}

void side_process_end(struct side_process *process, int job)
{
    for (; process->done_jobs <= job; process->done_jobs++)
        acquire(process->done);
}

bool side_process_helps(void)
{
    bool helps = false;
    for (int i = 0; i < side_process_helpers(); i++)
        helps |= side_process_helper(i)->given_jobs > side_process_helper(i)->done_jobs;
    return helps;
}

unsigned side_process_yields(void)
{
    return yields;
}
