/* dry_run: checks a run before anything starts. It refuses a run that does not fit memory, and prints one for --dry-run. */
#ifndef LOCKSTEP_DRY_RUN_H
#define LOCKSTEP_DRY_RUN_H

#include "frame/cases.h"
#include "launch/platform.h"

#include <stdbool.h>

struct dry_run {
    const struct lab_spec *spec;
    const struct options *base;
    const struct option_row *const *tables; /* rows of all options */
    struct cases *cases;                    /* chosen, their settings not yet made */
    int cores;                              /* of this machine */
    bool is_simulated;                      /* ranks are simulated */
    int real_ranks;                  /* real ranks that run, after the simulated ones if there are both; 0: none */
    const struct platform *platform; /* --platform; NULL: none, so simulated ranks have dedicated cores */
    const char *on_gpus;             /* device that real ranks train on ("cuda"); NULL: cores */
};

/* End the program with STATUS_USAGE if all ranks together need more memory than this machine has free. Does not check GPU
 * memory. */
void dry_run_refuse_memory(const struct dry_run *dry_run, char *const *arguments);

/* Print the run in a few lines: command, cases, where ranks run, parameters, memory, folder. */
void dry_run_tell(FILE *out, const struct dry_run *dry_run);

#endif
