#include "frame/supervise.h"

#include "base/cores.h"
#include "base/die.h"
#include "base/folders.h"
#include "base/memory.h"
#include "base/number.h"
#include "card/card_file.h"
#include "card/dedicated_cores.h"
#include "device/device.h"
#include "frame/dry_run.h"
#include "frame/placement.h"
#include "frame/quiz.h"
#include "frame/timeouts.h"
#include "launch/blas_kernel.h"
#include "launch/job.h"
#include "launch/launch.h"
#include "launch/platform.h"
#include "report/guess.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* Largest message, in gradients, that the link between simulated cores is measured for; the same in labs 01 to 04. */
    PAIR_TIMES = 11,
};

/* Request of the user, and where the ranks run. */
struct request {
    const struct lab_spec *spec;
    const struct options *base;
    const struct run *run;
    char *const *arguments;    /* of this program */
    int cores;                 /* of this machine */
    enum placement mode;       /* of real ranks */
    int gpus;                  /* of this machine, if the placement uses them */
    struct platform *platform; /* to simulate; NULL: real ranks */
    enum { HERE, SIMULATED, BOTH } place;
    const char *lacks; /* reason why ranks that outnumber the cores cannot be simulated; else NULL */
    bool is_silent;
};

/* Return the option that leaves out the real run after a simulated one; NULL for none. */
static const char *left_out(const struct run *run)
{
    return run->blind ? "--blind" : run->quick ? "--quick" : NULL;
}

/* Return the program that every rank runs. Free it. */
static char *program_of(const struct request *request)
{
    if (request->platform)
        return platform_program(request->platform, request->spec->lab);
    return request->mode == PLACEMENT_CORES ? job_program() : placement_program(request->mode, request->spec->lab);
}

static int start(const struct request *request, const char *extra)
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
                                                .is_on_gpus = request->mode != PLACEMENT_CORES,
                                                .is_silent = request->is_silent });
    free(program);
    free(words);
    return status;
}

/* --- the guess -------------------------------------------------------------------------------------------------- */

static bool may_ask(const struct request *request)
{
    const struct run *run = request->run;
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && run->guesses.count == 0 && !run->card_only && !run->blind &&
           run->ranks > 1 && (run->cases.count == 0 || option_list_has(&run->cases, request->spec->asked));
}

/* Return the card key of real ranks. The ranks compute the same key themselves (lab_card.c). */
static char *key_of_real(const struct request *request)
{
    const char *backend = placement_backend(request->mode), *device = placement_device(request->mode);
    return placement_key("here", placement_label(backend, device, request->run->ranks, request->gpus), request->run);
}

static int cores_of(const struct request *request)
{
    if (request->platform)
        return request->platform->cores;
    return request->mode == PLACEMENT_CORES ? request->cores : request->gpus;
}

static bool read_card(struct card *card, const struct request *request)
{
    const struct platform *p = request->platform;
    char *folder = run_folder(request->run, p ? p->name : "here");
    char *key = p ? memory_text("%s", p->key) : key_of_real(request);
    double largest = lab_spec_largest_message(request->spec, request->base);
    bool is_there =
        CARD_NONE != card_read(card, folder, request->spec->workload, request->run, largest, key, cores_of(request));
    free(key);
    free(folder);
    return is_there;
}

/* Return the user's guess as an option, or NULL. */
static char *ask_guess(const struct request *request)
{
    const struct run *run = request->run;
    struct card card;
    if (!read_card(&card, request)) {
        struct request measuring = *request;
        measuring.is_silent = true; /* the run after the guess prints the card */
        int status = start(&measuring, "--card-only");
        if (status != STATUS_RIGHT)
            exit(status);
        if (!read_card(&card, request))
            return NULL;
    }
    const struct workload *workload = request->spec->workload;
    double step = local_step(&card.alone, workload->usual(run)), bytes = workload->gradient_bytes(run);
    double sum = card_allreduce(&card, run->ranks, bytes);
    char *event = request->spec->event(request->base);
    char *question = memory_text("Alone, one rank steps in %.*f ms; an all-reduce of %.1f MB among %d takes %.*f ms.\n"
                                 "Now %s.\n"
                                 "A step of all %d will take ... ms? [Enter skips]",
                                 number_ms_decimals(step), 1e3 * step, bytes / 1e6, run->ranks, number_ms_decimals(sum),
                                 1e3 * sum, event, run->ranks);
    double guess = guess_ask(question);
    free(question);
    free(event);
    return isnan(guess) ? NULL : memory_text("--guess=%s=%g", request->spec->asked, guess);
}

/* --- a run ------------------------------------------------------------------------------------------------------ */

/* Run the ranks once. Ask for the guess before if a user can answer; play the quiz after a --blind run. */
static int run_once(const struct request *request)
{
    char *guess = may_ask(request) ? ask_guess(request) : NULL;
    int status = start(request, guess);
    free(guess);
    if (status == STATUS_RIGHT && request->run->blind)
        quiz_play(request->spec, request->base, request->platform ? request->platform->name : "here",
                  request->arguments);
    return status;
}

/* --- simulated ranks -------------------------------------------------------------------------------------------- */

