/* Simulated dedicated cores (--backend sim) against real ones: each lab with two ranks, once on this machine's cores and once on
 * simulated copies of a core, in turns. Data, local work, waiting and transfer are compared apart: in a sum errors could cancel. The
 * simulation measures local work on this machine, too, and its messages cost what an all-reduce of two real ranks takes here. So
 * equal local times and transfers show consistency; only the waiting is predicted.
 *
 * Two more rows test assumptions of the simulation. Simulated ranks compute in turns, and the order of turns must not change a rank's
 * time. And --membus 1 divides a core's speed by the ranks that compute, as if all work waited for memory; beside it stands a real
 * rank, alone and beside a core that copies memory. */
#include "bench.h"

#include "base/cores.h"
#include "base/csv.h"
#include "base/die.h"
#include "base/memory.h"
#include "guard.h"
#include "jobs.h"
#include "launch/platform.h"
#include "launch/scratch.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCRATCH_BYTES = 128 << 20 /* shards of lab 08 and tables */, CASES = 2, PHASES = 4, SIDES = 2, RANKS = 2 };

/* Each lab's reference case, and one in which its fault acts. */
static const struct pairing {
    const char *lab, *name[CASES];
} pairings[] = {
    { "01_straggler", { "baseline", "skew_ws4" } },
    { "02_rank0_host", { "baseline", "barrier_ws4" } },
    { "03_comm_bound", { "baseline", "comm_kept_ws4" } },
    { "04_small_work", { "weak_ws4", "small_ws4" } },
    { "05_token_skew", { "fixed_sample_ws4", "variable_sample_ws4" } },
    { "06_ring_allreduce", { "baseline", "by_gather" } },
    { "07_triage", { "baseline", "memory_fp32" } }, /* real ranks share the memory, simulated ones do not */
    { "08_token_loader", { "views", "slow_disk" } },
    { "09_ddp_inside", { "baseline", "per_tensor" } },
    { "10_memory", { "baseline", "zero3" } },
};
static const char *const phases[PHASES] = { "local", "wait", "transfer", "data" };

/* A phase shorter than this share of the step says nothing of the simulation: it has noise alone. */
static const double least_share = 0.02;

/* Milliseconds of a lab's cases in one launch. */
struct launch {
    double phase[CASES][PHASES], step[CASES];
};

/* A side of a pair: options of the lab, and the folder below --out in which its summary is. */
struct side {
    const char *words, *folder;
};
static const struct side real = { "--backend=mpi", "" }, simulated = { "--backend=sim", "/platforms/dedicated-cores" },
                         alone = { "--backend=mpi\n--ranks=1", "" },
                         shares_memory = { "--membus=1", "/platforms/dedicated-cores-membus1" };

static struct launch launch_lab(const struct scratch *scratch, const struct pairing *pairing, const struct side *side)
{
    jobs_lab(pairing->lab, NULL, "--ranks=2\n--rounds=1\n--keep-card\n--out\n%s\n--cases\n%s\n%s", scratch->folder,
             pairing->name[1], side->words);
    char *path = memory_text("%s%s/%s/summary.csv", scratch->folder, side->folder, pairing->lab);
    struct csv_table table = csv_open(path, (const char *const[]){ "case", "slowest_step_ms", NULL });
    struct launch launch;
    for (int i = 0; i < CASES; i++) {
        const int row = csv_find(&table, "case", pairing->name[i]);
        launch.step[i] = csv_value(&table, row, "slowest_step_ms");
        for (int phase = 0; phase < PHASES; phase++) {
            char column[32];
            snprintf(column, sizeof column, "%s_ms", phases[phase]);
            launch.phase[i][phase] = csv_value(&table, row, column);
        }
    }
    csv_free(&table);
    free(path);
    return launch;
}

/* Two sides of a pair, which take turns, and all their launches. */
struct contest {
    const struct bench *bench;
    struct scratch scratch;
    const struct pairing *pairing;
    const struct side *side[SIDES];
    void (*before)(int side), (*after)(int side); /* around a launch; NULL: nothing */
    int starts, start;
    struct launch *launch[SIDES]; /* (starts) */
    bool is_disturbed[BENCH_STARTS_MOST];
};

static bool launch_both(void *argument)
{
    struct contest *c = argument;
    for (int turn = 0; turn < SIDES; turn++) {
        const int side = c->start % 2 ? SIDES - 1 - turn : turn;
        if (c->before)
            c->before(side);
        c->launch[side][c->start] = launch_lab(&c->scratch, c->pairing, c->side[side]);
        if (c->after)
            c->after(side);
    }
    return true;
}

