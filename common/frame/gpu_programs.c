#include "frame/gpu_programs.h"

#include "base/die.h"
#include "base/memory.h"
#include "launch/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 512 };

static char *path_of(const char *folder, const char *name)
{
    const char *override = getenv(JOB_GPU_PROGRAMS);
    return override && *override ? memory_text("%s/%s/%s", override, folder, name) : job_library(folder, name);
}

char *gpu_programs_program(const char *folder, const char *lab)
{
    char *program = path_of(folder, lab);
    if (access(program, X_OK) != 0)
        die(STATUS_CANNOT, "%s cannot be started: %s; build again", program, strerror(errno));
    return program;
}

/* Read describe_gpus: a line "index;name;bus id" per GPU, or a last line with the reason why there is none. */
static void read_gpus(struct gpu_programs *gpus, const char *program)
{
    char line[LINE], last[LINE] = "";
    FILE *lines = job_listen(program, "", "");
    while (fgets(line, sizeof line, lines)) {
        int index = 0;
        char name[GPUS_NAME], bus[LINE];
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%d;%127[^;];%511s", &index, name, bus) != 3)
            memcpy(last, line, sizeof last);
        else if (gpus->count++ == 0)
            memcpy(gpus->first, name, sizeof name);
    }
    if (pclose(lines) == 0 && gpus->count > 0)
        return;
    gpus->count = 0;
    gpus->lacks = memory_text("%s", *last ? last : "describe_gpus of this build ended without a message; build again");
}

void gpu_programs_find(struct gpu_programs *gpus)
{
    *gpus = (struct gpu_programs){ 0 };
    char *program = path_of("nccl", "describe_gpus");
    if (access(program, X_OK) == 0)
        read_gpus(gpus, program);
    else
        gpus->lacks =
            memory_text("this build was made without CUDA (install NVIDIA's CUDA Toolkit and NCCL, then run cmake "
                        "and build again)");
    free(program);
}

void gpu_programs_close(struct gpu_programs *gpus)
{
    free(gpus->lacks);
    *gpus = (struct gpu_programs){ 0 };
}
