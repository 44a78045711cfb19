#include "contest.h"

#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "bench/reference.h"
#include "guard.h"
#include "jobs.h"
#include "launch/blas_kernel.h"
#include "launch/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_BYTES = 64 << 20, PEERS_MOST = 4 }; /* tables, spans and trace of two labs take about 10 MB */

/* Commands that may have the system's PyTorch: on many machines another Python precedes Debian's in PATH. */
static const char *const pythons[] = { "python3", "/usr/bin/python3" };
enum { PYTHONS = sizeof pythons / sizeof *pythons };

/* One PyTorch program. */
struct peer {
    const char *python;
    bool is_tuned;         /* pages kept, and our kernel if it can take that */
    bool takes_our_kernel; /* its BLAS is OpenBLAS; another one ignores the setting */
    struct reference reference;
    bool is_gone;    /* cannot be started */
    char *name;      /* such as "PyTorch 2.15.0, tuned" */
    char *beside;    /* version, BLAS and settings, for bench.csv */
    double *seconds; /* (case, start) per step */
};

struct contest {
    struct bench *bench;
    struct scratch scratch;
    int starts, cases, peers;
    const struct contest_case *at; /* (cases) */
    double *seconds;               /* (case, start) per step of our labs */
    bool *is_disturbed;            /* (case, start) */
    double busy;                   /* CPU seconds of all windows of PyTorch */
    struct peer peer[PEERS_MOST];
};

/* --- ours -------------------------------------------------------------------------------------------------------- */

/* Print the last line of a failed lab's output: its error message, if any. */
static void print_failure(const struct contest *c, const struct contest_case *p, int start, int status,
                          const char *said)
{
    char *text = file_read(said, NULL), *last = text;
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
        last = line;
    printf("  %s, start %d of %d: our lab ended with status %d: %s\n", p->name, start + 1, c->starts, status,
           last && *last ? last : "it printed nothing");
    fflush(stdout);
    free(text);
}

/* Return the milliseconds of the case from the summary of a lab that succeeded. */
static double read_summary(const char *path, const struct contest_case *p)
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
static double our_window(const struct contest *c, const struct contest_case *p, int start)
{
    char *out = memory_text("%s/%s", c->scratch.folder, p->data), ranks[24] = "";
    char *said = memory_text("%s/said", c->scratch.folder), *summary = memory_text("%s/%s/summary.csv", out, p->lab);
    if (p->asks_for_ranks)
        snprintf(ranks, sizeof ranks, "\n--ranks=%d", p->ranks);
    int status =
        jobs_lab(p->lab, said, "--backend=mpi\n--rounds=1\n--cases\n%s\n--out\n%s%s", p->name, out, ranks).status;
    double seconds = (double)NAN;
    if (status == STATUS_RIGHT)
        seconds = read_summary(summary, p) * 1e-3;
    else
        print_failure(c, p, start, status, said);
    c->bench->went_wrong |= status != STATUS_RIGHT && status != STATUS_CANNOT;
    free(summary);
    free(said);
    free(out);
    return seconds;
}

/* --- theirs ------------------------------------------------------------------------------------------------------ */

/* Return our choice of OpenBLAS kernel as a setting; NULL if there was none to make. */
static char *our_kernel(void)
{
    const char *kernel = getenv("OPENBLAS_CORETYPE");
    return kernel && *kernel ? memory_text("OPENBLAS_CORETYPE=%s", kernel) : NULL;
}

/* Return our kernel as a setting if this peer is given it, NULL otherwise. Free it. */
static char *kernel_for(const struct peer *peer)
{
    return peer->is_tuned && peer->takes_our_kernel ? our_kernel() : NULL;
}

/* Start a PyTorch program: a tuned one with our choices in its environment, the other one without. */
static void start_peer(struct peer *peer)
{
    static const char *const keeping_pages[] = { "MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=17179869184",
                                                 "MALLOC_TOP_PAD_=268435456", "MALLOC_ARENA_MAX=1" };
    char *words[REFERENCE_WORDS_MOST] = { 0 }, *kernel = kernel_for(peer);
    int count = 0;
    if (peer->is_tuned)
        words[count++] = memory_text("env");
    if (kernel)
        words[count++] = kernel;
    for (size_t i = 0; peer->is_tuned && i < sizeof keeping_pages / sizeof *keeping_pages; i++)
        words[count++] = memory_text("%s", keeping_pages[i]);
    words[count++] = memory_text("%s", peer->python);
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
    printf("  %s: %s stopped: %s\n", when, peer->name, peer->reference.lacks);
    fflush(stdout);
}

