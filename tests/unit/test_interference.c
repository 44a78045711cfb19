/* test_interference.c: test that run-queue delay grows for a thread that shares its CPU and not for one that sleeps. */
#include "base/interference.h"
#include "base/memory.h"
#include "support/unit.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void spin(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        ;
}

/* Pin this process and its future children to one CPU. */
static void keep_to_one_cpu(void)
{
    cpu_set_t mask, one;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &mask))
        cpu++;
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

TEST(who_shares_a_cpu_waits_for_it)
{
    if (access("/proc/thread-self/schedstat", R_OK) != 0)
        skip();
    keep_to_one_cpu();
    pid_t other = fork();
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        spin(60);
        _exit(0);
    }
    double began = now(), before = interference_run_queue_delay(); /* after the start time: the read may wait, too */
    double taken = interference_by_others();
    spin(0.4);
    taken = interference_by_others() - taken;
    double queued = interference_run_queue_delay() - before, took = now() - began;
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    assert_true(queued > 0.1 * took && queued <= 1.01 * took);
    assert_true(fabs(taken - queued) < 0.05 * took);
}

static void *spin_beside(void *is_over)
{
    while (!atomic_load((atomic_bool *)is_over))
        ;
    return NULL;
}

/* A thread that this process started itself, such as an async helper, is no other program. */
TEST(own_threads_are_no_others)
{
    if (access("/proc/thread-self/schedstat", R_OK) != 0)
        skip();
    keep_to_one_cpu();
    pthread_t helper;
    clockid_t helper_clock;
    struct timespec helped; /* the helper's time on the CPU */
    atomic_bool is_over = false;
    const double taken = interference_by_others(), queued = interference_run_queue_delay();
    assert_int_equal(pthread_create(&helper, NULL, spin_beside, &is_over), 0);
    spin(0.4);
    const double longest = interference_run_queue_delay() - queued, by_others = interference_by_others() - taken;
    assert_int_equal(pthread_getcpuclockid(helper, &helper_clock), 0);
    clock_gettime(helper_clock, &helped);
    atomic_store(&is_over, true);
    pthread_join(helper, NULL);
    const double own = (double)helped.tv_sec + 1e-9 * (double)helped.tv_nsec;
    assert_true(longest > 0.1);
    assert_true(own > 0);
    assert_true(by_others < longest - 0.5 * own); /* other tests may run on this CPU, too */
}

TEST(who_sleeps_waits_for_nothing)
{
    const struct timespec pause = { .tv_nsec = 300000000 };
    double began = now(), queued = interference_run_queue_delay(), stolen = interference_steal_time("");
    nanosleep(&pause, NULL);
    queued = interference_run_queue_delay() - queued;
    stolen = interference_steal_time("") - stolen;
    double took = now() - began; /* may exceed the sleep if another process has the CPU at wake-up */
    assert_true(queued <= took - 0.29);
    assert_true(stolen >= 0 && stolen <= 1.1 * took + 0.02);
}

/* Write proc/stat in a folder, with a single CPU, the one that this process is pinned to, and these ticks of steal. */
static void write_steal(const char *root, int ticks)
{
    cpu_set_t mask;
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &mask))
        cpu++;
    char *path = memory_text("%s/proc/stat", root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "cpu  %d 0 0 0 0 0 0 0 1000000 0\ncpu%d 100 20 30 5000 6000 7 3 %d 0 0\nintr 5\n", cpu, cpu, ticks);
    fclose(file);
    free(path);
}

static void make_proc(const char *root)
{
    char *folder = memory_text("%s/proc", root);
    assert_int_equal(mkdir(folder, 0700), 0);
    free(folder);
}

/* The kernel's first line sums all CPUs; "cpu%zu" would read its first number as a CPU's index. */
TEST_IN_FOLDER(the_sum_of_all_cpus_is_no_cpu)
{
    keep_to_one_cpu();
    make_proc(*state);
    write_steal(*state, 300);
    double found = interference_steal_time(*state), right = 300 / (double)sysconf(_SC_CLK_TCK);
    assert_true(found >= right && found <= right);
    double busy = interference_busy_time(*state), work = (100 + 20 + 30 + 7 + 3) / (double)sysconf(_SC_CLK_TCK);
    assert_true(busy >= work && busy <= work); /* without idle, iowait and steal */
}

TEST_IN_FOLDER(steal_is_a_share_of_the_time_since_its_reading)
{
    keep_to_one_cpu();
    make_proc(*state);
    write_steal(*state, 300);
    const struct steal_reading first = interference_read_steal(*state, 10);
    write_steal(*state, 310);
    const double share = interference_steal_share(*state, first, 12), stolen = 10 / (double)sysconf(_SC_CLK_TCK);
    assert_true(fabs(share - stolen / 2) < 1e-9);
    write_steal(*state, 290); /* the kernel's count may step back */
    const double none = interference_steal_share(*state, first, 12);
    assert_true(none >= 0 && none <= 0);
}

TEST_IN_FOLDER(pressure_is_read_where_there_is_some)
{
    char *folder = memory_text("%s/proc", (const char *)*state), *pressure = memory_text("%s/pressure", folder),
         *path = memory_text("%s/cpu", pressure);
    assert_true(isnan(interference_pressure_time(*state)));
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(pressure, 0700), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("some avg10=1.00 avg60=2.00 avg300=3.00 total=4500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
          file);
    fclose(file);
    double found = interference_pressure_time(*state);
    assert_true(found >= 4.4999 && found <= 4.5001);
    free(folder);
    free(pressure);
    free(path);
}
