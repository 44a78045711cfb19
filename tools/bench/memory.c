/* Resident memory of a rank that trains, libraries included, against the minimum: 16 bytes per parameter (parameter, gradient,
 * AdamW's two moments) and the activations of a batch. Each start is a run of a lab. */
#include "jobs.h"

#include "base/die.h"
#include "base/memory.h"
#include "base/rss.h"
#include "launch/job.h"
#include "launch/scratch.h"
#include "model/sequence_loader.h"
#include "model/sequence_recipe.h"
#include "model/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { RANKS = 2, SCRATCH_BYTES = 32 << 20 };
static const double GOAL = 1.1;

/* A lab that trains one case on RANKS ranks. */
struct trained {
    const char *lab, *cases, *name;
    int hidden_dim;
    bool has_texts;
};

static const struct trained trained[] = {
    { "01_straggler", "baseline", "MLP", 1024, false },
    { "01_straggler", "baseline", "MLP", 4096, false },
    { "05_token_skew", "fixed_sample_ws4", "transformer", 48, true },
};

static double needed(const struct memory_estimate *memory)
{
    return memory_estimate_model(memory) + memory->of[MEMORY_ACTIVATIONS];
}

/* Computed bytes: the minimum, and the data set. */
struct counted {
    double needed, data;
};

static struct counted count(const struct trained *t)
{
    struct run run = t->has_texts ? run_published_texts : run_published;
    struct workload workload = t->has_texts ? published_transformer : published_mlp;
    run.ranks = RANKS;
    *(t->has_texts ? &workload.of.transformer.hidden_dim : &workload.of.mlp.hidden_dim) = t->hidden_dim;
    const struct batch_most most = loader_most(&workload, run.batch_size);
    struct memory_estimate model = trainer_memory_for(&workload, most),
                           data = loader_memory(&workload, &run, run.batch_size);
    if (t->has_texts) { /* the lab opens both */
        struct token_recipe fixed = sequence_recipe(&workload.of.transformer, &run, true),
                            variable = sequence_recipe(&workload.of.transformer, &run, false);
        data = memory_estimate_add(sequence_loader_memory(&fixed, most), sequence_loader_memory(&variable, most));
    }
    return (struct counted){ needed(&model), memory_estimate_sum(&data) };
}

/* Run the lab and read the memory peaks that it prints. On failure print the reason and return false. */
static bool train(const struct trained *t, const char *bin, const char *folder, struct rss_peaks *phases)
{
    char *program = memory_text("%s/%s", bin, t->lab), *out = memory_text("--out=%s", folder);
    char *options = memory_text("--backend mpi --ranks %d --hidden-dim %d --cases %s --rounds 1 < /dev/null", RANKS,
                                t->hidden_dim, t->cases);
    FILE *lines = job_listen(program, out, options);
    char line[512], last[512] = "it printed nothing";
    static const char begins[] = "Memory ";
    bool has_line = false;
    while (fgets(line, sizeof line, lines)) {
        if (strncmp(line, begins, strlen(begins)) == 0)
            has_line = rss_peaks_read(phases, line + strlen(begins));
        if (*line != '\n')
            memcpy(last, line, sizeof last);
    }
    int status = pclose(lines);
    if (status != 0 || !has_line)
        printf("  %s ended with status %d: %s\n", t->lab, WIFEXITED(status) ? WEXITSTATUS(status) : status, last);
    free(program);
    free(options);
    free(out);
    return status == 0 && has_line;
}

/* Return a row in MB, whose reference is the minimum. */
static struct compared row_of(const struct trained *t, const char *what, double needed, int starts, double goal)
{
    struct compared row = { .what = memory_text("%s %d%s, MB", t->name, t->hidden_dim, what),
                            .per_second = 1e-6,
                            .count = starts,
                            .goal = goal };
    for (int i = 0; i < starts; i++)
        row.reference[i] = needed;
    return row;
}

static void measure(struct bench *bench, const struct trained *t, const char *bin, const char *folder)
{
    int starts = bench_starts(bench);
    const struct counted counted = count(t);
    struct compared whole = row_of(t, ": a rank while it trains", counted.needed, starts, GOAL),
                    own = row_of(t, ": … less the same with nothing open", counted.needed, starts, (double)NAN),
                    bare = row_of(t, ": … and less its data set", counted.needed, starts, (double)NAN),
                    card = row_of(t, ": before, for the card and the trial", counted.needed, 1, (double)NAN);
    for (int i = 0; i < starts; i++) {
        struct rss_peaks p = { (double)NAN, (double)NAN, (double)NAN };
        if (!train(t, bin, folder, &p))
            p = (struct rss_peaks){ (double)NAN, (double)NAN, (double)NAN };
        whole.ours[i] = p.trained;
        own.ours[i] = p.trained - p.empty;
        bare.ours[i] = own.ours[i] - counted.data;
        card.ours[0] = fmax(card.ours[0], p.prepared); /* the first start measures the card, the others may read it */
    }
    if (!(card.ours[0] > 0)) /* no start succeeded */
        card.ours[0] = (double)NAN;
    rows_add_starts(&bench->rows, &whole);
    rows_add_starts(&bench->rows, &own);
    rows_add_starts(&bench->rows, &bare);
    rows_add_starts(&bench->rows, &card);
}

void bench_memory(struct bench *bench)
{
    struct scratch scratch = scratch_open(SCRATCH_BYTES);
    char *bin = jobs_bin();
    rows_heading("Memory of a rank of two, against 16 bytes per parameter and activations");
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++)
        measure(bench, &trained[i], bin, scratch.folder);
    free(bin);
    scratch_close(&scratch);
}