/* Return seconds per step in PyTorch; NaN if the program stopped. Restart it for the next window, unless it cannot start. */
static double their_window(struct contest *c, struct peer *peer, const struct contest_case *p, int start)
{
    char *when = memory_text("%s, start %d of %d", p->name, start + 1, c->starts);
    char *question = memory_text("%s,%s", p->lab, p->name);
    double seconds = (double)NAN;
    if (!peer->is_gone && peer->reference.process == 0) {
        start_peer(peer);
        if (peer->is_gone)
            print_peer_stopped(peer, when);
    }
    if (!peer->is_gone) {
        double before = peer->reference.busy;
        seconds = reference_window(&peer->reference, question, (double)workload_parameters(p->model));
        c->busy += peer->reference.busy - before;
        if (isnan(seconds))
            print_peer_stopped(peer, when);
    }
    free(question);
    free(when);
    return seconds;
}

/* Name a peer by what it printed: "PyTorch 2.15.0, MKL 2024.2 (its own kernel), gloo, …". */
static void name_peer(struct peer *peer)
{
    const char *about = peer->reference.about;
    int version = (int)strcspn(about, ","), blas = version + (about[version] ? 1 : 0);
    blas += (int)strcspn(about + blas, ",");
    char *kernel = kernel_for(peer);
    peer->name = memory_text("%.*s%s", version, about, peer->is_tuned ? ", tuned" : "");
    peer->beside = memory_text("%.*s%s%s%s", blas, about, kernel ? ", " : "", kernel ? kernel : "",
                               peer->is_tuned ? ", pages kept" : "");
    free(kernel);
}

/* Add a peer if its program starts. Otherwise print the reason and return false. `plain`: the same program, not tuned; NULL: this is it. */
static bool add_peer(struct contest *c, const char *python, const struct peer *plain)
{
    struct peer *peer = &c->peer[c->peers];
    *peer = (struct peer){ .python = python,
                           .is_tuned = plain != NULL,
                           .takes_our_kernel = plain && strstr(plain->beside, "OpenBLAS") };
    start_peer(peer);
    if (peer->is_gone) {
        printf("%s: %s\n", python, peer->reference.lacks);
        return false;
    }
    name_peer(peer);
    for (int i = 0; i < c->peers; i++)
        if (strcmp(c->peer[i].beside, peer->beside) == 0) {
            printf("%s has the same PyTorch as %s, which takes part once\n", python, c->peer[i].python);
            reference_close(&peer->reference);
            free(peer->name);
            free(peer->beside);
            return false;
        }
    peer->seconds = memory_new((size_t)(c->cases * c->starts), sizeof *peer->seconds);
    char *kernel = kernel_for(peer);
    printf("beside %s%s%s%s\n", peer->reference.about, plain ? ", tuned: " : "", kernel ? "our kernel, " : "",
           plain ? "pages kept" : "");
    free(kernel);
    rows_tell(&c->bench->rows, "torch", peer->beside);
    c->peers++;
    return true;
}

static bool add_python(struct contest *c, const char *python)
{
    if (!add_peer(c, python, NULL))
        return false;
    add_peer(c, python, &c->peer[c->peers - 1]);
    return true;
}

static bool is_none(const char *option)
{
    return option && strcmp(option, "none") == 0;
}

/* Start all PyTorch programs. Return false, and print the reason, if there is no PyTorch. */
static bool open_peers(struct contest *c)
{
    const struct bench_options *o = &c->bench->options;
    if (is_none(o->torch)) {
        printf("not measured: --torch none\n");
        return false;
    }
    bool is_found = is_none(o->system);
    for (int i = 0; i < (o->system ? 1 : PYTHONS) && !is_found; i++)
        is_found = add_python(c, o->system ? o->system : pythons[i]);
    if (o->torch)
        add_python(c, o->torch);
    if (c->peers == 0)
        printf("not measured: no PyTorch; name a Python that has it with --torch\n");
    return c->peers > 0;
}

/* End the programs; start them anew for the next start. */
static void restart_peers(struct contest *c)
{
    for (int i = 0; i < c->peers; i++) {
        struct peer *peer = &c->peer[i];
        reference_close(&peer->reference);
        if (!peer->is_gone)
            start_peer(peer);
        if (peer->is_gone)
            print_peer_stopped(peer, "between starts");
    }
}

/* --- all in turns ---------------------------------------------------------------------------------------------------- */

/* A case in a start. */
struct turn {
    struct contest *contest;
    int number, start;
};

