/* gpu_programs: finds this machine's GPUs and the lab programs that train on them. A program for cores loads no CUDA, so it runs
 * build/lib/nccl/describe_gpus to look for GPUs. */
#ifndef LOCKSTEP_GPU_PROGRAMS_H
#define LOCKSTEP_GPU_PROGRAMS_H

enum { GPUS_NAME = 128 };

struct gpu_programs {
    int count;
    char first[GPUS_NAME]; /* name of the first GPU */
    char *lacks;           /* reason why there is no GPU; NULL if there is one */
};

void gpu_programs_find(struct gpu_programs *gpus);
void gpu_programs_close(struct gpu_programs *gpus);

/* Return the path of a lab's program for GPUs: its ranks all-reduce by NCCL (folder "nccl"), or by MPI through the host ("cuda").
 * Ends the program if it cannot be started. Free it. */
char *gpu_programs_program(const char *folder, const char *lab);

#endif
