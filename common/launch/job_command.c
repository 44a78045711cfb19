#include "launch/job_command.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/job.h"
#include "launch/mpirun.h"
#include "options/algorithm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Number of helpers of a rank: those that the lab asks for, else the platform's. */
static int helpers_of(const struct launch *launch)
{
    return launch->helpers ? launch->helpers : PLATFORM_HELPERS;
}

static void set_environment(const struct launch *launch)
{
    static const char *const settings[][2] = {
        { "OPENBLAS_NUM_THREADS", "1" }, /* OpenBLAS reads this only when loaded */
        { "OMP_NUM_THREADS", "1" },
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setenv(settings[i][0], settings[i][1], 1);
    mpirun_set_environment();
    struct terminal terminal = job_terminal();
    char text[64];
    snprintf(text, sizeof text, "%d %d %d", terminal.columns, terminal.is_live, terminal.has_color);
    setenv(JOB_TERMINAL, text, 1);
    setenv(JOB_NAME, program_invocation_short_name, 1);
    snprintf(text, sizeof text, "%d", launch->platform ? launch->platform->cores : launch->cores);
    setenv(JOB_CORES, text, 1);
    snprintf(text, sizeof text, "%d", helpers_of(launch));
    setenv(JOB_HELPERS, text, 1);
    if (launch->platform) {
        setenv(JOB_PLATFORM, launch->platform->name, 1);
        setenv(JOB_PLATFORM_KEY, launch->platform->key, 1);
    } else {
        unsetenv(JOB_PLATFORM);
    }
}

/* Pass the command line in an environment variable. mpirun would interpret some words as its own options, and smpirun, a shell
 * script, splits words at blanks. Each word has its end mark, also the last. */
static void hand_over_arguments(const char *const *arguments)
{
    const char end[] = { JOB_WORD_END, '\0' };
    char *joined = memory_join(arguments, end), *words = memory_text("%s%s", joined, *arguments ? end : "");
    setenv(JOB_ARGUMENTS, words, 1);
    free(words);
    free(joined);
}

/* Unnamed files are used, because they disappear with this process, even if this process is killed. */
char *job_command_path_of(int descriptor)
{
    return memory_text("/proc/%d/fd/%d", (int)getpid(), descriptor);
}

static void add_word(struct job_command *command, char *word)
{
    if (command->words < COMMAND_WORDS_MOST)
        command->word[command->words++] = word;
}

void job_command_drop(struct job_command *command)
{
    for (int i = 0; i < command->words; i++)
        free(command->word[i]);
    if (command->hosts >= 0)
        close(command->hosts);
    scratch_close(&command->scratch);
}

/* Open a folder for Open MPI's session and for the files behind the ranks' shared memory. Open MPI 4.1.4 took 8.4 MB, mostly for
 * PMIx, and 0.12 MB for each rank. A rank's file has 4.2 MB. Only touched pages take space, but Open MPI requires that all 4.2 MB
 * are free. */
static struct scratch share_scratch(int ranks)
{
    const double session = 13e6, rank = 0.4e6; /* bytes */
    return scratch_open(session + rank * ranks);
}

/* Give each rank that trains on cores its own core if there are enough; otherwise let all ranks run on all cores. */
static struct job_command mpirun_command(const struct launch *launch)
{
    bool has_own_cores = !launch->is_on_gpus && launch->ranks <= launch->cores;
    mpirun_check();
    struct job_command c = { .hosts = -1, .scratch = share_scratch(launch->ranks) };
    add_word(&c, memory_text("%s", mpirun_program));
    add_word(&c, memory_text("-np"));
    add_word(&c, memory_text("%d", launch->ranks));
    for (const char *const *word = mpirun_placing(has_own_cores); *word; word++)
        add_word(&c, memory_text("%s", *word));
    add_word(&c, memory_text("%s", launch->program));
    return c;
}

/* Number of simulated processes: the ranks, then their side processes in the same order. */
static int count_processes(const struct launch *launch)
{
    return launch->ranks * (launch->is_plain ? 1 : 1 + PLATFORM_ENGINES + helpers_of(launch));
}

static int write_hosts(const struct platform *platform, int processes)
{
    int descriptor = memfd_create("lockstep-hosts", MFD_CLOEXEC);
    FILE *out = fdopen(dup(descriptor), "w");
    if (!out)
        die(STATUS_WRONG, "cannot write the list of hosts: %s", strerror(errno));
    for (int i = 0; i < processes; i++)
        fprintf(out, "%s\n", platform->host[i % platform->ranks]);
    fclose(out);
    return descriptor;
}

/* Add the options for the device. A modelled machine computes nothing, so all ranks send from the same memory, and SMPI buffers no
 * message until its receiver comes. With such buffers, 256 ranks with messages of 49 kB for one another took 8 GB. */
static void add_device_words(struct job_command *c, bool is_modelled)
{
    add_word(c, memory_text("--cfg=smpi/send-is-detached-thresh:%d", is_modelled ? 4096 : 65536));
    if (is_modelled) {
        add_word(c, memory_text("--cfg=smpi/simulate-computation:no"));
        add_word(c, memory_text("--cfg=smpi/shared-malloc:local"));
    }
}

/* End the program if $TMPDIR is too full. SMPI copies the program for each process and keeps all copies until the end. */
static void refuse_full_tmp(const struct launch *launch)
{
    const double own = 1e6; /* bytes of the smpirun script's lists */
    struct stat program;
    double copy = stat(launch->program, &program) == 0 ? (double)program.st_size : 0;
    scratch_refuse_full(own + copy * count_processes(launch));
}

/* Return the number of memory mappings that the kernel allows a program; 0 if unknown. */
static int mappings_allowed(void)
{
    int allowed = 0;
    FILE *in = fopen("/proc/sys/vm/max_map_count", "r");
    if (in && fscanf(in, "%d", &allowed) != 1)
        allowed = 0;
    if (in)
        fclose(in);
    return allowed;
}

/* End the program if the simulator could not map the memory of all processes: without this it aborts in the middle of its start. Each
 * has its own copy of the program and a stack: 8.6 mappings with SimGrid 3.32. */
static void refuse_many_mappings(const struct launch *launch)
{
    enum { EACH = 9 };
    const int allowed = mappings_allowed(), processes = count_processes(launch), beside = processes / launch->ranks;
    if (allowed > 0 && processes > allowed / EACH)
        die(STATUS_USAGE,
            "%d simulated ranks, each with %d processes beside it, need some %d memory mappings, and the kernel allows "
            "%d; "
            "start at most %d ranks, or raise the limit: sysctl vm.max_map_count=%d",
            launch->ranks, beside - 1, EACH * processes, allowed, allowed / EACH / beside, 2 * EACH * processes);
}

/* Let malloc keep memory that SMPI frees after each message. New pages for every large message took three quarters of the time to
 * simulate collectives, and a third of a round of lab 03 whose ranks compute. A user's own settings stay. */
static void keep_pages(void)
{
    setenv("MALLOC_MMAP_MAX_", "0", 0);
    setenv("MALLOC_TRIM_THRESHOLD_", "17179869184", 0);
}

/* Fix the settings that a platform file leaves open, so that CSV rows do not change with SimGrid's defaults. */
static struct job_command smpirun_command(const struct launch *launch)
{
    static const char *const fixed[] = {
        "--cfg=smpi/wtime:0", /* reading the clock takes no simulated time */
        "--cfg=smpi/test:0",  /* MPI_Test and MPI_Iprobe take none */
        "--cfg=smpi/iprobe:0",
        "--cfg=smpi/cpu-threshold:1e-6",
        "--cfg=smpi/async-small-thresh:0",
        "--log=root.thres:critical",
        NULL,
    };
    const struct platform *platform = launch->platform;
    refuse_many_mappings(launch); /* before the room in /tmp, of which fewer ranks need less */
    refuse_full_tmp(launch);
    keep_pages();
    struct job_command c = { .hosts = write_hosts(platform, count_processes(launch)), .scratch.lock = -1 };
    add_word(&c, memory_text("smpirun"));
    add_word(&c, memory_text("-np"));
    add_word(&c, memory_text("%d", count_processes(launch)));
    add_word(&c, memory_text("-platform"));
    add_word(&c, memory_text("%s", platform->file));
    add_word(&c, memory_text("-hostfile"));
    add_word(&c, job_command_path_of(c.hosts));
    add_word(&c, memory_text("%s", launch->program));
    add_word(&c, memory_text("--cfg=smpi/host-speed:%.17gf", platform->speed));
    for (const char *const *word = fixed; *word; word++)
        add_word(&c, memory_text("%s", *word));
    add_word(&c, memory_text("--cfg=smpi/allreduce:%s", algorithm_simulated()));
    add_device_words(&c, platform->is_modelled);
    return c;
}

struct job_command job_command_for(const struct launch *launch)
{
    set_environment(launch);
    hand_over_arguments(launch->arguments);
    return launch->platform ? smpirun_command(launch) : mpirun_command(launch);
}