/* Run the case once in each program, in an order that alternates from start to start. */
static bool run_once(void *argument)
{
    const struct turn *t = argument;
    struct contest *c = t->contest;
    const int number = t->number, start = t->start;
    const struct contest_case *p = &c->at[number];
    int at = number * c->starts + start;
    for (int turn = 0; turn <= c->peers; turn++) {
        int side = start % 2 ? c->peers - turn : turn; /* 0: ours */
        if (side)
            c->peer[side - 1].seconds[at] = their_window(c, &c->peer[side - 1], p, start);
        else
            c->seconds[at] = our_window(c, p, start);
    }
    return true;
}

static void run_case(struct contest *c, int number, int start)
{
    const struct guard guard = { .root = c->bench->options.root, .ranks = c->at[number].ranks, .living = &c->busy };
    c->is_disturbed[number * c->starts + start] =
        guard_run(&guard, run_once, &(struct turn){ .contest = c, .number = number, .start = start });
}

static void add_case_rows(struct contest *c, int number)
{
    const struct contest_case *p = &c->at[number];
    const ptrdiff_t at = (ptrdiff_t)number * c->starts;
    for (int i = 0; i < c->peers; i++) {
        struct compared row = { .what = memory_text("%s (%s) against %s, ms", p->name, p->lab, c->peer[i].name),
                                .beside = c->peer[i].beside,
                                .per_second = 1e3,
                                .count = c->starts,
                                .is_disturbed = c->is_disturbed + at,
                                .goal = 1 };
        memcpy(row.ours, c->seconds + at, (size_t)c->starts * sizeof *row.ours);
        memcpy(row.reference, c->peer[i].seconds + at, (size_t)c->starts * sizeof *row.reference);
        rows_add_starts(&c->bench->rows, &row);
    }
}

static bool has(const struct contest_group *group, const struct contest_case *p)
{
    return (group->ranks == 0 || p->ranks == group->ranks) && !(group->without_sleep && p->sleeps);
}

/* Return the geometric mean of seconds (case, start) over the cases of a group; NaN if one of them failed. */
static double mean_of(const struct contest *c, const struct contest_group *group, const double *seconds, int start)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < c->cases; i++)
        if (has(group, &c->at[i])) {
            sum += log(seconds[i * c->starts + start]);
            count++;
        }
    return exp(sum / count);
}

/* Add a row per group and PyTorch program: geometric mean of each start over the cases. */
static void add_means(struct contest *c, const struct contest_group *group)
{
    bool is_disturbed[BENCH_STARTS_MOST] = { false }; /* one of the cases was */
    int cases = 0;
    for (int i = 0; i < c->cases; i++) {
        cases += has(group, &c->at[i]);
        for (int start = 0; start < c->starts && has(group, &c->at[i]); start++)
            is_disturbed[start] |= c->is_disturbed[i * c->starts + start];
    }
    for (int i = 0; i < c->peers; i++) {
        struct compared row = { .what = memory_text("geometric mean of %d %s against %s, ms", cases, group->of,
                                                    c->peer[i].name),
                                .beside = c->peer[i].beside,
                                .per_second = 1e3,
                                .count = c->starts,
                                .is_disturbed = is_disturbed,
                                .goal = group->goal };
        for (int start = 0; start < c->starts; start++) {
            row.ours[start] = mean_of(c, group, c->seconds, start);
            row.reference[start] = mean_of(c, group, c->peer[i].seconds, start);
        }
        rows_add_starts(&c->bench->rows, &row);
    }
}

static void run_all(struct contest *c, const struct contest_group *groups, int group_count)
{
    c->scratch = scratch_open(SCRATCH_BYTES);
    for (int start = 0; start < c->starts; start++) {
        if (start > 0)
            restart_peers(c);
        for (int i = 0; i < c->cases; i++)
            run_case(c, i, start);
    }
    for (int i = 0; i < c->cases; i++)
        add_case_rows(c, i);
    for (int i = 0; i < group_count; i++)
        add_means(c, &groups[i]);
    scratch_close(&c->scratch);
}

void contest_run(struct bench *bench, const struct contest_case *cases, int count, const struct contest_group *groups,
                 int group_count)
{
    struct contest c = { .bench = bench, .starts = bench_starts(bench), .at = cases, .cases = count };
    c.seconds = memory_new((size_t)(c.cases * c.starts), sizeof *c.seconds);
    c.is_disturbed = memory_new((size_t)(c.cases * c.starts), sizeof *c.is_disturbed);
    if (open_peers(&c))
        run_all(&c, groups, group_count);
    for (int i = 0; i < c.peers; i++) {
        reference_close(&c.peer[i].reference);
        free(c.peer[i].name);
        free(c.peer[i].beside);
        free(c.peer[i].seconds);
    }
    free(c.seconds);
    free(c.is_disturbed);
}
