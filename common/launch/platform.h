/* platform: a machine that is simulated. A SimGrid file holds its hosts and links; this reads what the file says. */
#ifndef LOCKSTEP_PLATFORM_H
#define LOCKSTEP_PLATFORM_H

#include "options/work.h"

#include <stdbool.h>

/* Simulated processes that stand beside each rank on its host: its communication engine and its helpers. */
enum { PLATFORM_ENGINES = 1, PLATFORM_HELPERS = 2, PLATFORM_SIDE_PROCESSES = PLATFORM_ENGINES + PLATFORM_HELPERS };

struct platform {
    char *name;                /* the file's, without folder and ending */
    char *file;                /* path */
    char *key;                 /* name and a hash of what the file says: two machines of one name differ in it */
    int ranks, slots;          /* ranks that are simulated, ranks that the machine takes */
    char **host;               /* (slots) where each rank sits */
    int cores;                 /* of the hosts in use */
    double speed;              /* flop/s of the fastest host: what a second of this machine's work is charged as */
    bool is_modelled;          /* the file says what the work costs; nothing is computed */
    bool is_free[WORK_MODELS]; /* … but a host says of no pass of this model what it costs */
};

/* What is missing for simulating `lab` ("01_straggler") here, with its cure; NULL when all is there. */
const char *platform_lacks(const char *lab);

/* Reads through SimGrid itself a file, or platforms/WORD.xml of this project where `word` neither looks like a file nor is
 * one. Ends the program with STATUS_USAGE when there is none, when SimGrid cannot read it, or when it takes fewer than
 * `ranks` ranks. */
void platform_open(struct platform *platform, const char *word, int ranks);
void platform_close(struct platform *platform);

/* What the supervisor hands to smpirun: the lab's program for this platform. Free it. */
char *platform_program(const struct platform *platform, const char *lab);

#endif
