#include "frame/supervise.h"

#include "base/cores.h"
#include "base/die.h"
#include "base/folders.h"
#include "base/memory.h"
#include "card/dedicated_cores.h"
#include "device/device.h"
#include "frame/dry_run.h"
#include "frame/quiz.h"
#include "frame/supervise_private.h"
#include "launch/blas_kernel.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- running ---------------------------------------------------------------------------------------------------- */

/* True if the user chose the number of ranks. */
static bool names_ranks(const struct request *request)
{
    int given = 0;
    while (request->arguments[given])
        given++;
    return options_name(given, request->arguments, "--ranks");
}

/* Return the number of real ranks that run after simulated ones: as many as there are cores; --ranks if it was typed or there is one core,
 * although they may share cores then. */
static int real_ranks(const struct request *request)
{
    return names_ranks(request) || request->cores == 1 ? request->run->ranks : request->cores;
}

/* Run the ranks once. Ask for the guess before if a user can answer; play the quiz after a --blind run. */
static int run_once(const struct request *request)
{
    char *guess = request_guess(request);
    int status = request_start(request, guess);
    free(guess);
    if (status == STATUS_RIGHT && request->run->blind)
        quiz_play(request->spec, request->base, request->platform ? request->platform->name : "here",
                  request->arguments);
    return status;
}

/* Return the folder of the card of two real ranks, the same for every --membus. Where two ranks are all that real runs have, it is theirs:
 * each finds what the other measured. Free it. */
static char *folder_of_pair(const struct request *request)
{
    if (real_ranks(request) == 2)
        return run_folder(request->run, "here");
    char *cores = dedicated_cores_name(0), *pair_folder = memory_text("%s/two-real-ranks", cores);
    char *folder = run_folder(request->run, pair_folder);
    free(pair_folder);
    free(cores);
    return folder;
}

/* Write the platform file of dedicated cores among the results, unless there is one that serves. Return its path, to be freed. */
static char *write_dedicated(const struct request *request)
{
    const struct run *run = request->run;
    const bool has_messages = run->ranks > 1;
    struct dedicated_cores cores = { run->ranks, run->membus, has_messages ? request_pair_bytes(request) : 0, NULL };
    char *name = dedicated_cores_name(run->membus);
    char *folder = run_folder(run, name), *file = memory_text("%s.xml", name);
    char *path = dedicated_cores_find(folder, file, &cores);
    if (!path) {
        struct alpha_beta pair;
        if (has_messages) {
            char *folder_of_card = folder_of_pair(request);
            pair = request_pair(request, folder_of_card, cores.most_bytes);
            free(folder_of_card);
            cores.pair = &pair;
        }
        path = dedicated_cores_write(folder, file, &cores);
    }
    free(file);
    free(folder);
    free(name);
    return path;
}

/* Run the lab on simulated ranks: on the --platform machine, or on dedicated cores. */
static int simulate(struct request request)
{
    if (request.platform)
        return run_once(&request);
    struct platform platform;
    char *dedicated = write_dedicated(&request);
    platform_open(&platform, dedicated, request.run->ranks, STATUS_USAGE);
    request.platform = &platform;
    int status = run_once(&request);
    platform_close(&platform);
    free(dedicated);
    return status;
}

/* Run more ranks than cores: first simulated with a core each, then real ones. --blind ends with the first. */
static int run_twice(const struct request *request)
{
    const int ranks = real_ranks(request), cores = request->cores, status = simulate(*request);
    if (status != STATUS_RIGHT || request->run->blind)
        return status;
    printf("\n--- Now real ranks: %d of them on %d core%s. ---\n", ranks, cores, cores == 1 ? "" : "s");
    if (ranks == request->run->ranks)
        return request_start(request, NULL);
    struct run run = *request->run;
    run.ranks = ranks;
    struct request real = *request;
    real.run = &run;
    char *option = memory_text("--ranks=%d", ranks);
    const int ended = request_start(&real, option);
    free(option);
    return ended;
}

static int run_there(const struct request *request)
{
    if (request->lacks)
        warn("%d ranks on %d cores, and dedicated cores cannot be simulated: %s", request->run->ranks, request->cores,
             request->lacks);
    return request->place == SIMULATED ? simulate(*request)
           : request->place == BOTH    ? run_twice(request)
                                       : run_once(request);
}

