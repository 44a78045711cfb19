/* Start the job of a request. */
#include "base/memory.h"
#include "frame/supervise_private.h"
#include "frame/timeouts.h"
#include "launch/job.h"
#include "launch/launch.h"

#include <stdlib.h>

/* Return the program that every rank runs. Free it. */
static char *program_of(const struct request *request)
{
    if (request->platform)
        return platform_program(request->platform, request->spec->lab);
    return request->mode == PLACEMENT_CORES ? job_program() : placement_program(request->mode, request->spec->lab);
}

int request_start(const struct request *request, const char *extra)
{
    int given = 0, count = 0;
    while (request->arguments[given])
        given++;
    const char **words = memory_new((size_t)given + 2, sizeof *words);
    for (int i = 1; i < given; i++)
        words[count++] = request->arguments[i];
    words[count] = extra;
    char *program = program_of(request);
    int status = launch_ranks(&(struct launch){ .ranks = request->run->ranks,
                                                .cores = request->cores,
                                                .timeout = timeout_to_start(request->run),
                                                .program = program,
                                                .arguments = words,
                                                .platform = request->platform,
                                                .helpers = request->spec->helpers,
                                                .is_on_gpus = request->mode != PLACEMENT_CORES,
                                                .is_silent = request->is_silent });
    free(program);
    free(words);
    return status;
}
