/* flight: `blame` on dumps of PyTorch's flight recorder, instead of times: which rank is missing in which collective.
 *
 *     blame dump_rank0.json dump_rank1.json …
 *
 * Exit status: 0 no rank is named; 10 a rank is; 1 the dumps contradict each other; 2 a file is no dump. */
#ifndef LOCKSTEP_FLIGHT_H
#define LOCKSTEP_FLIGHT_H

#include <stdbool.h>

/* True if the words begin with --flight, or with a file that is a dump. */
bool flight_is_meant(int argc, char **argv);

/* Read the dumps that the words name, and print what they show. Return the exit status. */
int flight_main(int argc, char **argv);

#endif
