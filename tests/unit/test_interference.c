/* Who has the core: a thread that shares its CPU with another is seen to wait for it, and one that sleeps is not. */
#include "base/interference.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

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

/* This process, and those that it starts. */
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

static void who_shares_a_cpu_waits_for_it(void **state)
{
    (void)state;
    if (access("/proc/thread-self/schedstat", R_OK) != 0)
        skip();
    keep_to_one_cpu();
    pid_t other = fork();
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        spin(60);
        _exit(0);
    }
    double began = now(), before = interference_run_queue_delay(); /* within what is timed, for it may wait here, too */
    spin(0.4);
    double queued = interference_run_queue_delay() - before, took = now() - began;
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    assert_true(queued > 0.1 * took && queued <= 1.01 * took);
}

static void who_sleeps_waits_for_nothing(void **state)
{
    (void)state;
    const struct timespec pause = { .tv_nsec = 300000000 };
    double began = now(), queued = interference_run_queue_delay(), stolen = interference_steal_time();
    nanosleep(&pause, NULL);
    queued = interference_run_queue_delay() - queued;
    stolen = interference_steal_time() - stolen;
    double took = now() - began; /* others may have the CPU when it wakes */
    assert_true(queued <= took - 0.29);
    assert_true(stolen >= 0 && stolen <= 1.1 * took + 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sleeps_waits_for_nothing),
        cmocka_unit_test(who_shares_a_cpu_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
