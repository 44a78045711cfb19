/* The labs against PyTorch: each published case in our lab and in tools/bench/torch_labs.py, in turns, with the published
 * settings: 12 steps, 2 of them skipped, mean of the slowest rank.
 *
 * PyTorch takes part twice. With malloc's defaults a step may need new pages from the kernel for memory that the step before
 * returned. With pages kept, only arithmetic and messages are compared. Only one program runs at a time: our lab is started for
 * its turn, and the PyTorch processes sleep until asked. */
#include "bench.h"

#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "bench/reference.h"
#include "jobs.h"
#include "launch/blas_kernel.h"
#include "launch/scratch.h"
#include "model/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, SCRATCH_BYTES = 64 << 20 }; /* tables, spans and trace of two labs take about 10 MB */

/* A published case. */
struct published {
    const char *lab, *name;
    bool has_texts; /* trains on sequences */
};

/* Where to look for PyTorch without --torch: on many machines another Python precedes Debian's in PATH. */
static const char *const pythons[] = { "python3", "/usr/bin/python3" };
enum { PYTHONS = sizeof pythons / sizeof *pythons };

/* One PyTorch program, and the command that precedes its command line. */
struct peer {
    const char *kind, *const *before;
    struct reference reference;
    bool is_gone; /* cannot be started */
    double *logs; /* (rounds) log seconds, summed over the cases */
};

struct contest {
    struct bench *bench;
    struct scratch scratch;
    const char *python;
    int rounds, cases;
    double *logs; /* (rounds) log seconds of our labs, summed over the cases */
    struct peer peers[2];
};
enum { PEERS = sizeof((struct contest *)0)->peers / sizeof(struct peer) };

static const char *const as_it_is[] = { NULL };
static const char *const keeping_pages[] = { "env",
                                             "MALLOC_MMAP_MAX_=0",
                                             "MALLOC_TRIM_THRESHOLD_=17179869184",
                                             "MALLOC_TOP_PAD_=268435456",
                                             "MALLOC_ARENA_MAX=1",
                                             NULL };

/* --- ours -------------------------------------------------------------------------------------------------------- */

/* Print the last line of a failed lab's output: its error message, if any. */
static void print_failure(const struct contest *c, const struct published *p, int round, int status, const char *said)
{
    char *text = file_read(said, NULL), *last = text;
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
        last = line;
    printf("  %s, round %d of %d: our lab ended with status %d: %s\n", p->name, round + 1, c->rounds, status,
           last && *last ? last : "it printed nothing");
    fflush(stdout);
    free(text);
}

/* Return the milliseconds of the case from the summary of a lab that succeeded. */
static double read_summary(const char *path, const struct published *p)
{
    struct csv_table table;
    char why[256];
    if (!csv_read(path, &table, why, sizeof why))
        die(STATUS_WRONG, "%s ended with status 0, but %s", p->lab, why);
    double milliseconds = csv_value(&table, csv_find(&table, "case", p->name), "slowest_step_ms");
    csv_free(&table);
    if (!(milliseconds > 0))
        die(STATUS_WRONG, "%s has no row for %s; run it again", path, p->name);
    return milliseconds;
}

/* Return seconds per step in our lab; NaN if the lab failed. Labs that train the same model share a machine card. */
static double our_window(const struct contest *c, const struct published *p, int round)
{
    char *out = memory_text("%s/%s", c->scratch.folder, p->has_texts ? "texts" : "samples");
    char *said = memory_text("%s/said", c->scratch.folder), *summary = memory_text("%s/%s/summary.csv", out, p->lab);
    const char *words[] = { "--backend=mpi", "--rounds=1", "--cases", p->name, "--out", out, NULL };
    int status = jobs_try_lab(p->lab, words, said).status;
    double seconds = (double)NAN;
    if (status == STATUS_RIGHT)
        seconds = read_summary(summary, p) * 1e-3;
    else
        print_failure(c, p, round, status, said);
    c->bench->went_wrong |= status != STATUS_RIGHT && status != STATUS_CANNOT;
    free(summary);
    free(said);
    free(out);
    return seconds;
}

/* --- theirs ------------------------------------------------------------------------------------------------------ */

/* Start a PyTorch program, without our choice of OpenBLAS kernel in its environment. */
static void start_peer(const struct contest *c, struct peer *peer)
{
    char *words[REFERENCE_WORDS_MOST] = { 0 };
    int count = 0;
    for (int i = 0; peer->before[i]; i++)
        words[count++] = memory_text("%s", peer->before[i]);
    words[count++] = memory_text("%s", c->python);
    words[count++] = memory_text("%s", LOCKSTEP_SOURCE "/tools/bench/torch_labs.py");
    char *before = blas_kernel_set(NULL);
    reference_open(&peer->reference, words);
    free(blas_kernel_set(before));
    free(before);
    peer->is_gone = peer->reference.process == 0;
    for (int i = 0; i < count; i++)
        free(words[i]);
}

static void print_peer_stopped(const struct peer *peer, const char *when)
{
    printf("  %s%s: PyTorch stopped: %s\n", when, peer->kind, peer->reference.lacks);
    fflush(stdout);
}

static double parameters(const struct published *p)
{
    return (double)workload_parameters(p->has_texts ? &published_transformer : &published_mlp);
}

