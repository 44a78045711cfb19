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
#include "world/stamps.h"
#include "world/watchdog.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Set variables that Open MPI reads at its start, unless the user has set them. A waiting rank yields its core, because an async
 * helper or another rank may need the core. Ranks of one host need no network. Open MPI 5.0.7 otherwise warns at every start of a
 * missing route through the network (github.com/open-mpi/ompi, issue 14079). */
static void set_defaults(void)
{
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (job_is_on_one_host())
        setenv("OMPI_MCA_btl_tcp_if_include", "lo", 0);
    algorithm_choose(ALGORITHM_RING);
}

/* Number of cores that the ranks of this host may use together. Our own supervisor, which starts ranks on one host only, provides
 * the number. Otherwise count the union of the ranks' affinity masks. */
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

/* Bind a rank that its launcher bound to one core to one hardware thread of that core. Otherwise an async helper would use the
 * second hardware thread, which other machines may not have. */
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

/* Open this host's flight recorder. The first host uses the supervisor's recorder if there is one. Otherwise the first rank of a
 * host creates a recorder and keeps its file open to the end. Hosts cannot share a recorder, because hosts share no memory. */
static struct flight_recorder *join_recorder(const struct world *world)
{
    char path[64] = "";
    const char *given = world->host == 0 ? getenv(JOB_RECORDER) : NULL;
    if (world->place == 0 && given)
        snprintf(path, sizeof path, "%s", given);
    else if (world->place == 0)
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), flight_recorder_create());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, world->here);
    return flight_recorder_open(path, world->rank);
}

/* The launcher ends the others, or their own watchdogs do. */
static void end_alone(void)
{
}

static void abort_all(void)
{
    MPI_Abort(MPI_COMM_WORLD, STATUS_WRONG);
}

struct world *world_open(double timeout)
{
    set_defaults();
    stamps_open();
    struct watchdog *watchdog = watchdog_open(!job_is_watched(), timeout);
    int provided = 0;
    /* Without a supervisor, the watchdog's thread may have to call MPI_Abort() while the rank is in another call. */
    const int wanted = job_is_watched() ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE;
    MPI_Init_thread(NULL, NULL, wanted, &provided);
    if (provided < MPI_THREAD_FUNNELED)
        die(STATUS_CANNOT, "this MPI has no thread support (MPI_THREAD_FUNNELED); use one that has");
    struct world *world = memory_new(1, sizeof *world);
    MPI_Comm_dup(MPI_COMM_WORLD, &world->comm);
    MPI_Comm_rank(world->comm, &world->rank);
    world->job = world;
    MPI_Comm_size(world->comm, &world->size);
    if (world->size == 1)
        job_refuse_strangers();
    int launcher_cores = job_cores();
    if (launcher_cores > 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* ranks do not outlive our own launcher */
    if (world->size <= launcher_cores)
        keep_to_one_thread();
    hosts_find(world);
    world->recorder = join_recorder(world);
    world->cores_here = count_cores(world);
    world->cores = hosts_sum(world, world->cores_here);
    world->watchdog = watchdog;
    watchdog_join(watchdog, world->recorder, world->size, provided == MPI_THREAD_MULTIPLE ? abort_all : end_alone);
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

void world_exit_early(struct world *world)
{
    world_exit(world, STATUS_RIGHT);
}

void world_plant_mistake(struct world *world)
{
    flight_recorder_plant(world->recorder, world_now());
}

void world_park(struct world *world)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(world->comm, &request);
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;)
        world_sleep(1e-3);
}

void world_stand_still(struct world *world)
{
    (void)world;
    for (;;)
        world_sleep(1);
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

void world_spin(double seconds)
{
    const double end = seconds > 0 ? read_clock(CLOCK_THREAD_CPUTIME_ID) + seconds : 0;
    while (seconds > 0 && read_clock(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
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
    static char version[MPI_MAX_LIBRARY_VERSION_STRING]; /* returned, so it has to outlive the call */
    int length = 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    return strncmp(version, "Open MPI v", 10) == 0 ? version : "MPI";
}
