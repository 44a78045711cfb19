/* simulated: starts the simulated ranks of a test program that is its own rank program. */
#ifndef LOCKSTEP_TEST_SIMULATED_H
#define LOCKSTEP_TEST_SIMULATED_H

#include "base/die.h"
#include "launch/launch.h"
#include "launch/platform.h"

#include <stdlib.h>

/* Run the ranks of `launch` (its program and platform are set here) on a platform file; return their status. End the program with
 * STATUS_CANNOT without SimGrid. */
static inline int simulated_start(const char *test, const char *platform_file, struct launch launch)
{
    struct platform platform;
    const char *lacks = platform_lacks(test);
    if (lacks)
        die(STATUS_CANNOT, "%s", lacks);
    platform_open(&platform, platform_file, launch.ranks, STATUS_USAGE);
    char *program = platform_program(&platform, test);
    launch.program = program;
    launch.platform = &platform;
    const int status = launch_ranks(&launch);
    free(program);
    platform_close(&platform);
    return status;
}

#endif
