/* platform: reads the SimGrid file of a simulated machine, with its hosts and links. */
#ifndef LOCKSTEP_PLATFORM_H
#define LOCKSTEP_PLATFORM_H

#include "base/die.h"
#include "options/work.h"

#include <stdbool.h>

/* Side processes of each simulated rank, on its host: a communication engine, and async helpers, of which a program may ask for more. */
enum { PLATFORM_ENGINES = 1, PLATFORM_HELPERS = 2, PLATFORM_HELPERS_MOST = 64 };

struct platform {
    char *name;                /* file name without folder and extension */
    char *file;                /* path */
    char *key;                 /* name and hash of the file; differs for two machines with the same name */
    int ranks, slots;          /* simulated ranks; ranks that the machine takes */
    char **host;               /* (slots) host of each rank */
    int cores;                 /* of the hosts in use */
    double speed;              /* flop/s of the fastest host; a second of real work counts as `speed` flops */
    bool is_modelled;          /* the file gives the costs of work; nothing is computed */
    bool is_free[WORK_MODELS]; /* modelled, but some host gives no costs for this model */
};

/* Return a text: what is missing to simulate `lab` ("01_straggler") here, and how to fix that; NULL if nothing is missing. */
const char *platform_lacks(const char *lab);

/* Read the platform file `word` through SimGrid. If `word` neither looks like a file nor is one, read this project's
 * platforms/WORD.xml. End the program with STATUS_USAGE if the file is missing or SimGrid cannot read it; with `too_few` if the machine
 * takes fewer than `ranks` ranks: STATUS_USAGE if the user asked for them, STATUS_CANNOT if the program did. */
void platform_open(struct platform *platform, const char *word, int ranks, enum status too_few);
void platform_close(struct platform *platform);

/* Return the path of the lab's program for this platform, for smpirun. Free the path. */
char *platform_program(const struct platform *platform, const char *lab);

#endif
