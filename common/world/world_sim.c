/* Simulated world: ranks are SMPI processes on the hosts of a platform file, all in one real process, and time is SimGrid's. Real
 * arithmetic runs for one rank at a time, and its duration is charged to that rank. */
#include "world/world_sim.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "world/property_sim.h"
#include "world/side_process_sim.h"

#include <math.h>
#include <signal.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/host.h>
#include <simgrid/version.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <xbt/config.h>

/* flop/s of the platform's fastest host, where work has its nominal duration. Static, because a process simulates one platform. */
static double fastest;

/* Last point at which this rank's simulated time and CPU time were read together. Asking SMPI for the time charges the computation
 * so far and lets other ranks compute, whose data evicts this rank's data from the cache. On dedicated cores this would not
 * happen. So a rank computes without interruption from one collective to the next. Its timestamps in between are this point plus
 * CPU time. A static variable, because world_now() takes no argument; SMPI gives each rank its own copy. */
static struct {
    bool is_modelled; /* nothing is computed or charged, so SMPI need not read this thread's CPU time */
    bool is_alone;    /* the rank has its own core, and real computation is charged */
    double clock, cpu;
    unsigned yields; /* side_process_yields() */
} anchor;

/* True if ranks run on this host. Other hosts stand for a resource that hosts share. */
static bool takes_ranks(sg_host_t host)
{
    const char *ranks = property_of(host, "ranks");
    return !ranks || atof(ranks) > 0; /* describe_platform has checked that this is a number */
}

static double find_fastest(void)
{
    sg_host_t *hosts = sg_host_list();
    size_t count = sg_host_count(); /* SimGrid lists all hosts to count them */
    double speed = 0;
    for (size_t i = 0; i < count; i++)
        if (takes_ranks(hosts[i]))
            speed = fmax(speed, sg_host_get_speed(hosts[i]));
    free(hosts);
    return speed;
}

/* Restore standard output and error, which the launcher hid from smpirun. All simulated processes share them and call this,
 * because each may be the first. */
static void take_output(void)
{
    const char *descriptors = getenv(JOB_OUTPUT);
    int output = 0, error = 0;
    if (descriptors && sscanf(descriptors, "%d %d", &output, &error) == 2) {
        dup2(output, STDOUT_FILENO);
        dup2(error, STDERR_FILENO);
    }
}

static int count_here(MPI_Comm comm)
{
    MPI_Comm here = MPI_COMM_NULL;
    int ranks = 0;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &ranks);
    MPI_Comm_free(&here);
    return ranks;
}

struct world *world_open(double timeout)
{
    (void)timeout; /* the supervisor enforces the timeout */
    MPI_Init(NULL, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* ranks do not outlive their launcher */
    take_output();
    fastest = find_fastest();
    MPI_Comm ranks = side_process_start();
    struct world *world = memory_new(1, sizeof *world);
    world->comm = ranks;
    bool has_core = sg_host_core_count(sg_host_self()) >= count_here(world->comm);
    anchor.is_modelled = !sg_cfg_get_boolean("smpi/simulate-computation");
    anchor.is_alone = has_core && !anchor.is_modelled;
    MPI_Comm_rank(world->comm, &world->rank);
    world->job = world;
    MPI_Comm_size(world->comm, &world->size);
    world->cores = job_cores();
    world->recorder = flight_recorder_open(getenv(JOB_RECORDER), world->rank);
    return world;
}

void world_close(struct world *world)
{
    flight_recorder_finish(world->recorder);
    side_process_stop();
    MPI_Comm_free(&world->comm);
    MPI_Finalize();
    flight_recorder_close(world->recorder);
    free(world);
}

/* SMPI breaks off if other ranks send to one that has ended. */
void world_exit_early(struct world *world)
{
    flight_recorder_finish(world->recorder);
    world_stand_still(world);
}

/* The supervisor has another time than a simulated rank. */
void world_plant_mistake(struct world *world)
{
    (void)world;
}

void world_park(struct world *world)
{
    MPI_Barrier(world->comm); /* a waiting simulated rank uses no core */
}

/* Wait for a message that this rank never sends. When all ranks wait, SimGrid ends the job. */
void world_stand_still(struct world *world)
{
    char never;
    for (;;)
        MPI_Recv(&never, 1, MPI_CHAR, world->rank, 0, world->comm, MPI_STATUS_IGNORE);
}

static double read_clock(clockid_t clock)
{
    struct timespec t;
    (clock_gettime)(clock, &t); /* parentheses select the real function instead of SMPI's macro */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Return `stamp`, but never less than before. SMPI does not charge computation below a microsecond (cpu-threshold), so a timestamp
 * from CPU time may be that much later than the next exact one. `latest` is static for the reason of `anchor`. */
static double make_monotonic(double stamp)
{
    static double latest;
    latest = fmax(latest, stamp);
    return latest;
}

double world_now(void)
{
    double clock = simgrid_get_clock();
    if (anchor.is_modelled)
        return clock;
    const unsigned yields = side_process_yields(); /* the CPU time since then may be that of others */
    bool has_advanced =
        clock < anchor.clock || clock > anchor.clock || yields != anchor.yields; /* it waited, slept or sent */
    if (anchor.is_alone && !has_advanced && !side_process_helps()) /* an async helper slows the core down */
        return make_monotonic(anchor.clock + read_clock(CLOCK_THREAD_CPUTIME_ID) - anchor.cpu);
    MPI_Wtime();
    anchor.clock = simgrid_get_clock();
    anchor.yields = side_process_yields();
    anchor.cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
    return make_monotonic(anchor.clock);
}

double world_wall(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* Sleep. A platform file may set a factor (sleep_stretch) for the duration of sleeps. */
void world_sleep(double seconds)
{
    seconds *= world_property_number("sleep_stretch", 1);
    struct timespec duration = { .tv_sec = (time_t)seconds };
    duration.tv_nsec = (long)((seconds - (double)duration.tv_sec) * 1e9);
    nanosleep(&duration, NULL);
}

void world_burn_cpu(double seconds)
{
    smpi_execute_flops_benched(seconds * fastest); /* unbenched, other ranks' work meanwhile would be charged here */
}

void world_spin(double seconds)
{
    world_burn_cpu(seconds);
}

void world_burn_cpu_on_bus(const char *bus, double seconds)
{
    smpi_bench_end();
    sg_exec_t exec = sg_actor_exec_init(seconds * fastest);
    sg_exec_set_host(exec, sg_host_by_name(bus));
    sg_exec_set_bound(exec, sg_host_get_speed(sg_host_self()));
    sg_exec_start(exec);
    sg_exec_wait(exec);
    smpi_bench_begin();
}

double world_parallel_capacity(const char *bus)
{
    sg_host_t host = sg_host_self();
    double most = sg_host_core_count(host);
    if (bus)
        most = fmin(most, sg_host_get_speed(sg_host_by_name(bus)) / sg_host_get_speed(host));
    return most;
}

const char *world_host(void)
{
    return sg_host_get_name(sg_host_self());
}

int world_host_cores(void)
{
    return sg_host_core_count(sg_host_self());
}

double world_slowdown(void)
{
    return fastest / sg_host_get_speed(sg_host_self());
}

const char *world_platform(void)
{
    return job_platform();
}

bool world_is_simulated(void)
{
    return true;
}

const char *world_property(const char *name)
{
    return property_of(sg_host_self(), name);
}

const char *world_engine(void)
{
    static char version[32]; /* returned, so it has to outlive the call */
    snprintf(version, sizeof version, "SimGrid %d.%d", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR);
    return version;
}
