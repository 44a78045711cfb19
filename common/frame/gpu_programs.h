/* gpus: those of this machine that ranks may train on, and the programs that do. A program for cores loads nothing of CUDA,
 * so build/lib/nccl/describe_gpus looks in its place. */
#ifndef LOCKSTEP_GPUS_H
#define LOCKSTEP_GPUS_H

enum { GPUS_NAME = 128 };

struct gpu_programs {
    int count;
    char first[GPUS_NAME]; /* name of the first */
    char *lacks;           /* why there is none; NULL where there are some */
};

void gpu_programs_find(struct gpu_programs *gpus);
void gpu_programs_close(struct gpu_programs *gpus);

/* The path of a lab's program that trains on GPUs: its ranks meet by NCCL ("nccl"), or by MPI through the host ("cuda").
 * Ends the program where there is none. Free it. */
char *gpu_programs_program(const char *folder, const char *lab);

#endif