static void run_contest(struct contest *c)
{
    const struct guard guard = { .root = c->bench->options.root, .ranks = RANKS };
    c->starts = bench_starts(c->bench);
    for (int side = 0; side < SIDES; side++)
        c->launch[side] = memory_new((size_t)c->starts, sizeof *c->launch[side]);
    for (int side = 0; side < SIDES; side++) /* measures the machine card */
        launch_lab(&c->scratch, c->pairing, c->side[side]);
    for (c->start = 0; c->start < c->starts; c->start++)
        c->is_disturbed[c->start] = guard_run(&guard, launch_both, c);
}

static void end_contest(struct contest *c)
{
    for (int side = 0; side < SIDES; side++)
        free(c->launch[side]);
}

/* Add a row of one phase of a case, if it is long enough. `most`: the ratio may lie between 1 / most and most; NaN: anywhere. */
static void add_row(struct bench *bench, const struct contest *c, int number, int phase, char *what, double most)
{
    struct compared row = { .what = what,
                            .per_second = 1, /* milliseconds already */
                            .count = c->starts,
                            .is_disturbed = c->is_disturbed,
                            .least = 1 / most,
                            .goal = most };
    double sum = 0, step = 0;
    for (int i = 0; i < c->starts; i++) {
        row.ours[i] = c->launch[0][i].phase[number][phase];
        row.reference[i] = c->launch[1][i].phase[number][phase];
        sum += row.reference[i];
        step += c->launch[1][i].step[number];
    }
    if (sum >= least_share * step)
        rows_add_starts(&bench->rows, &row);
    else
        free(what);
}

static void compare_lab(struct bench *bench, const struct scratch *scratch, const struct pairing *pairing)
{
    struct contest c = { .bench = bench, .scratch = *scratch, .pairing = pairing, .side = { &simulated, &real } };
    run_contest(&c);
    for (int i = 0; i < CASES; i++)
        for (int phase = 0; phase < PHASES; phase++)
            add_row(bench, &c, i, phase,
                    memory_text("%s %s: %s, simulated against real, ms", pairing->lab, pairing->name[i], phases[phase]),
                    1.1);
    end_contest(&c);
}

/* --- turns ------------------------------------------------------------------------------------------------------- */

static void reverse_turns(int side)
{
    if (side == 0)
        setenv("LOCKSTEP_TURNS", "reversed", 1);
}

static void restore_turns(int side)
{
    (void)side;
    unsetenv("LOCKSTEP_TURNS");
}

static void compare_turns(struct bench *bench, const struct scratch *scratch)
{
    struct contest c = { .bench = bench,
                         .scratch = *scratch,
                         .pairing = &pairings[0],
                         .side = { &simulated, &simulated },
                         .before = reverse_turns,
                         .after = restore_turns };
    run_contest(&c);
    add_row(bench, &c, 0, 0, memory_text("local of simulated ranks whose turns are reversed, against usual, ms"), 1.02);
    end_contest(&c);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static pid_t neighbour; /* a process that copies memory; 0: none */

/* Copy memory that no cache holds until killed, or until this program ends. */
static void begin_copying(int side)
{
    enum { BYTES = 128 << 20 };
    neighbour = side == 0 ? fork() : 0;
    if (side != 0 || neighbour != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char *from = memory_new(BYTES, 1), *to = memory_new(BYTES, 1);
    for (;;) {
        memcpy(to, from, BYTES);
        memcpy(from, to, BYTES);
    }
}

static void end_copying(int side)
{
    if (side != 0)
        return;
    kill(neighbour, SIGKILL);
    waitpid(neighbour, NULL, 0);
}

static void compare_memory(struct bench *bench, const struct scratch *scratch)
{
    struct contest copying = { .bench = bench,
                               .scratch = *scratch,
                               .pairing = &pairings[0],
                               .side = { &alone, &alone },
                               .before = begin_copying,
                               .after = end_copying };
    run_contest(&copying);
    add_row(bench, &copying, 0, 0, memory_text("local of a rank beside a core that copies memory, against alone, ms"),
            (double)NAN);
    end_contest(&copying);
    struct contest c = {
        .bench = bench, .scratch = *scratch, .pairing = &pairings[0], .side = { &shares_memory, &simulated }
    };
    run_contest(&c);
    add_row(bench, &c, 0, 0, memory_text("  local of 2 simulated ranks with --membus 1, against without, ms"),
            (double)NAN);
    end_contest(&c);
}

void bench_dedicated(struct bench *bench)
{
    rows_heading("Simulated dedicated cores");
    if (cores_here() < RANKS) {
        printf("not measured: two real ranks need a core each\n");
        return;
    }
    const char *lacks = platform_lacks(pairings[0].lab);
    if (lacks) {
        printf("none here: %s\n", lacks);
        return;
    }
    struct scratch scratch = scratch_open(SCRATCH_BYTES);
    for (size_t i = 0; i < sizeof pairings / sizeof *pairings; i++)
        compare_lab(bench, &scratch, &pairings[i]);
    compare_turns(bench, &scratch);
    compare_memory(bench, &scratch);
    scratch_close(&scratch);
}
