/* The simulated world: the ranks are SMPI processes on the hosts of a platform file, all in one real process, and time
 * is SimGrid's. Real arithmetic runs one rank at a time and is charged what it took. */
#include "world/world_sim.h"
#include "world/world.h"
#include "world/world_mpi.h"

#include "base/die.h"
#include "base/memory.h"
#include "base/number.h"
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

static double fastest; /* flop/s of the platform's fastest host, on which work takes what it is said to take */

/* Where simulated and CPU time last met on this rank. Asking SMPI for the time charges what was computed so far and lets
 * the other ranks compute, through whose data this one's would leave the cache. On a core of its own they would not; so a
 * rank computes from one collective to the next in one go, and its stamps in between are this point plus CPU time. */
static struct {
    bool is_alone; /* on its core, and computing is charged what it takes (and not modelled) */
    double clock, cpu;
} meeting;

/* Others stand for something that hosts share. */
static bool takes_ranks(sg_host_t host)
{
    const char *ranks = property_of(host, "ranks");
    return !ranks || atof(ranks) > 0; /* describe_platform has read it as a number */
}

static double find_fastest(void)
{
    sg_host_t *hosts = sg_host_list();
    size_t count = sg_host_count(); /* SimGrid lists them all to count them */
    double speed = 0;
    for (size_t i = 0; i < count; i++)
        if (takes_ranks(hosts[i]))
            speed = fmax(speed, sg_host_get_speed(hosts[i]));
    free(hosts);
    return speed;
}

/* Standard output and error, which the launcher kept from smpirun. All processes share them, and each may come first. */
static void take_output(void)
{
    const char *told = getenv(JOB_OUTPUT);
    int output = 0, error = 0;
    if (told && sscanf(told, "%d %d", &output, &error) == 2) {
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

struct world *world_open(double allowed)
{
    (void)allowed; /* the supervisor sees to it */
    MPI_Init(NULL, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* ranks do not outlive their launcher */
    take_output();
    fastest = find_fastest();
    MPI_Comm ranks = side_process_start();
    struct world *world = memory_new(1, sizeof *world);
    world->comm = ranks;
    bool has_core = sg_host_core_count(sg_host_self()) >= count_here(world->comm);
    meeting.is_alone = has_core && sg_cfg_get_boolean("smpi/simulate-computation");
    MPI_Comm_rank(world->comm, &world->rank);
    MPI_Comm_size(world->comm, &world->size);
    world->cores = job_cores();
    if (world->rank == 0) /* what ranks have come to, nobody could read in one process */
        world->recorder = flight_recorder_open(getenv(JOB_BOARD), -1);
    return world;
}

void world_close(struct world *world)
{
    side_process_stop();
    MPI_Comm_free(&world->comm);
    MPI_Finalize();
    flight_recorder_close(world->recorder);
    free(world);
}

void world_park(struct world *world)
{
    MPI_Barrier(world->comm); /* who waits here takes no core */
}

static double read_clock(clockid_t clock)
{
    struct timespec t;
    (clock_gettime)(clock, &t); /* in parentheses it is the real one, not SMPI's macro */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A stretch of less than a microsecond SMPI does not charge (cpu-threshold), so a stamp from CPU time may lie that much
 * after the next exact one. Time does not go back: the later one is then taken to be as late. */
static double not_before(double stamp)
{
    static double latest;
    latest = fmax(latest, stamp);
    return latest;
}

double world_now(void)
{
    double clock = simgrid_get_clock();
    bool has_met =
        clock < meeting.clock || clock > meeting.clock;        /* the rank was elsewhere since: waited, slept, sent */
    if (meeting.is_alone && !has_met && !side_process_helps()) /* who shares the core slows it down */
        return not_before(meeting.clock + read_clock(CLOCK_THREAD_CPUTIME_ID) - meeting.cpu);
    MPI_Wtime();
    meeting.clock = simgrid_get_clock();
    meeting.cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
    return not_before(meeting.clock);
}

double world_wall(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* A platform file may say that its clock's sleeps last so many times what was asked. */
void world_sleep(double seconds)
{
    const char *segment = world_property("sleep_stretch");
    double times = 1;
    if (segment && number_parse(segment, &times))
        seconds *= times;
    struct timespec duration = { .tv_sec = (time_t)seconds };
    duration.tv_nsec = (long)((seconds - (double)duration.tv_sec) * 1e9);
    nanosleep(&duration, NULL);
}

void world_burn_cpu(double seconds)
{
    smpi_execute_flops_benched(seconds * fastest); /* unbenched, the work of others meanwhile would be charged to us */
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
    static char version[32];
    snprintf(version, sizeof version, "SimGrid %d.%d", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR);
    return version;
}
