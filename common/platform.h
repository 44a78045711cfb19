/* platform: a machine that is simulated. A SimGrid file holds its hosts and links; this reads what the file says, and
 * writes the file of "dedicated cores": as many copies of this machine's core as there are ranks. */
#ifndef LOCKSTEP_PLATFORM_H
#define LOCKSTEP_PLATFORM_H

#include "link.h"

#include <stdbool.h>

/* Simulated processes that stand beside each rank on its host: its communication engine and its helper. */
enum { PLATFORM_COMPANIONS = 2 };

struct platform {
    char *name;       /* the file's, without folder and ending */
    char *file;       /* path */
    char *key;        /* name and a hash of what the file says: two machines of one name differ in it */
    int ranks, slots; /* ranks that are simulated, ranks that the machine takes */
    char **host;      /* (slots) where each rank sits */
    int cores;        /* of the hosts in use */
    double speed;     /* flop/s of the fastest host: what a second of this machine's work is charged as */
    bool is_modelled; /* the file says what the work costs; nothing is computed */
};

/* What is missing for simulating `lab` ("01_straggler") here, with its cure; NULL when all is there. */
const char *platform_lacks(const char *lab);

/* Reads a file through SimGrid itself. Ends the program with STATUS_USAGE when SimGrid cannot, or when it takes fewer
 * than `ranks` ranks. */
void platform_open(struct platform *platform, const char *file, int ranks);
void platform_close(struct platform *platform);

/* Writes dedicated cores into folder/name and returns its path. Hosts: `ranks` single cores, or one host with `membus` cores
 * where `membus` is not 0: there the ranks share what `membus` cores take from memory. Links: a message costs what it
 * must for the ring all-reduce of two ranks to take `pair`; NULL where one rank sends none. */
char *platform_write_dedicated(const char *folder, const char *name, int ranks, int membus, const struct link *pair);

/* What the supervisor hands to smpirun: the lab's program for this platform. Free it. */
char *platform_program(const struct platform *platform, const char *lab);

#endif
