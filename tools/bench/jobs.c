#include "jobs.h"

#include "guard.h"

#include "base/cores.h"
#include "base/csv.h"
#include "base/die.h"
#include "base/memory.h"
#include "base/stats.h"
#include "launch/job.h"
#include "launch/launch.h"
#include "launch/platform.h"
#include "world/world.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const double ALLOWED_S = 600; /* timeout until the first heartbeat */

/* --- processes ----------------------------------------------------------------------------------------------------- */

/* Start the ranks from the child process; never returns. */
static _Noreturn void launch(const struct ranks_job *job, const char *const *arguments)
{
    struct platform platform;
    if (job->platform)
        platform_open(&platform, job->platform, job->ranks, STATUS_USAGE);
    char *program = job->platform ? platform_program(&platform, "bench_ranks") : job_library(".", "bench_ranks");
    exit(launch_ranks(&(struct launch){ .ranks = job->ranks,
                                        .cores = cores_here(),
                                        .timeout = ALLOWED_S,
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
        die(STATUS_WRONG, "%s ended with status %d; run it alone to see why", name, ending.status);
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

static struct ending run(const struct ranks_job *job, const struct bench_options *options, const char *out)
{
    double began = 0;
    pid_t child = start(&began);
    if (child > 0)
        return ended_well(job->name, wait_for(child, began));
    const char *words[] = { memory_text("--job=%s", job->name),
                            memory_text("--rounds=%d", options->rounds),
                            memory_text("--steps=%d", job->steps),
                            memory_text("--out=%s", out),
                            memory_text("--products=%s", job->products ? job->products : "/dev/null"),
                            options->is_toy ? "--toy" : NULL,
                            NULL };
    launch(job, words);
}

struct ending jobs_run(const struct bench *bench, const struct ranks_job *job)
{
    return run(job, &bench->options, "/dev/null");
}

char *jobs_bin(void)
{
    char *bin = job_program();
    *strrchr(bin, '/') = '\0';
    return bin;
}

struct ending jobs_lab(const char *lab, const char *said, const char *format, ...)
{
    enum { WORDS_MOST = 32 };
    char *bin = jobs_bin(), *program = memory_text("%s/%s", bin, lab);
    va_list values;
    va_start(values, format);
    char *words = memory_vtext(format, values);
    va_end(values);
    double began = 0;
    pid_t child = start(&began);
    if (child == 0) {
        char *argv[WORDS_MOST] = { program };
        int count = 1;
        for (char *word = strtok(words, "\n"); word; word = strtok(NULL, "\n")) {
            if (count == WORDS_MOST - 1)
                die(STATUS_WRONG, "a job of the benchmark has more than %d words; raise WORDS_MOST", WORDS_MOST - 2);
            argv[count++] = word;
        }
        freopen("/dev/null", "r", stdin);
        freopen(said ? said : "/dev/null", "w", stdout);
        dup2(STDOUT_FILENO, STDERR_FILENO);
        execv(program, argv);
        _exit(STATUS_CANNOT);
    }
    free(words);
    free(program);
    free(bin);
    const struct ending ending = wait_for(child, began);
    return said ? ending : ended_well(lab, ending);
}

/* --- results of the ranks ---------------------------------------------------------------------------------------------- */

/* Rounds of one pair in one start. */
struct pair {
    double *ours, *reference;
    int count;
};

/* Append the rounds of the pair in row `first`. Return the first row of the next pair. */
static int take_rounds(struct pair *pair, const struct csv_table *found, int first)
{
    const char *what = csv_field(found, first, "what");
    int next = first;
    while (next < found->rows && strcmp(csv_field(found, next, "what"), what) == 0) {
        pair->ours[pair->count] = csv_value(found, next, "ours");
        pair->reference[pair->count++] = csv_value(found, next, "reference");
        next++;
    }
    return next;
}

/* Add a row per pair, of the medians of each start. */
static void add_rows(struct bench *bench, const struct csv_table *found, const bool *is_disturbed, int starts)
{
    double *ours = memory_new(2 * (size_t)found->rows + 1, sizeof *ours); /* rounds of a start */
    for (int first = 0, next = 0; first < found->rows; first = next) {
        struct compared row = { .what = memory_text("%s", csv_field(found, first, "what")),
                                .per_second = csv_value(found, first, "per_second"),
                                .count = starts,
                                .is_disturbed = is_disturbed,
                                .goal = csv_value(found, first, "goal") };
        for (int start = 0; start < starts; start++) {
            struct pair one = { .ours = ours, .reference = ours + found->rows };
            next = take_rounds(&one, &found[start], first);
            row.ours[start] = stats_lower_median(one.ours, one.count);
            row.reference[start] = stats_lower_median(one.reference, one.count);
        }
        rows_add_starts(&bench->rows, &row);
    }
    free(ours);
}

/* Run the job and read its table. False if it cannot run here. */
static bool run_and_read(struct csv_table *found, const struct bench *bench, const struct ranks_job *job)
{
    int file = memfd_create("lockstep-bench", MFD_CLOEXEC);
    char *out = memory_text("/proc/%d/fd/%d", (int)getpid(), file), why[256] = "";
    struct ending ending = run(job, &bench->options, out);
    if (ending.status != STATUS_CANNOT && !csv_read(out, found, why, sizeof why))
        die(STATUS_WRONG, "the ranks' results cannot be read: %s", why);
    free(out);
    close(file);
    return ending.status != STATUS_CANNOT;
}

/* A start, and its table. */
struct job_start {
    const struct bench *bench;
    const struct ranks_job *job;
    struct csv_table found;
    bool has_table;
};

static bool start_job(void *argument)
{
    struct job_start *start = argument;
    if (start->has_table) /* repeated */
        csv_free(&start->found);
    start->has_table = run_and_read(&start->found, start->bench, start->job);
    return start->has_table;
}

void jobs_add_rows(struct bench *bench, const struct ranks_job *job)
{
    int starts = bench_starts(bench), done = 0;
    struct csv_table *found = memory_new((size_t)starts, sizeof *found);
    bool is_disturbed[BENCH_STARTS_MOST];
    const struct guard guard = { .root = bench->options.root, .ranks = job->ranks };
    struct job_start start = { .bench = bench, .job = job };
    for (; done < starts; done++) {
        start.has_table = false;
        is_disturbed[done] = guard_run(&guard, start_job, &start);
        if (!start.has_table)
            break;
        found[done] = start.found;
    }
    if (done < starts)
        printf("not here, for the reason above\n");
    else
        add_rows(bench, found, is_disturbed, starts);
    while (done-- > 0)
        csv_free(&found[done]);
    free(found);
}
