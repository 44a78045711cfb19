#include "options/run.h"

#include "base/die.h"
#include "base/folders.h"
#include "base/memory.h"
#include "options/algorithm.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_WARMUP = 2,
    /* Steps of a short window. What disturbs a step mostly disturbs the next as well, so more rounds tell more than longer ones
     * (docs/measuring.md has the numbers). */
    SHORT_WARMUP = 1,
    SHORT_WINDOW = 2,
    SHORT_SIMULATED = 1, /* of ranks that compute one after another */
    LEAST_ROUNDS = 6,    /* Student's interval on 6 log ratios: 5 degrees of freedom */
    QUICK_LEAST = 2,
    QUICK_MOST = 4, /* enough to blame one of three or four ranks (case_stats.h) */
    QUICK_SECONDS = 15,
};

const struct run run_published = {
    .ranks = 4,
    .batch_size = 128,
    .steps = 12,
    .skip_first_steps = 2,
    .cycle = 1,
    .accumulate = 1,
    .seed = 2025,
    .seconds = 60,
    .out = "results",
};

const struct run run_published_texts = {
    .ranks = 4,
    .batch_size = 8,
    .steps = 12,
    .skip_first_steps = 2,
    .cycle = 1,
    .accumulate = 1,
    .seed = 2026,
    .seconds = 60,
    .out = "results",
};

#define AT(member) offsetof(struct run, member)
const struct option_row run_option_rows[] = {
    { "--ranks", OPTION_INTEGER, AT(ranks), 1, RANKS_MOST, "N", "world size: how many ranks train together" },
    { "--batch-size", OPTION_INTEGER, AT(batch_size), 1, 65536, "N", "samples per rank and step" },
    { "--steps", OPTION_INTEGER, AT(steps), 1, 100000, "N",
      "steps of a round, warm-up included; unless typed, 2 or 1 are measured, of brief steps all" },
    { "--skip-first-steps", OPTION_INTEGER, AT(skip_first_steps), 0, 100000, "N", "warm-up steps, not measured" },
    { "--noise-seed", OPTION_INTEGER, AT(noise_seed), 0, 1000000, "N", "seed of a modelled machine's jitter" },
    { "--seed", OPTION_SEED, AT(seed), 0, 0, "N", "seed of data, weights and orders" },
    { "--seconds", OPTION_NUMBER, AT(seconds), 0, 86400, "S", "budget for measuring; more time, more rounds" },
    { "--rounds", OPTION_INTEGER, AT(rounds), 0, 10000, "N", "exactly N rounds; 0: as many as the budget allows" },
    { "--add-rounds", OPTION_SWITCH, AT(add_rounds), 0, 0, "",
      "keep the rounds of earlier runs of this command in rounds.csv" },
    { "--without-tables", OPTION_SWITCH, AT(without_tables), 0, 0, "",
      "leave out long cases, and the tables that only this lab has, such as sweep.csv" },
    { "--quick", OPTION_SWITCH, AT(quick), 0, 0, "", "two to four short rounds; ratios without interval" },
    { "--cases", OPTION_LIST, AT(cases), 0, 0, "CASE", "run only the baseline and this case; may be repeated" },
    { "--lesson-cases", OPTION_SWITCH, AT(lesson_cases), 0, 0, "", "run only the cases that the lab's lesson shows" },
    { "--guess", OPTION_LIST, AT(guesses), 0, 0, "CASE=MS", "your guess of a case's step time; may be repeated" },
    { "--blind", OPTION_SWITCH, AT(blind), 0, 0, "", "a quiz: one case, drawn by seed, runs without its name" },
    { "--verdict", OPTION_SWITCH, AT(verdict), 0, 0, "",
      "change each case, for a few steps, to tell what bounds its step (some labs)" },
    { "--backend", OPTION_CHOICE, AT(backend), 0, 0, "auto mpi sim nccl", "where ranks run" },
    { "--device", OPTION_CHOICE, AT(device), 0, 0, "auto cpu cuda", "what ranks train on" },
    { "--precision", OPTION_CHOICE, AT(precision), 0, 0, PRECISION_WORDS,
      "precision of matrix products on a GPU; the rest is fp32" },
    { "--share-gpu", OPTION_SWITCH, AT(share_gpu), 0, 0, "", "let ranks share GPUs under NCCL: correctness only" },
    { "--platform", OPTION_TEXT, AT(platform), 0, 0, "NAME|FILE",
      "simulate a machine of platforms/ or of a SimGrid file" },
    { "--membus", OPTION_INTEGER, AT(membus), 0, RANKS_MOST, "N",
      "ranks that compute share the speed of N simulated cores; 0: each has its own" },
    { "--algorithm", OPTION_CHOICE, AT(algorithm), 0, 0, algorithm_words, "all-reduce algorithm under MPI" },
    { "--out", OPTION_TEXT, AT(out), 0, 0, "DIR", "folder of the results" },
    { "--deadline-s", OPTION_NUMBER, AT(deadline_s), 0, 1e6, "S",
      "end a run after S seconds without a heartbeat; 0: derived from predictions" },
    { "--dry-run", OPTION_SWITCH, AT(dry_run), 0, 0, "", "check everything, print what would run, start nothing" },
    { "--card-mb", OPTION_INTEGER, AT(card_mb), 0, 4096, "MiB",
      "largest all-reduce on the machine card; 0: as the lab needs" },
    { "--keep-card", OPTION_SWITCH, AT(keep_card), 0, 0, "",
      "use a card of the last hour even if the machine has drifted from it" },
    { "--card-only", OPTION_SWITCH, AT(card_only), 0, 0, "", "measure the machine card, show it, stop" },
    { 0 },
};
#undef AT

