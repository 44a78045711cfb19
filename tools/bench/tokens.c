/* Ways to load tokens against one that is like llm.c's loader, against copies of as many bytes, and against PyTorch's usual loader.
 * Each start is a new process on two shards, whose pages are cached. */
#include "jobs.h"

#include "guard.h"

#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "feed/shard_make.h"
#include "launch/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 2, SHARD_TOKENS = 16 << 20, TOKENS = 8192, TORCH_BATCHES = 400, SCRATCH_BYTES = 80 << 20, MOST = 16 };

/* Output of a start of token_ladder. */
struct ladder {
    int count;
    struct line {
        char name[24], pages[12];
        double seconds, bytes;
    } line[MOST];
};

static void make_shards(const char *folder)
{
    for (int i = 0; i < SHARDS; i++) {
        char *name = memory_text("tokens_%d.bin", i);
        struct file file = file_begin(folder, name);
        shard_make(file.out,
                   &(struct shard_recipe){
                       .tokens = SHARD_TOKENS, .seed = (uint64_t)i, .vocab = TOKEN_DOCUMENT, .document = 500 });
        file_commit(&file);
        free(name);
    }
}

/* A program to start. */
struct start {
    char *command;
    struct ladder *ladder; /* of token_ladder, or */
    double *seconds;       /* of PyTorch */
};

static bool run(void *argument)
{
    const struct start *s = argument;
    FILE *out = popen(s->command, "r");
    if (!out)
        return false;
    bool is_read = false;
    if (s->ladder) {
        struct ladder *l = s->ladder;
        l->count = 0;
        for (struct line *line = l->line; l->count < MOST && fscanf(out, "%23s %11s %lf %lf", line->name, line->pages,
                                                                    &line->seconds, &line->bytes) == 4;
             line++)
            l->count++;
        is_read = l->count > 0;
    } else {
        is_read = fscanf(out, "%lf", s->seconds) == 1;
    }
    return pclose(out) == 0 && is_read;
}

static const struct line *line_of(const struct ladder *l, const char *name, const char *pages)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->line[i].name, name) == 0 && strcmp(l->line[i].pages, pages) == 0)
            return &l->line[i];
    die(STATUS_WRONG, "token_ladder did not measure %s %s", name, pages);
}

/* Add a row: two ways, in microseconds of a batch. */
static void add(struct bench *bench, const struct ladder *l, const bool *is_disturbed, const char *what,
                const char *ours, const char *reference, const char *pages, double goal)
{
    struct compared row = { .what = memory_text("%s, us a batch of %d tokens", what, TOKENS),
                            .per_second = 1e6,
                            .count = bench_starts(bench),
                            .is_disturbed = is_disturbed,
                            .goal = goal };
    for (int i = 0; i < row.count; i++) {
        row.ours[i] = line_of(&l[i], ours, pages)->seconds;
        row.reference[i] = line_of(&l[i], reference, pages)->seconds;
    }
    rows_add_starts(&bench->rows, &row);
}

static void add_memory(struct bench *bench, const struct ladder *l)
{
    struct compared row = { .what = memory_text("windowed: resident heap and files, against 32 MB, MB"),
                            .per_second = 1e-6,
                            .count = bench_starts(bench),
                            .goal = 1 };
    for (int i = 0; i < row.count; i++) {
        row.ours[i] = line_of(&l[i], "windowed", "cold")->bytes;
        row.reference[i] = 32e6;
    }
    rows_add_starts(&bench->rows, &row);
}

/* PyTorch's loader in the starts' turns; a Python that cannot run it gives no row. */
static void add_torch(struct bench *bench, const struct ladder *l, const char *folder, int workers)
{
    const char *python = bench->options.torch;
    if (!python || strcmp(python, "none") == 0)
        return;
    char *command = memory_text("'%s' '%s/tools/bench/torch_tokens.py' '%s/tokens_0.bin' %d %d %d", python,
                                LOCKSTEP_SOURCE, folder, TOKENS, workers, TORCH_BATCHES);
    struct compared row = { .what = memory_text(
                                "preallocated, against PyTorch's memmap and stack to int64, %d workers, us", workers),
                            .beside = python,
                            .per_second = 1e6,
                            .count = bench_starts(bench),
                            .goal = (double)NAN };
    for (int i = 0; i < row.count; i++) {
        row.ours[i] = line_of(&l[i], "preallocated", "warm")->seconds;
        if (!run(&(struct start){ .command = command, .seconds = &row.reference[i] }))
            row.reference[i] = (double)NAN;
    }
    rows_add_starts(&bench->rows, &row);
    free(command);
}

void bench_tokens(struct bench *bench)
{
    const int starts = bench_starts(bench);
    struct scratch scratch = scratch_open(SCRATCH_BYTES);
    char *bin = jobs_bin();
    char *command = memory_text("'%s/../lib/token_ladder' '%s/tokens_?.bin' %d", bin, scratch.folder, TOKENS);
    struct ladder *ladder = memory_new((size_t)starts, sizeof *ladder);
    bool is_disturbed[BENCH_STARTS_MOST];
    const struct guard guard = { .root = bench->options.root, .ranks = 1 };
    rows_heading("Tokens");
    make_shards(scratch.folder);
    for (int i = 0; i < starts; i++) {
        struct start start = { .command = command, .ladder = &ladder[i] };
        is_disturbed[i] = guard_run(&guard, run, &start);
    }
    add(bench, ladder, is_disturbed, "preallocated, against llm.c's way", "preallocated", "buffered", "warm", 1 / 1.7);
    add(bench, ladder, is_disturbed, "preallocated, against copies of as many bytes", "preallocated", "copies", "warm",
        1 / 0.95);
    add(bench, ladder, is_disturbed, "windowed, against mapped, first pass", "windowed", "mapped", "cold", 1 / 0.9);
    add(bench, ladder, is_disturbed, "windowed, against llm.c's way, first pass", "windowed", "buffered", "cold", 1);
    add_memory(bench, ladder);
    add_torch(bench, ladder, scratch.folder, 0);
    add_torch(bench, ladder, scratch.folder, 2);
    free(ladder);
    free(command);
    free(bin);
    scratch_close(&scratch);
}
