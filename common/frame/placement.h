/* mode: what real ranks train on and where they meet, decided once before anything is started, and what that is called. */
#ifndef LOCKSTEP_MODE_H
#define LOCKSTEP_MODE_H

#include "frame/gpu_programs.h"
#include "options/run.h"

enum placement {
    MODE_CORES,  /* each rank on a core, all-reduces by MPI */
    MODE_STAGED, /* on GPUs, which ranks share where they are more; all-reduces by MPI, through the host */
    MODE_NCCL,   /* on GPUs, all-reduces by NCCL; shared ones only where that was asked for */
};

/* Decides for `ranks`, which is run->ranks where nobody else has started them. GPUs are looked for, and found, only where
 * they may be taken: `gpus` is for gpu_programs_close(). Ends the program with STATUS_CANNOT where what was asked for cannot be had
 * here, with STATUS_USAGE where it makes no sense without a GPU. */
enum placement placement_choose(const struct run *run, int ranks, struct gpu_programs *gpus);

/* Tells people of GPUs that are taken, and why so. */
void placement_print(enum placement mode, const struct run *run, const struct gpu_programs *gpus);

/* The program of a mode that is not MODE_CORES. Free it. */
char *placement_program(enum placement mode, const char *lab);

/* In a rank of the program for cores that another launcher started: becomes, before MPI starts, the program for GPUs where
 * those were asked for in so many words. It returns where they were not, and in a program for GPUs. */
void placement_exec(const struct run *run, const char *lab, char *const *arguments);

/* What a row of a result says that it was trained on, without commas: "cuda (shared GPU: correctness only)". `backend` and
 * `device` as world and device name themselves, `gpus` those of this host, `ranks` of the launch, or 1 for a case of one
 * rank. */
const char *placement_label(const char *backend, const char *device, int ranks, int gpus);

/* The backend and device of a mode, for placement_label(). */
const char *placement_backend(enum placement mode);
const char *placement_device(enum placement mode);

/* What tells a machine card of this mode from others: `platform` ("here") where `label` is not of GPUs. Free it. */
char *placement_key(const char *platform, const char *label, const struct run *run);

#endif
