/* The labs against PyTorch: each published case once in our lab and once in tools/torch_labs.py, in turns, as published: 12
 * steps, 2 of them skipped, the slowest rank's mean.
 *
 * PyTorch takes part twice. As malloc comes, each step may get new pages from the system for what the step before gave
 * back; told to keep its pages, it does not, and what is left to compare is arithmetic and messages. All but one are asleep
 * at any time: ours has ended, or waits to be started; theirs wait for a question. */
#include "bench.h"

#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "jobs.h"
#include "launch/blas_kernel.h"
#include "launch/scratch.h"
#include "model/mlp.h"
#include "model/sequence_trainer.h"
#include "bench/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, SCRATCH_BYTES = 64 << 20 }; /* tables, spans and trace of two labs take some 10 MB */

/* A published case. */
struct published {
    const char *lab, *name;
    bool has_texts; /* it trains on these */
};

/* Where PyTorch is looked for, unless somebody says where it is: many a machine has a Python of its own before Debian's. */
static const char *const pythons[] = { "python3", "/usr/bin/python3" };
enum { PYTHONS = sizeof pythons / sizeof *pythons };

/* PyTorch, and what goes before its words. */
struct peer {
    const char *kind, *const *before;
    struct reference reference;
    bool is_gone; /* for good */
    double *logs; /* (rounds) of its seconds, summed over the cases */
};

struct contest {
    struct bench *bench;
    struct scratch scratch;
    const char *python;
    int rounds, cases;
    double *logs; /* (rounds) of our seconds, summed over the cases */
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

/* The last line of what a lab said: its complaint, where it had one. */
static void tell_failure(const struct contest *c, const struct published *p, int round, int status, const char *said)
{
    char *text = file_read(said, NULL), *last = text;
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
        last = line;
    printf("  %s, round %d of %d: our lab ended with status %d: %s\n", p->name, round + 1, c->rounds, status,
           last && *last ? last : "it said nothing");
    fflush(stdout);
    free(text);
}

/* Milliseconds of the case in the table of a lab that ended well. */
static double read_summary(const char *path, const struct published *p)
{
    struct csv_table table;
    char why[256];
    if (!csv_read(path, &table, why, sizeof why))
        die(STATUS_WRONG, "%s ended well, but %s", p->lab, why);
    double milliseconds = csv_value(&table, csv_find(&table, "case", p->name), "slowest_step_ms");
    csv_free(&table);
    if (!(milliseconds > 0))
        die(STATUS_WRONG, "%s says nothing of %s", path, p->name);
    return milliseconds;
}

/* Seconds of a step in our lab; NaN where it failed. A machine card serves all labs that train the same model. */
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
        tell_failure(c, p, round, status, said);
    c->bench->went_wrong |= status != STATUS_RIGHT && status != STATUS_CANNOT;
    free(summary);
    free(said);
    free(out);
    return seconds;
}

/* --- theirs ------------------------------------------------------------------------------------------------------ */

/* Without the kernel that we may have taken for OpenBLAS: PyTorch has its own choice. */
static void start_peer(const struct contest *c, struct peer *peer)
{
    char *words[REFERENCE_WORDS_MOST] = { 0 };
    int count = 0;
    for (int i = 0; peer->before[i]; i++)
        words[count++] = memory_text("%s", peer->before[i]);
    words[count++] = memory_text("%s", c->python);
    words[count++] = memory_text("%s", LOCKSTEP_SOURCE "/tools/torch_labs.py");
    char *before = blas_kernel_print(NULL);
    reference_open(&peer->reference, words);
    free(blas_kernel_print(before));
    free(before);
    peer->is_gone = peer->reference.process == 0;
    for (int i = 0; i < count; i++)
        free(words[i]);
}

static void tell_peer(const struct peer *peer, const char *when)
{
    printf("  %s%s: PyTorch stopped: %s\n", when, peer->kind, peer->reference.lacks);
    fflush(stdout);
}

static double parameters(const struct published *p)
{
    struct transformer_shape shape = sequence_shape(&run_published_texts);
    double bytes = p->has_texts ? transformer_gradient_bytes(&shape) : mlp_gradient_bytes(&run_published);
    return bytes / sizeof(float);
}

/* Seconds of a step in PyTorch; NaN where it stopped. It is started again for the next window, unless it will not start. */
static double their_window(const struct contest *c, struct peer *peer, const struct published *p, int round)
{
    char *when = memory_text("%s, round %d of %d", p->name, round + 1, c->rounds);
    char *question = memory_text("%s,%s", p->lab, p->name);
    double seconds = (double)NAN;
    if (!peer->is_gone && peer->reference.process == 0) {
        start_peer(c, peer);
        if (peer->is_gone)
            tell_peer(peer, when);
    }
    if (!peer->is_gone) {
        seconds = reference_window(&peer->reference, question, parameters(p));
        if (isnan(seconds))
            tell_peer(peer, when);
    }
    free(question);
    free(when);
    return seconds;
}

/* Whether there is PyTorch. */
static bool meet(struct contest *c)
{
    struct peer *first = &c->peers[0];
    const char *told = c->bench->options.torch;
    if (told && strcmp(told, "none") == 0) {
        printf("not measured: --torch none\n");
        return false;
    }
    first->is_gone = true;
    for (int i = 0; i < (told ? 1 : PYTHONS) && first->is_gone; i++) {
        c->python = told ? told : pythons[i];
        start_peer(c, first);
        if (first->is_gone)
            printf("%s: %s\n", c->python, first->reference.lacks);
    }
    if (first->is_gone) {
        printf("not measured: no PyTorch; --torch names the Python that has it\n");
        return false;
    }
    start_peer(c, &c->peers[1]);
    printf("beside %s\n", first->reference.about);
    rows_tell(&c->bench->rows, "torch", first->reference.about);
    return true;
}

/* --- in turns ---------------------------------------------------------------------------------------------------- */

static void play_case(struct contest *c, const struct published *p)
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

/* A round's geometric mean over the cases; NaN where one of them failed. */
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

/* Each case that was published once: several labs have one under a name of their own, and one lab under the post's. */
static void play_all(struct contest *c)
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
        play_case(c, &p);
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
    if (meet(&c)) {
        c.scratch = scratch_open(SCRATCH_BYTES);
        play_all(&c);
        scratch_close(&c.scratch);
    }
    for (int i = 0; i < PEERS; i++)
        reference_close(&c.peers[i].reference);
    free(c.logs);
}
