/* preview: what a run would be, before anything is started: refused where it cannot fit, or told (--dry-run). */
#ifndef LOCKSTEP_PREVIEW_H
#define LOCKSTEP_PREVIEW_H

#include "cases.h"
#include "platform.h"

#include <stdbool.h>

struct preview {
    const struct story *story;
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
void preview_refuse_memory(const struct preview *preview, char *const *arguments);

/* The run in a few lines: what to type for it, cases, where ranks run, parameters, memory, folder. */
void preview_tell(FILE *out, const struct preview *preview);

#endif