const char *const run_launch_flags[] = { "--seconds", "--rounds", "--add-rounds", "--keep-card", "--without-tables",
                                         "--verdict", NULL };

int run_global_batch(const struct run *run)
{
    return run->ranks * run->batch_size * run->accumulate;
}

bool run_simulates(const struct run *run)
{
    return run->backend == BACKEND_SIM || run->platform || run->membus;
}

const char *run_asks_for_gpus(const struct run *run)
{
    if (run->backend == BACKEND_NCCL)
        return "--backend nccl";
    return run->share_gpu ? "--share-gpu" : run->device == DEVICE_CUDA ? "--device cuda" : NULL;
}

const char *run_precision(const struct run *run)
{
    return precision_name((enum precision)run->precision);
}

char *run_folder(const struct run *run, const char *platform)
{
    bool is_real = strcmp(platform, "here") == 0;
    return is_real ? memory_text("%s", run->out) : memory_text("%s/platforms/%s", run->out, platform);
}

/* Refuse options for real ranks if ranks are simulated. */
static void refuse_simulated(const struct run *run)
{
    char why[256] = "--backend sim simulates ranks on cores";
    if (run->platform)
        snprintf(why, sizeof why, "--platform %.200s is a simulated machine", run->platform);
    else if (run->membus)
        snprintf(why, sizeof why, "--membus %d applies to simulated cores", run->membus);
    const char *option = run->backend == BACKEND_MPI ? "--backend mpi" : run_asks_for_gpus(run);
    if (run_simulates(run) && option)
        die(STATUS_USAGE, "%s; leave out %s", why, option);
    if (run_simulates(run) && run->precision != PRECISION_FP32)
        die(STATUS_USAGE, "%s; leave out --precision %s", why, run_precision(run));
    if (run->membus && run->platform)
        die(STATUS_USAGE, "--membus %d applies to dedicated cores, and --platform names another machine; leave one out",
            run->membus);
}

/* Refuse options for GPUs if ranks train on cores. */
static void refuse_without_gpu(const struct run *run)
{
    const char *option = run_asks_for_gpus(run);
    bool is_mpi = run->backend == BACKEND_MPI, is_cpu = run->device == DEVICE_CPU;
    if (is_mpi && run->share_gpu)
        die(STATUS_USAGE,
            "--share-gpu applies to NCCL; leave out --backend mpi, or use --device cuda instead of --share-gpu");
    if (is_cpu && option)
        die(STATUS_USAGE, "%s applies to GPUs; leave out --device cpu", option);
    if (run->precision != PRECISION_FP32 && (is_cpu || (is_mpi && !option)))
        die(STATUS_USAGE, "--precision %s applies to GPUs only; leave it out, or %s", run_precision(run),
            is_cpu ? "leave out --device cpu" : "add --device cuda");
}

/* `whose`: "CASE: ", or empty for the batch of the options. */
static void refuse_global_batch(const struct run *run, const char *whose)
{
    const double samples = (double)run->ranks * run->batch_size * run->accumulate;
    if (samples > INT_MAX)
        die(STATUS_USAGE, "%sa global batch of %.0f samples is more than %d; choose a smaller --batch-size", whose,
            samples, INT_MAX);
}

void run_refuse(const struct run *run)
{
    refuse_simulated(run);
    refuse_without_gpu(run);
    if (run->skip_first_steps >= run->steps)
        die(STATUS_USAGE, "--skip-first-steps %d leaves nothing to measure of --steps %d; skip fewer steps",
            run->skip_first_steps, run->steps);
    refuse_global_batch(run, "");
    if (run->lesson_cases && run->cases.count > 0)
        die(STATUS_USAGE,
            "--lesson-cases already chooses the cases, and %s would be one more; leave out --lesson-cases",
            run->cases.text[0]);
    if (run->keep_card && run->card_only)
        die(STATUS_USAGE, "--card-only measures a card and --keep-card does not; leave one out");
    if (run->ranks > RANKS_MOST)
        die(STATUS_USAGE, "%d ranks are more than this lab can run; start at most %d", run->ranks, RANKS_MOST);
}

void run_refuse_case(const struct run *run, const char *name)
{
    char *whose = memory_text("%s: ", name);
    refuse_global_batch(run, whose);
    free(whose);
}

int run_make_folder(const struct run *run)
{
    return run->dry_run ? file_may_make_folder(run->out) : file_make_folder(run->out);
}

struct window run_window(const struct run *run)
{
    int warmup = run->skip_first_steps > LEAST_WARMUP ? run->skip_first_steps : LEAST_WARMUP;
    int measured = run->steps - run->skip_first_steps;
    if (run->once)
        return (struct window){ .warmup = warmup, .measured = run->once };
    if (!run->whole) {
        const int most = run->simulated ? SHORT_SIMULATED : SHORT_WINDOW;
        measured = measured < most ? measured : most;
        warmup = run->skip_first_steps > LEAST_WARMUP ? run->skip_first_steps : SHORT_WARMUP;
    }
    /* Measure whole cycles, at least one; leftover steps join the warm-up. */
    int k = run->cycle, whole = measured < k ? k : measured / k * k;
    if (whole < measured)
        warmup += measured - whole;
    return (struct window){ .warmup = warmup, .measured = whole };
}

int run_least_rounds(const struct run *run)
{
    if (run->rounds)
        return run->rounds;
    if (run->add_rounds)
        return 1; /* others join them */
    return run->quick ? QUICK_LEAST : LEAST_ROUNDS;
}

int run_most_rounds(const struct run *run)
{
    if (run->rounds)
        return run->rounds;
    return run->quick ? QUICK_MOST : INT_MAX;
}

double run_budget(const struct run *run)
{
    return run->quick && run->seconds > QUICK_SECONDS ? QUICK_SECONDS : run->seconds;
}
