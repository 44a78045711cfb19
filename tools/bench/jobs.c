#include "jobs.h"

#include "cores.h"
#include "csv.h"
#include "die.h"
#include "job.h"
#include "launch.h"
#include "memory.h"
#include "platform.h"
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const double ALLOWED_S = 600; /* until the first sign of life */

/* --- processes ----------------------------------------------------------------------------------------------------- */

/* In a process of its own. */
static _Noreturn void launch(const struct ranks_job *job, const char *const *arguments)
{
    struct platform platform;
    if (job->platform)
        platform_open(&platform, job->platform, job->ranks);
    char *program = job->platform ? platform_program(&platform, "bench_ranks") : job_library(".", "bench_ranks");
    exit(launch_ranks(&(struct launch){ .ranks = job->ranks,
                                        .cores = cores_here(),
                                        .allowed = ALLOWED_S,
                                        .program = program,
                                        .arguments = arguments,
                                        .platform = job->platform ? &platform : NULL,
                                        .is_plain = true }));
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

static struct ending wait_for(pid_t child, double began)
{
    int status = 0;
    struct rusage used = { 0 };
    while (wait4(child, &status, 0, &used) < 0 && errno == EINTR)
        ;
    struct ending ending = { .status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                             .seconds = world_wall() - began,
                             .busy = seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime),
                             .most_bytes = 1024 * (double)used.ru_maxrss };
    if (ending.status == STATUS_CANNOT)
        ending.seconds = ending.busy = ending.most_bytes = (double)NAN;
    return ending;
}

static struct ending ended_well(const char *name, struct ending ending)
{
    if (ending.status != STATUS_RIGHT && ending.status != STATUS_CANNOT)
        die(STATUS_WRONG, "%s ended with status %d; by itself it may say why", name, ending.status);
    return ending;
}

static pid_t start(double *began)
{
    fflush(NULL);
    *began = world_wall();
    pid_t child = fork();
    if (child < 0)
        die(STATUS_WRONG, "cannot start a process: %s", strerror(errno));
    return child;
}

static struct ending run(const struct ranks_job *job, int rounds, const char *out)
{
    double began = 0;
    pid_t child = start(&began);
    if (child > 0)
        return ended_well(job->name, wait_for(child, began));
    const char *words[] = { memory_text("--job=%s", job->name), memory_text("--rounds=%d", rounds),
                            memory_text("--steps=%d", job->steps), memory_text("--out=%s", out), NULL };
    launch(job, words);
}

struct ending jobs_run(const struct ranks_job *job)
{
    return run(job, 0, "/dev/null");
}

struct ending jobs_run_lab(const char *lab, const char *const *words)
{
    return ended_well(lab, jobs_try_lab(lab, words, "/dev/null"));
}

struct ending jobs_try_lab(const char *lab, const char *const *words, const char *said)
{
    char *self = job_program(), *program = memory_text("%.*s/%s", (int)(strrchr(self, '/') - self), self, lab);
    int count = 0;
    while (words[count])
        count++;
    double began = 0;
    pid_t child = start(&began);
    if (child == 0) {
        char **argv = memory_new((size_t)count + 2, sizeof *argv);
        argv[0] = program;
        memcpy(argv + 1, words, (size_t)count * sizeof *argv);
        freopen("/dev/null", "r", stdin);
        freopen(said, "w", stdout);
        dup2(STDOUT_FILENO, STDERR_FILENO);
        execv(program, argv);
        _exit(STATUS_CANNOT);
    }
    free(self);
    free(program);
    return wait_for(child, began);
}

/* --- what ranks found ---------------------------------------------------------------------------------------------- */

static void add_rows(struct bench *bench, const struct csv_table *found)
{
    double *ours = memory_new((size_t)found->rows + 1, sizeof *ours);
    double *reference = memory_new((size_t)found->rows + 1, sizeof *reference);
    for (int first = 0, next = 0; first < found->rows; first = next) {
        const char *what = csv_field(found, first, "what");
        while (next < found->rows && strcmp(csv_field(found, next, "what"), what) == 0) {
            ours[next - first] = csv_value(found, next, "ours");
            reference[next - first] = csv_value(found, next, "reference");
            next++;
        }
        rows_add_rounds(&bench->rows, memory_text("%s", what), csv_value(found, first, "per_second"), ours, reference,
                        next - first, csv_value(found, first, "goal"));
    }
    free(ours);
    free(reference);
}

void jobs_add_rows(struct bench *bench, const struct ranks_job *job)
{
    int file = memfd_create("lockstep-bench", MFD_CLOEXEC);
    char *out = memory_text("/proc/%d/fd/%d", (int)getpid(), file), why[256] = "";
    struct ending ending = run(job, bench->options.rounds, out);
    struct csv_table found;
    if (ending.status == STATUS_CANNOT)
        printf("not here, as said above\n");
    else if (!csv_read(out, &found, why, sizeof why))
        die(STATUS_WRONG, "what the ranks found cannot be read: %s", why);
    else {
        add_rows(bench, &found);
        csv_free(&found);
    }
    free(out);
    close(file);
}
