/* placement: decides what real ranks train on and how they all-reduce, once, before anything starts; and names it in results. */
#ifndef LOCKSTEP_PLACEMENT_H
#define LOCKSTEP_PLACEMENT_H

#include "frame/gpu_programs.h"
#include "options/run.h"

enum placement {
    PLACEMENT_CORES,  /* each rank on a core, all-reduces by MPI */
    PLACEMENT_STAGED, /* on GPUs, shared if there are more ranks; all-reduces by MPI, through the host */
    PLACEMENT_NCCL,   /* on GPUs, shared only with --share-gpu; all-reduces by NCCL */
};

/* Choose for `ranks`: run->ranks unless another launcher has started them. Looks for GPUs only if the options allow their use;
 * release `gpus` with gpu_programs_close(). Ends the program with STATUS_CANNOT if this machine lacks what an option asks for,
 * with STATUS_USAGE if an option makes no sense without a GPU. */
enum placement placement_choose(const struct run *run, int ranks, struct gpu_programs *gpus);

/* Print which GPUs are used, and how; nothing for MODE_CORES. */
void placement_print(enum placement mode, const struct run *run, const struct gpu_programs *gpus);

/* Return the program of a placement other than MODE_CORES. Free it. */
char *placement_program(enum placement mode, const char *lab);

/* Replace this process by the program for GPUs if an option asks for GPUs. For a rank that another launcher started as program
 * for cores, before MPI starts. Returns if no option asks for GPUs, and always in a program for GPUs. */
void placement_exec(const struct run *run, const char *lab, char *const *arguments);

/* Return the `device` column of a result row, without commas: "cuda (shared GPU: correctness only)". `backend` and `device` are
 * the names that collective.h and device.h give; `gpus` are those of this host; `ranks` those of the launch, or 1 for a case of
 * one rank. */
const char *placement_label(const char *backend, const char *device, int ranks, int gpus);

/* Return the backend and the device of a placement, for placement_label(). */
const char *placement_backend(enum placement mode);
const char *placement_device(enum placement mode);

/* Return the key of this placement's machine card: `platform` ("here") unless `label` names GPUs. Free it. */
char *placement_key(const char *platform, const char *label, const struct run *run);

#endif
