#include "frame/placement.h"

#include "base/die.h"
#include "base/memory.h"
#include "device/device.h"
#include "launch/job.h"
#include "options/algorithm.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *backend, *device;
    const char *folder; /* folder of its programs, in build/lib */
} modes[] = {
    [PLACEMENT_CORES] = { "mpi", "cpu", NULL },
    [PLACEMENT_STAGED] = { "mpi", "cuda", "cuda" },
    [PLACEMENT_NCCL] = { "nccl", "cuda", "nccl" },
};

const char *placement_backend(enum placement mode)
{
    return modes[mode].backend;
}

const char *placement_device(enum placement mode)
{
    return modes[mode].device;
}

char *placement_program(enum placement mode, const char *lab)
{
    return gpu_programs_program(modes[mode].folder, lab);
}

/* --- the decision ----------------------------------------------------------------------------------------------- */

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* Choose where there is no GPU. */
static enum placement choose_cores(const struct run *run, const struct gpu_programs *gpus)
{
    const char *asked = run_asks_for_gpus(run);
    if (asked)
        die(STATUS_CANNOT, "%s: %s; leave it out to train on cores", asked, gpus->lacks);
    if (run->precision != PRECISION_FP32)
        die(STATUS_USAGE, "--precision %s applies to GPUs only; leave it out: %s", run_precision(run), gpus->lacks);
    return PLACEMENT_CORES;
}

/* Choose where there is at least one GPU. */
static enum placement choose_gpus(const struct run *run, int ranks, int gpus)
{
    bool must_meet_by_nccl = run->backend == BACKEND_NCCL || run->share_gpu;
    if (must_meet_by_nccl && !run->share_gpu && gpus < ranks)
        die(STATUS_CANNOT,
            "--backend nccl: %d ranks need %d GPUs, but there %s %d; --backend mpi --device cuda stages all-reduces "
            "through the host, --share-gpu shows correctness only",
            ranks, ranks, gpus == 1 ? "is" : "are", gpus);
    bool can_meet_by_nccl = run->backend != BACKEND_MPI && (must_meet_by_nccl || gpus >= ranks);
    if (can_meet_by_nccl && run->algorithm != ALGORITHM_RING)
        die(STATUS_USAGE, "--algorithm applies to MPI, and NCCL chooses its own; leave it out, or add --backend mpi");
    return can_meet_by_nccl ? PLACEMENT_NCCL : PLACEMENT_STAGED;
}

enum placement placement_choose(const struct run *run, int ranks, struct gpu_programs *gpus)
{
    *gpus = (struct gpu_programs){ 0 };
    bool is_for_cores = run->device == DEVICE_CPU || (run->backend == BACKEND_MPI && !run_asks_for_gpus(run));
    if (is_for_cores || run_simulates(run))
        return PLACEMENT_CORES;
    gpu_programs_find(gpus);
    if (gpus->count == 0)
        return choose_cores(run, gpus);
    return choose_gpus(run, ranks, gpus->count);
}

void placement_print(enum placement mode, const struct run *run, const struct gpu_programs *gpus)
{
    if (mode == PLACEMENT_CORES)
        return;
    const char *how = run->ranks == 1            ? "one rank does not communicate"
                      : mode == PLACEMENT_STAGED ? "ranks communicate by MPI, staged through the host"
                      : run->ranks > gpus->count ? "ranks share GPUs under NCCL, which shows correctness only"
                                                 : "each rank has its own GPU and communicates by NCCL";
    printf("%d GPU%s here (%s%s) for %d rank%s: %s.%s\n", gpus->count, plural(gpus->count),
           gpus->count > 1 ? "the first: " : "", gpus->first, run->ranks, plural(run->ranks), how,
           run_asks_for_gpus(run) ? "" : " Use --device cpu to train on cores instead.");
    fflush(stdout);
}

/* --- under another launcher ------------------------------------------------------------------------------------- */

static bool is_this_program(const char *program)
{
    struct stat own, other;
    char *self = job_program(); /* not stat("/proc/self/exe"), which is QEMU's own program under its user emulation */
    bool is =
        stat(self, &own) == 0 && stat(program, &other) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
    free(self);
    return is;
}

void placement_exec(const struct run *run, const char *lab, char *const *arguments)
{
    if (strcmp(device_name(), "cpu") != 0 || job_platform())
        return;
    run_refuse(run);
    if (!run_asks_for_gpus(run)) {
        if (run->precision != PRECISION_FP32)
            die(STATUS_USAGE, "--precision %s applies to GPUs only; under mpirun or srun add --device cuda",
                run_precision(run));
        return;
    }
    signal(SIGCHLD, SIG_DFL); /* if inherited as ignored, exit statuses of children would be lost */
    struct gpu_programs gpus;
    enum placement mode = placement_choose(run, job_ranks() ? job_ranks() : run->ranks, &gpus);
    gpu_programs_close(&gpus);
    char *program = placement_program(mode, lab);
    if (is_this_program(program))
        die(STATUS_CANNOT, "%s is the program for cores; build again", program);
    fflush(NULL);
    execv(program, arguments);
    die(STATUS_CANNOT, "%s cannot be started: %s; build again", program, strerror(errno));
}

/* --- names ------------------------------------------------------------------------------------------------------ */

const char *placement_label(const char *backend, const char *device, int ranks, int gpus)
{
    if (strcmp(device, "cuda") != 0)
        return device;
    if (strcmp(backend, "nccl") != 0)
        return "cuda (mpi-staged: communication on the CPU)";
    if (ranks == 1)
        return "cuda (n=1: no communication)";
    return ranks > gpus ? "cuda (shared GPU: correctness only)" : "cuda";
}

char *placement_key(const char *platform, const char *label, const struct run *run)
{
    bool has_gpus = strncmp(label, "cuda", strlen("cuda")) == 0;
    return has_gpus ? memory_text("%s" JOB_ON_GPUS "%s, %s", platform, label, run_precision(run))
                    : memory_text("%s", platform);
}
