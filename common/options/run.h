/* run: the settings every lab has, and the option rows that set them.
 *
 * A lab's own `struct options` begins with a `struct run`, so that common/ can read these without knowing the
 * rest. */
#ifndef LOCKSTEP_RUN_H
#define LOCKSTEP_RUN_H

#include "options/options.h"
#include "options/precision.h"

#include <stdbool.h>

enum { RANKS_MOST = 1024 };

enum backend { BACKEND_AUTO, BACKEND_MPI, BACKEND_SIM, BACKEND_NCCL };
enum device { DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA };

struct run {
    int ranks;                              /* world size */
    int batch_size;                         /* samples per rank and step; the global batch is ranks x batch_size */
    int steps;                              /* steps of the first round of a variant, warm-up included */
    int skip_first_steps;                   /* warm-up steps of a variant in every round, not measured */
    int sync_every;                         /* steps of a cycle: every so many the ranks synchronise, or a lab does
                                               what it does not do in each */
    int accumulate;                         /* micro-batches of a step: each rank adds up so many gradients */
    int input_dim, hidden_dim, num_classes; /* the MLP: input-hidden-hidden-classes */
    struct run_texts {                      /* of a lab that trains on texts */
        int vocab_size, num_heads;          /* the transformer, beside hidden_dim and num_classes */
        int min_length, max_length;         /* of texts, in tokens */
        int fixed_length;                   /* of all, where they do not vary */
        int max_tokens;                     /* budget of a batch */
        double outlier_prob;                /* share of texts that have max_length */
    } texts;
    int seed;
    int noise_seed;   /* of a modelled machine's jitter: round r draws from noise_seed + r */
    double seconds;   /* budget for measuring; rounds are added until it is spent */
    int rounds;       /* exactly this many rounds; 0 = as many as the budget allows */
    bool quick;       /* two or three short rounds, ratios without interval */
    bool whole;       /* not an option: every round measures all steps, for they differ */
    int once;         /* not an option: so many steps are measured, in the first round only; 0: in every round */
    bool takes_turns; /* not an option: ranks compute in turns, simulated or for lack of cores, and a round is slow */
    int card_mb;      /* MiB that the card's all-reduces reach at least, if the lab needs no more */
    bool dry_run;     /* tell what would run, and start nothing */
    bool card_only;   /* measure the machine card, show it, stop */
    int backend;      /* enum backend */
    int device;       /* enum device: what ranks train on */
    const char *platform; /* file of the machine to simulate; NULL: dedicated cores */
    int algorithm;        /* enum algorithm: how all-reduces add */
    int precision;        /* enum precision: of matrix products on a GPU */
    bool share_gpu;       /* ranks share GPUs under NCCL */
    int membus;           /* of dedicated cores: they share so many cores' worth of memory bus; 0: each has its own */
    double deadline_s;    /* a run without a sign of life for this long is given up; 0 = as timeouts.h derives it */
    const char *out;      /* folder of all results */
    bool blind;           /* one of the cases runs without its name, as a riddle */
    struct option_list cases, guesses;
};

/* What the posts ran: 4 ranks x 128 samples, 12 steps of which 2 are skipped, MLP 1024-1024-1024-1000. */
extern const struct run run_published;

/* … and of texts: 4 ranks x 8 texts of 64 to 256 tokens, or a budget of 1,280; a transformer of 412,960 parameters: 8192
 * words, width 48, 4 heads, 16 classes. */
extern const struct run run_published_texts;

/* Offsets in these rows count from the start of `struct run`. */
extern const struct option_row run_option_rows[];

/* Samples that all ranks together train on in one step. */
int run_global_batch(const struct run *run);

/* Whether a simulated machine was asked for. */
bool run_simulates(const struct run *run);

/* What asks for GPUs, as it was typed: "--backend nccl"; NULL where nothing does, and they are taken where there are
 * some, or not at all. */
const char *run_asks_for_gpus(const struct run *run);

/* "fp32" */
const char *run_precision(const struct run *run);

/* Where the results of a platform go, `out` itself for real ranks ("here"). Free it. */
char *run_folder(const struct run *run, const char *platform);

/* Ends the program with STATUS_USAGE when settings contradict each other. */
void run_refuse(const struct run *run);

/* Makes `out`, or in a dry run finds out whether it could be made. Returns 0, or the errno that file_refuse_out() ends the
 * program with. */
int run_make_folder(const struct run *run);

/* The steps of one block. The ranks synchronise at the end of the warm-up and every sync_every steps from there, so that
 * whole windows are measured. Round 1 runs the published steps, later rounds a short window; at least 2 steps warm up
 * (their sums are checked). */
struct window {
    int warmup, measured;
};
struct window run_window(const struct run *run, int round);

/* The rounds a run makes at least; and at most, within the seconds it may spend. */
int run_least_rounds(const struct run *run);
int run_most_rounds(const struct run *run);
double run_budget(const struct run *run);

#endif
