/* preview: what a run would be, before anything is started: refused where it cannot fit, or told (--dry-run). */
#ifndef LOCKSTEP_PREVIEW_H
#define LOCKSTEP_PREVIEW_H

#include "frame/cases.h"
#include "launch/platform.h"

#include <stdbool.h>

struct dry_run {
    const struct lab_spec *spec;
    const struct options *base;
    const struct option_row *const *tables; /* of all options */
    struct cases *cases;                    /* as chosen, not settled */
    int cores;                              /* of this machine */
    bool is_simulated, is_real;             /* where ranks run: either, or both, one after the other */
    const struct platform *platform;        /* the machine that was named; NULL: dedicated cores, where simulated */
    const char *on_gpus;                    /* of real ranks, what they train on ("cuda"); NULL on cores */
};

/* Ends the program with STATUS_USAGE when all ranks together need more memory than this machine has left. GPUs' own memory
 * is not looked at. */
void dry_run_refuse_memory(const struct dry_run *preview, char *const *arguments);

/* The run in a few lines: what to type for it, cases, where ranks run, parameters, memory, folder. */
void dry_run_tell(FILE *out, const struct dry_run *preview);

#endif