/* Return seconds per step in PyTorch; NaN if the program stopped. Restart it for the next window, unless it cannot start. */
static double their_window(const struct contest *c, struct peer *peer, const struct published *p, int round)
{
    char *when = memory_text("%s, round %d of %d", p->name, round + 1, c->rounds);
    char *question = memory_text("%s,%s", p->lab, p->name);
    double seconds = (double)NAN;
    if (!peer->is_gone && peer->reference.process == 0) {
        start_peer(c, peer);
        if (peer->is_gone)
            print_peer_stopped(peer, when);
    }
    if (!peer->is_gone) {
        seconds = reference_window(&peer->reference, question, parameters(p));
        if (isnan(seconds))
            print_peer_stopped(peer, when);
    }
    free(question);
    free(when);
    return seconds;
}

/* Start both PyTorch programs. Return false, and print the reason, if there is no PyTorch. */
static bool open_peers(struct contest *c)
{
    struct peer *first = &c->peers[0];
    const char *option = c->bench->options.torch;
    if (option && strcmp(option, "none") == 0) {
        printf("not measured: --torch none\n");
        return false;
    }
    first->is_gone = true;
    for (int i = 0; i < (option ? 1 : PYTHONS) && first->is_gone; i++) {
        c->python = option ? option : pythons[i];
        start_peer(c, first);
        if (first->is_gone)
            printf("%s: %s\n", c->python, first->reference.lacks);
    }
    if (first->is_gone) {
        printf("not measured: no PyTorch; name a Python that has it with --torch\n");
        return false;
    }
    start_peer(c, &c->peers[1]);
    printf("beside %s\n", first->reference.about);
    rows_tell(&c->bench->rows, "torch", first->reference.about);
    return true;
}

/* --- all in turns ---------------------------------------------------------------------------------------------------- */

static void run_case(struct contest *c, const struct published *p)
{
    double *seconds = memory_new((1 + PEERS) * (size_t)c->rounds, sizeof *seconds); /* (side, round), ours first */
    for (int round = 0; round < c->rounds; round++)
        for (int turn = 0; turn <= PEERS; turn++) {
            int side = round % 2 ? PEERS - turn : turn;
            double took = side ? their_window(c, &c->peers[side - 1], p, round) : our_window(c, p, round);
            seconds[side * c->rounds + round] = took;
            *(side ? &c->peers[side - 1].logs[round] : &c->logs[round]) += log(took);
        }
    for (int i = 0; i < PEERS; i++)
        rows_add_rounds(&c->bench->rows,
                        memory_text("%s (%s) against PyTorch DDP%s, ms", p->name, p->lab, c->peers[i].kind), 1e3,
                        seconds, seconds + (ptrdiff_t)(1 + i) * c->rounds, c->rounds, 1);
    free(seconds);
}

/* Add a row per PyTorch program: geometric mean of each round over the cases, NaN if a case failed. */
static void add_means(struct contest *c)
{
    double *ours = memory_new(2 * (size_t)c->rounds, sizeof *ours), *theirs = ours + c->rounds;
    for (int i = 0; i < PEERS; i++) {
        for (int round = 0; round < c->rounds; round++) {
            ours[round] = exp(c->logs[round] / c->cases);
            theirs[round] = exp(c->peers[i].logs[round] / c->cases);
        }
        rows_add_rounds(&c->bench->rows,
                        memory_text("geometric mean of %d cases against PyTorch DDP%s, ms", c->cases, c->peers[i].kind),
                        1e3, ours, theirs, c->rounds, 0.5);
    }
    free(ours);
}

/* Run each published case once. If several labs have the case, take the lab that uses the post's name for it. */
static void run_all_cases(struct contest *c)
{
    struct csv_table blog = csv_open(LOCKSTEP_SOURCE "/expected/blog.csv",
                                     (const char *const[]){ "lab", "case", "slug", "useful_tokens_per_s", NULL });
    for (int row = 0; row < blog.rows; row++) {
        struct published p = { .lab = csv_field(&blog, row, "lab"),
                               .name = csv_field(&blog, row, "case"),
                               .has_texts = !isnan(csv_value(&blog, row, "useful_tokens_per_s")) };
        if (strcmp(p.name, csv_field(&blog, row, "slug")) != 0)
            continue;
        c->cases++;
        run_case(c, &p);
    }
    add_means(c);
    csv_free(&blog);
}

void bench_labs(struct bench *bench)
{
    struct contest c = { .bench = bench, .rounds = bench_rounds(bench, ROUNDS) };
    c.peers[0] = (struct peer){ .kind = "", .before = as_it_is };
    c.peers[1] = (struct peer){ .kind = ", pages kept", .before = keeping_pages };
    c.logs = memory_new((1 + PEERS) * (size_t)c.rounds, sizeof *c.logs);
    for (int i = 0; i < PEERS; i++)
        c.peers[i].logs = c.logs + (ptrdiff_t)(1 + i) * c.rounds;
    rows_heading("The published cases, a step");
    if (open_peers(&c)) {
        c.scratch = scratch_open(SCRATCH_BYTES);
        run_all_cases(&c);
        scratch_close(&c.scratch);
    }
    for (int i = 0; i < PEERS; i++)
        reference_close(&c.peers[i].reference);
    free(c.logs);
}
