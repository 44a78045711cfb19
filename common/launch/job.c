#include "launch/job.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { UNKNOWN_COLUMNS = 124 };

bool job_is_rank(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK") || job_platform();
}

bool job_is_watched(void)
{
    return getenv(JOB_RECORDER);
}

void job_arguments(int *argc, char ***argv)
{
    const char *words = getenv(JOB_ARGUMENTS), *name = getenv(JOB_NAME);
    if (name)
        program_invocation_short_name = (char *)name;
    if (!words || !*words)
        return;
    size_t count = 1;
    for (const char *c = words; *c; c++)
        count += *c == JOB_WORD_END;
    static char *
        *list; /* never freed, like the argv that it replaces; static, so that LeakSanitizer can see it is in use */
    list = memory_new(count + 1, sizeof *list);
    char *rest = memory_text("%s", words);
    list[0] = (*argv)[0];
    for (size_t i = 1; i < count; i++) {
        list[i] = rest;
        rest = strchr(rest, JOB_WORD_END);
        *rest++ = '\0';
    }
    *argc = (int)count;
    *argv = list;
}

char *job_program(void)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        die(STATUS_CANNOT, "cannot find this program's own path: %s; is /proc mounted?", strerror(errno));
    return memory_text("%.*s", (int)length, self);
}

char *job_library(const char *folder, const char *name)
{
    char *self = job_program();
    for (int up = 0; up < 2; up++) { /* a program directly under / has no second folder above it */
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
    }
    char *path = memory_text("%s/lib/%s/%s", self, folder, name);
    free(self);
    return path;
}

FILE *job_listen(const char *program, const char *argument, const char *options)
{
    static const char *const by_name[] = { "LOCKSTEP_DESCRIBE", "LOCKSTEP_DESCRIBED" };
    setenv(by_name[0], program, 1); /* a variable, so that the shell does not parse a path's characters */
    setenv(by_name[1], argument, 1);
    char *command = memory_text("exec \"$%s\" \"$%s\" %s 2>&1", by_name[0], by_name[1], options);
    FILE *lines = popen(command, "r");
    free(command);
    unsetenv(by_name[0]);
    unsetenv(by_name[1]);
    if (!lines)
        die(STATUS_WRONG, "cannot start a process: %s", strerror(errno));
    return lines;
}

int job_ranks(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return 0;
}

bool job_is_on_one_host(void)
{
    const char *ranks = getenv("OMPI_COMM_WORLD_SIZE"), *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const char *nodes = getenv("SLURM_STEP_NUM_NODES");
    return job_is_watched() || (ranks && here && atoi(ranks) == atoi(here)) || (!ranks && nodes && atoi(nodes) == 1);
}

void job_refuse_strangers(void)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    if (tasks && atoi(tasks) > 1)
        die(STATUS_USAGE, "srun started %s tasks that do not see each other; use srun --mpi=pmix", tasks);
}

int job_cores(void)
{
    const char *cores = getenv(JOB_CORES);
    return cores ? atoi(cores) : 0;
}

int job_helpers(void)
{
    const char *helpers = getenv(JOB_HELPERS);
    return helpers ? atoi(helpers) : PLATFORM_HELPERS;
}

const char *job_platform(void)
{
    return getenv(JOB_PLATFORM);
}

const char *job_platform_key(void)
{
    const char *key = getenv(JOB_PLATFORM_KEY);
    return job_platform() && key ? key : "here";
}

struct terminal job_terminal(void)
{
    struct terminal terminal = { .columns = UNKNOWN_COLUMNS };
    const char *given = getenv(JOB_TERMINAL);
    int live = 0, color = 0;
    if (given && sscanf(given, "%d %d %d", &terminal.columns, &live, &color) == 3) {
        terminal.is_live = live;
        terminal.has_color = color;
        return terminal;
    }
    struct winsize size = { 0 };
    const char *columns = getenv("COLUMNS");
    const char *no_color = getenv("NO_COLOR");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        terminal.columns = size.ws_col;
    else if (columns && atoi(columns) > 0)
        terminal.columns = atoi(columns);
    terminal.is_live = isatty(STDERR_FILENO);
    /* Another launcher may give its ranks a pseudo-terminal and write their output into a file. */
    terminal.has_color = isatty(STDOUT_FILENO) && job_ranks() == 0 && !(no_color && *no_color);
    return terminal;
}
