/* run: the settings of every lab, and the option rows that set them.
 *
 * A lab's own `struct options` begins with a `struct run`, so that common/ can read these settings without the rest. */
#ifndef LOCKSTEP_RUN_H
#define LOCKSTEP_RUN_H

#include "options/options.h"
#include "options/precision.h"

#include <stdbool.h>
#include <stdint.h>

enum { RANKS_MOST = 1024 };

enum backend { BACKEND_AUTO, BACKEND_MPI, BACKEND_SIM, BACKEND_NCCL };
enum device { DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA };

struct run {
    int ranks;            /* world size */
    int batch_size;       /* samples per rank and micro-batch */
    int steps;            /* steps of a case in a round, warm-up included, if `whole` */
    int skip_first_steps; /* warm-up steps of a case in every round, not measured */
    int cycle;            /* steps of a cycle: ranks synchronise, or a lab does its periodic
                                               work, once per cycle */
    int accumulate;       /* micro-batches of a step, whose gradients each rank adds up */
    uint64_t seed;
    int noise_seed;       /* for a modelled machine's jitter: round r uses noise_seed + r */
    double seconds;       /* time budget for measuring; rounds are added until it is spent */
    int rounds;           /* exactly this many rounds; 0 = as many as the budget allows */
    bool add_rounds;      /* rounds.csv keeps the rounds of earlier runs of the same command */
    bool quick;           /* two to four short rounds, ratios without interval */
    int ahead;            /* not an option: batches that each rank fetches early, 0 or 1 */
    bool whole;           /* not an option: a round measures all steps: they differ, are brief, or --steps was typed */
    int once;             /* not an option: steps to measure, in the first round only; 0 = measure in every round */
    bool takes_turns;     /* not an option: ranks compute in turns (simulated or oversubscribed), so rounds are slow */
    bool simulated;       /* not an option: simulated ranks compute, so a step takes the time of all */
    int card_mb;          /* MiB; the card's all-reduces reach at least this size, or more if the lab needs it */
    bool dry_run;         /* print what would run, and start nothing */
    bool without_tables;  /* leave out long cases, and the tables that only this lab has */
    bool lesson_cases;    /* run those of the lesson; else those of `cases`, or all if these are none */
    bool keep_card;       /* use a kept card even if the machine has drifted from it */
    bool card_only;       /* measure the machine card, show it, stop */
    int backend;          /* enum backend */
    int device;           /* enum device: device that ranks train on */
    const char *platform; /* name or file of the machine to simulate; NULL with --backend sim = dedicated cores */
    int algorithm;        /* enum algorithm: all-reduce algorithm */
    int precision;        /* enum precision: matrix products on a GPU */
    bool share_gpu;       /* ranks share GPUs under NCCL */
    int membus;           /* ranks that compute share the speed of so many dedicated cores; 0 = each has its own */
    double deadline_s;    /* seconds without a heartbeat until a run is ended; 0 = timeout of timeouts.h */
    const char *out;      /* folder of all results */
    bool blind;           /* one of the cases runs without its name, as a quiz */
    bool verdict;         /* make the changes that show what bounds each case's step */
    struct option_list cases, guesses;
};

/* Settings of the blog posts: 4 ranks x 128 samples, 12 steps of which 2 are skipped; for sequences 4 ranks x 8. */
extern const struct run run_published, run_published_texts;

/* Offsets in these rows count from the start of `struct run`. */
extern const struct option_row run_option_rows[];

/* Options that may differ between launches whose rounds join: they change no case, only what is measured besides, and for how long.
 * NULL-terminated. */
extern const char *const run_launch_flags[];

/* Samples that all ranks together train on in one step: ranks x batch_size x accumulate. */
int run_global_batch(const struct run *run);

/* True if options request a simulated machine. */
bool run_simulates(const struct run *run);

/* Return the option that requires GPUs, as typed ("--backend nccl"). NULL if no option does. The run then uses available
 * GPUs, or none (with --device cpu, for example). */
const char *run_asks_for_gpus(const struct run *run);

/* Name of the precision, such as "fp32". */
const char *run_precision(const struct run *run);

/* Folder for the results of a platform; `out` itself for real ranks ("here"). Free the result. */
char *run_folder(const struct run *run, const char *platform);

/* End the program with STATUS_USAGE if settings contradict each other. */
void run_refuse(const struct run *run);
/* End it likewise for a case, by its name, if the case's global batch is too large. */
void run_refuse_case(const struct run *run, const char *name);

/* Make `out`; in a dry run only check that it can be made. Return 0, or an errno for file_refuse_out(). */
int run_make_folder(const struct run *run);

/* Steps of one block. Ranks synchronise at the end of the warm-up and every `cycle` steps from there, so whole windows are
 * measured. All rounds are equally long, so that each weighs the same in a mean: all `steps` if `whole`, with at least 2 to warm up;
 * else a short window of 2 steps after one of warm-up, or 1 where simulated ranks compute. frame/cases.h makes those of brief steps whole.
 * The all-reduce results of a warm-up are checked. */
struct window {
    int warmup, measured;
};
struct window run_window(const struct run *run);

/* Minimum and maximum rounds of a run, and its budget in seconds; rounds beyond the minimum must fit into the budget. */
int run_least_rounds(const struct run *run);
int run_most_rounds(const struct run *run);
double run_budget(const struct run *run);

#endif