/* --- deciding and refusing -------------------------------------------------------------------------------------- */

/* Choose where ranks on cores run. End the program if they cannot run there. */
static void choose_place(struct request *request)
{
    const struct run *run = request->run;
    bool must_simulate = run_simulates(run);
    bool is_crowded = !must_simulate && run->backend == BACKEND_AUTO && run->ranks > request->cores &&
                      !lab_spec_has_other_job(request->spec, request->base); /* which measures nothing */
    const char *lacks = must_simulate || is_crowded ? platform_lacks(request->spec->lab) : NULL;
    if (must_simulate && lacks)
        die(STATUS_CANNOT, "cannot simulate ranks: %s", lacks);
    request->place = must_simulate ? SIMULATED : is_crowded && !lacks ? BOTH : HERE;
    request->lacks = is_crowded ? lacks : NULL;
}

/* Refuse a platform named like dedicated cores. Its results would replace theirs and be judged as theirs. */
static void refuse_name(const struct platform *platform)
{
    char *ours = dedicated_cores_name(0);
    if (strncmp(platform->name, ours, strlen(ours)) == 0)
        die(STATUS_USAGE, "--platform %.200s: among the results %s are this machine's; give the file another name",
            platform->file, ours);
    free(ours);
}

/* Refuse a platform file without costs for this model. Steps that take no time would look like a result. */
static void refuse_free_work(const struct platform *platform, enum work_model model)
{
    if (platform->is_free[model])
        die(STATUS_USAGE,
            "--platform %.200s does not say what work of this lab's %s costs; "
            "give it forward_per_sample_s and others, or %s_forward_per_sample_s (common/options/work.h lists them)",
            platform->file, work_models[model], work_models[model]);
}

static struct dry_run dry_run_of(const struct request *request, struct cases *cases,
                                 const struct option_row *const *tables)
{
    const bool is_both = request->place == BOTH && !request->run->blind;
    return (struct dry_run){ .spec = request->spec,
                             .base = request->base,
                             .tables = tables,
                             .cases = cases,
                             .cores = request->cores,
                             .is_simulated = request->place != HERE,
                             .real_ranks = is_both                  ? real_ranks(request)
                                           : request->place == HERE ? request->run->ranks
                                                                    : 0,
                             .platform = request->platform,
                             .on_gpus = request->mode == PLACEMENT_CORES ? NULL : placement_device(request->mode) };
}

void supervise(const struct lab_spec *spec, const struct options *base, struct cases *cases,
               const struct option_row *const *tables, char *const *arguments)
{
    if (strcmp(device_name(), "cuda") == 0)
        die(STATUS_USAGE, "a program for GPUs is started by the one for cores; start build/bin/%s", spec->lab);
    const struct run *run = (const struct run *)base;
    signal(SIGCHLD, SIG_DFL); /* if inherited as ignored, exit statuses of children would be lost */
    struct request request = { .spec = spec, .base = base, .run = run, .arguments = arguments, .cores = cores_here() };
    struct gpu_programs gpus;
    request.mode = placement_choose(run, run->ranks, &gpus);
    request.gpus = gpus.count;
    if (request.mode == PLACEMENT_CORES)
        choose_place(&request);
    struct platform named;
    if (run->platform) {
        platform_open(&named, run->platform, run->ranks, names_ranks(&request) ? STATUS_USAGE : STATUS_CANNOT);
        refuse_name(&named);
        refuse_free_work(&named, workload_costs(workload_of(base)));
        request.platform = &named;
    }
    const struct dry_run dry_run = dry_run_of(&request, cases, tables);
    dry_run_refuse_memory(&dry_run, arguments);
    if (!lab_spec_has_other_job(spec, base))
        file_refuse_out(run->out, run_make_folder(run));
    if (run->dry_run) {
        dry_run_tell(stdout, &dry_run);
        exit(STATUS_RIGHT);
    }
    if (request.mode == PLACEMENT_CORES && !(request.platform && request.platform->is_modelled))
        blas_kernel_choose(arguments);
    placement_print(request.mode, run, &gpus);
    gpu_programs_close(&gpus);
    exit(run_there(&request));
}
