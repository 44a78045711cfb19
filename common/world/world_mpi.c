#include "world/world_mpi.h"
#include "world/world.h"

#include "base/cores.h"
#include "base/die.h"
#include "base/hot.h"
#include "base/memory.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "options/algorithm.h"
#include "world/hosts.h"
#include "world/watchdog.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Open MPI reads these when it starts; a value that is set stands. A waiting rank yields its core: a helper thread or
 * another rank may need it. Ranks of one host do not need its network; Open MPI 5.0.7 complains at every start that it finds no
 * way through it (github.com/open-mpi/ompi, issue 14079). */
static void set_defaults(void)
{
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (job_is_on_one_host())
        setenv("OMPI_MCA_btl_tcp_if_include", "lo", 0);
    algorithm_choose(ALGORITHM_RING);
}

/* The cores that the ranks of this host may use together: told by our own supervisor, which starts none elsewhere, else
 * the union of their masks. */
static int count_cores(const struct world *world)
{
    if (job_cores() > 0 && world->hosts == 1)
        return job_cores();
    cpu_set_t mine, any;
    CPU_ZERO(&mine);
    CPU_ZERO(&any);
    sched_getaffinity(0, sizeof mine, &mine);
    MPI_Allreduce(&mine, &any, sizeof mine, MPI_BYTE, MPI_BOR, world->here);
    return cores_usable(&any);
}

/* A core with two hardware threads would lend a rank's helper the second one, and the ranks of another machine would
 * not: a rank that its launcher bound to one core keeps to one hardware thread of it. */
static void keep_to_one_thread(void)
{
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) < 2 || cores_usable(&mask) > 1)
        return;
    size_t first = 0;
    while (!CPU_ISSET(first, &mask))
        first++;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    sched_setaffinity(0, sizeof mask, &mask);
}

/* The supervisor's board, which is on the first rank's host, or one of the first rank's own there, which keeps its file open
 * to the end. Each host has its own board: memory reaches no further. */
static struct flight_recorder *join_board(const struct world *world)
{
    char path[64] = "";
    const char *told = world->host == 0 ? getenv(JOB_BOARD) : NULL;
    if (world->place == 0 && told)
        snprintf(path, sizeof path, "%s", told);
    else if (world->place == 0)
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), flight_recorder_create());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, world->here);
    return flight_recorder_open(path, world->rank);
}

static void abort_all(void)
{
    MPI_Abort(MPI_COMM_WORLD, STATUS_WRONG);
}

struct world *world_open(double allowed)
{
    set_defaults();
    struct watchdog *watchdog = watchdog_open(!job_is_watched(), allowed);
    int provided = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED)
        die(STATUS_CANNOT, "this MPI has no thread support (MPI_THREAD_FUNNELED); use one that has");
    struct world *world = memory_new(1, sizeof *world);
    MPI_Comm_dup(MPI_COMM_WORLD, &world->comm);
    MPI_Comm_rank(world->comm, &world->rank);
    MPI_Comm_size(world->comm, &world->size);
    if (world->size == 1)
        job_refuse_strangers();
    int cores_told = job_cores();
    if (cores_told > 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* our own launcher's ranks do not outlive it */
    if (world->size <= cores_told)
        keep_to_one_thread();
    hosts_find(world);
    world->recorder = join_board(world);
    world->cores_here = count_cores(world);
    world->cores = hosts_sum(world, world->cores_here);
    world->watchdog = watchdog;
    watchdog_join(watchdog, world->recorder, world->size, abort_all);
    return world;
}

void world_close(struct world *world)
{
    watchdog_part(world->watchdog);
    flight_recorder_finish(world->recorder);
    hosts_leave(world);
    MPI_Comm_free(&world->comm);
    MPI_Finalize();
    watchdog_close(world->watchdog);
    flight_recorder_close(world->recorder);
    free(world);
}

void world_park(struct world *world)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(world->comm, &request);
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;)
        world_sleep(1e-3);
}

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

HOT double world_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double world_wall(void)
{
    return world_now();
}

void world_sleep(double seconds)
{
    struct timespec left = { .tv_sec = (time_t)seconds };
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (seconds > 0 && nanosleep(&left, &left) != 0)
        ;
}

void world_burn_cpu(double seconds)
{
    double end = read_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;
    volatile double x = 1.0;
    while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 2000; i++)
            x = x * 1.0000001 + 1e-9;
}

const char *world_platform(void)
{
    return "here";
}

bool world_is_simulated(void)
{
    return false;
}

const char *world_property(const char *name)
{
    (void)name;
    return NULL;
}

const char *world_engine(void)
{
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    return strncmp(version, "Open MPI v", 10) == 0 ? version : "MPI";
}
