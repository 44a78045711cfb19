#include "frame/supervise.h"

#include "base/cores.h"
#include "base/die.h"
#include "base/files.h"
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

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAIR_TIMES = 11, /* gradients that the links between simulated cores are measured for: labs 01 to 04 use the same */
};

/* What was asked, and what is known about where it runs. */
struct request {
    const struct lab_spec *spec;
    const struct options *base;
    const struct run *run;
    char *const *arguments;    /* the program's own */
    int cores;                 /* of this machine */
    enum placement mode;       /* of real ranks */
    int gpus;                  /* of this machine, for a mode that takes them */
    struct platform *platform; /* to simulate; NULL: real ranks */
    enum { HERE, SIMULATED, BOTH } place;
    const char *lacks; /* what is missing for the first of both; NULL where nothing is */
    bool is_silent;
};

/* What leaves real ranks out where simulated ones run too; NULL for nothing. */
static const char *left_out(const struct run *run)
{
    return run->blind ? "--blind" : run->quick ? "--quick" : NULL;
}

/* What every rank runs. Free it. */
static char *program_of(const struct request *request)
{
    if (request->platform)
        return platform_program(request->platform, request->spec->lab);
    return request->mode == MODE_CORES ? job_program() : placement_program(request->mode, request->spec->lab);
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
                                                .allowed = timeout_to_start(request->run),
                                                .program = program,
                                                .arguments = words,
                                                .platform = request->platform,
                                                .is_on_gpus = request->mode != MODE_CORES,
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

/* What tells the card of real ranks from others, and what they train on; their own key (lab.c) says the same. */
static char *key_of_real(const struct request *request)
{
    const char *backend = placement_backend(request->mode), *device = placement_device(request->mode);
    return placement_key("here", placement_label(backend, device, request->run->ranks, request->gpus), request->run);
}

static int cores_of(const struct request *request)
{
    if (request->platform)
        return request->platform->cores;
    return request->mode == MODE_CORES ? request->cores : request->gpus;
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

/* The learner's guess as an option, or NULL. */
static char *ask(const struct request *request)
{
    const struct run *run = request->run;
    struct card card;
    if (!read_card(&card, request)) {
        struct request measuring = *request;
        measuring.is_silent = true; /* the run behind the guess shows the card */
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

/* Asks before where somebody can answer, and after a case that ran without its name. */
static int run_once(const struct request *request)
{
    char *guess = may_ask(request) ? ask(request) : NULL;
    int status = start(request, guess);
    free(guess);
    if (status == STATUS_RIGHT && request->run->blind)
        quiz_play(request->spec, request->base, request->platform ? request->platform->name : "here",
                  request->arguments);
    return status;
}

/* --- simulated ranks -------------------------------------------------------------------------------------------- */

/* The words of a run of two real ranks that measures the card of the same model and messages into `folder`. */
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
    words[count++] = memory_text("--seed=%d", request->run->seed);
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

/* What an all-reduce of two real ranks takes, from a card of theirs that is kept beside the simulated results. */
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

/* Dedicated cores, as a file among the results. */
static char *write_dedicated(const struct request *request)
{
    const struct run *run = request->run;
    struct alpha_beta pair = { 0 };
    if (run->ranks > 1) {
        char *cores = dedicated_cores_name(0),
             *of_pair = memory_text("%s/two-real-ranks", cores); /* whatever the bus */
        char *folder = run_folder(run, of_pair);
        pair = measure_pair(request, folder);
        free(folder);
        free(of_pair);
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

/* Runs the lab on simulated ranks: of the machine that was named, or on dedicated cores. */
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

/* Ranks that are more than the cores: on a core each, simulated, and then for real, unless less was asked for. */
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

/* Where ranks on cores run; ends the program where they cannot. */
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

/* Its results would take the place of what dedicated cores wrote, and be judged as theirs. */
static void refuse_name(const struct platform *platform)
{
    char *ours = dedicated_cores_name(0);
    if (strncmp(platform->name, ours, strlen(ours)) == 0)
        die(STATUS_USAGE, "--platform %.200s: among the results %s are this machine's; give the file another name",
            platform->file, ours);
    free(ours);
}

/* Steps that take no time look like a result; who left the costs out meant something else. */
static void refuse_free_work(const struct platform *platform, enum work_model model)
{
    if (platform->is_free[model])
        die(STATUS_USAGE,
            "--platform %.200s does not say what work of this lab's %s costs; "
            "give it forward_per_sample_s and others, or %s_forward_per_sample_s (common/work.h lists them)",
            platform->file, work_models[model], work_models[model]);
}

static struct dry_run preview_of(const struct request *request, struct cases *cases,
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
                             .on_gpus = request->mode == MODE_CORES ? NULL : placement_device(request->mode) };
}

void supervise(const struct lab_spec *spec, const struct options *base, struct cases *cases,
               const struct option_row *const *tables, char *const *arguments)
{
    if (strcmp(device_name(), "cuda") == 0)
        die(STATUS_USAGE, "a program for GPUs is started by the one for cores; start build/bin/%s", spec->lab);
    const struct run *run = (const struct run *)base;
    signal(SIGCHLD, SIG_DFL); /* inherited as ignored, it would hide how children end */
    struct request request = { .spec = spec, .base = base, .run = run, .arguments = arguments, .cores = cores_here() };
    struct gpu_programs gpus;
    request.mode = placement_choose(run, run->ranks, &gpus);
    request.gpus = gpus.count;
    if (request.mode == MODE_CORES)
        choose_place(&request);
    struct platform named;
    if (run->platform) {
        platform_open(&named, run->platform, run->ranks);
        refuse_name(&named);
        refuse_free_work(&named, spec->workload->model);
        request.platform = &named;
    }
    const struct dry_run preview = preview_of(&request, cases, tables);
    dry_run_refuse_memory(&preview, arguments);
    file_refuse_out(run->out, run_make_folder(run));
    if (run->dry_run) {
        dry_run_tell(stdout, &preview);
        exit(STATUS_RIGHT);
    }
    if (request.mode == MODE_CORES && !(request.platform && request.platform->is_modelled))
        blas_kernel_choose(arguments);
    placement_print(request.mode, run, &gpus);
    gpu_programs_close(&gpus);
    exit(run_there(&request));
}