/* Return the command line of a run of two real ranks that measures the card of the same model and messages into `folder`. */
static char **words_of_pair(const struct request *request, const char *folder, double largest)
{
    const struct option_row *tables[] = { request->spec->workload->rows, request->spec->rows };
    const void *values[] = { request->run, request->base };
    enum { OWN = 8, TABLES = 2 };
    char **words = memory_new(OWN, sizeof *words);
    int count = 0;
    words[count++] = memory_text("lockstep");
    words[count++] = memory_text("--card-only");
    words[count++] = memory_text("--backend=mpi");
    words[count++] = memory_text("--out=%s", folder);
    words[count++] = memory_text("--batch-size=%d", request->run->batch_size);
    words[count++] = memory_text("--card-mb=%.0f", ceil(largest / (1 << 20)));
    words[count++] = memory_text("--deadline-s=%g", request->run->deadline_s);
    words[count++] = memory_text("--seed=%" PRIu64, request->run->seed);
    for (int table = 0; table < TABLES; table++) {
        char **more = options_words(tables[table], values[table]);
        int added = 0;
        while (more[added])
            added++;
        char **longer = memory_new((size_t)(count + added) + 1, sizeof *longer);
        memcpy(longer, words, (size_t)count * sizeof *longer);
        memcpy(longer + count, more, (size_t)added * sizeof *longer);
        free(words);
        free(more);
        words = longer;
        count += added;
    }
    return words;
}

/* Return the cost of an all-reduce of two real ranks, from their card, which is kept beside the simulated results. */
static struct alpha_beta measure_pair(const struct request *request, const char *folder)
{
    struct run run = *request->run;
    run.ranks = 2;
    struct card card;
    const struct workload *workload = request->spec->workload;
    double needed = lab_spec_largest_message(request->spec, request->base);
    double largest = fmax(needed, PAIR_TIMES * workload->gradient_bytes(&run));
    if (card_read(&card, folder, workload, &run, largest, "here", request->cores) != CARD_WHOLE) {
        char **words = words_of_pair(request, folder, largest);
        struct request pair = { .spec = request->spec,
                                .base = request->base,
                                .run = &run,
                                .arguments = words,
                                .cores = request->cores,
                                .is_silent = true };
        fputs("measuring all-reduces of two real ranks, for the links between simulated cores\n", stderr);
        int status = start(&pair, NULL);
        for (char **word = words; *word; word++)
            free(*word);
        free(words);
        if (status != STATUS_RIGHT)
            exit(status);
        if (card_read(&card, folder, workload, &run, largest, "here", request->cores) == CARD_NONE)
            die(STATUS_WRONG, "the card of two real ranks in %s cannot be read back", folder);
    }
    return card.link[0];
}

/* Write the platform file of dedicated cores among the results. Return its path, to be freed. */
static char *write_dedicated(const struct request *request)
{
    const struct run *run = request->run;
    struct alpha_beta pair = { 0 };
    if (run->ranks > 1) {
        char *cores = dedicated_cores_name(0),
             *pair_folder = memory_text("%s/two-real-ranks", cores); /* the same for every --membus */
        char *folder = run_folder(run, pair_folder);
        pair = measure_pair(request, folder);
        free(folder);
        free(pair_folder);
        free(cores);
    }
    char *name = dedicated_cores_name(run->membus);
    char *folder = run_folder(run, name), *file = memory_text("%s.xml", name);
    char *path = dedicated_cores_write(folder, file, run->ranks, run->membus, run->ranks > 1 ? &pair : NULL);
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
    platform_open(&platform, dedicated, request.run->ranks);
    request.platform = &platform;
    int status = run_once(&request);
    platform_close(&platform);
    free(dedicated);
    return status;
}

/* --- here or there ---------------------------------------------------------------------------------------------- */

/* Run more ranks than cores: first simulated with a core each, then for real unless an option leaves that out. */
static int run_twice(const struct request *request)
{
    int ranks = request->run->ranks, cores = request->cores;
    const char *only = left_out(request->run);
    int status = simulate(*request);
    if (status == STATUS_RIGHT && only)
        printf("\nFor real, the %d ranks would share %d core%s; %s leaves that out, --backend mpi runs it.\n", ranks,
               cores, cores == 1 ? "" : "s", only);
    if (status != STATUS_RIGHT || only)
        return status;
    printf("\n--- The same for real: %d ranks on the %d core%s there %s. ---\n", ranks, cores, cores == 1 ? "" : "s",
           cores == 1 ? "is" : "are");
    return start(request, NULL);
}

/* Choose where ranks on cores run. End the program if they cannot run there. */
static void choose_place(struct request *request)
{
    const struct run *run = request->run;
    bool must_simulate = run_simulates(run);
    bool is_crowded = !must_simulate && run->backend == BACKEND_AUTO && run->ranks > request->cores;
    const char *lacks = must_simulate || is_crowded ? platform_lacks(request->spec->lab) : NULL;
    if (must_simulate && lacks)
        die(STATUS_CANNOT, "cannot simulate ranks: %s", lacks);
    request->place = must_simulate ? SIMULATED : is_crowded && !lacks ? BOTH : HERE;
    request->lacks = is_crowded ? lacks : NULL;
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
    bool is_real = request->place == HERE || (request->place == BOTH && !left_out(request->run));
    return (struct dry_run){ .spec = request->spec,
                             .base = request->base,
                             .tables = tables,
                             .cases = cases,
                             .cores = request->cores,
                             .is_simulated = request->place != HERE,
                             .is_real = is_real,
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
        platform_open(&named, run->platform, run->ranks);
        refuse_name(&named);
        refuse_free_work(&named, spec->workload->model);
        request.platform = &named;
    }
    const struct dry_run dry_run = dry_run_of(&request, cases, tables);
    dry_run_refuse_memory(&dry_run, arguments);
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
