/* bench_ranks: measures among ranks, for the benchmark. Only build/bin/bench starts this program; bench reads the file given by
 * --out: a row per round, in seconds. The benchmark starts each job a dozen times; ranks.h says why both sides of a pair are in one
 * process. */
#include "ranks.h"

#include "base/die.h"
#include "base/memory.h"
#include "base/stats.h"
#include "collective/collective.h"
#include "device/device.h"
#include "launch/flight_recorder.h"
#include "launch/job.h"
#include "options/options.h"
#include "world/world.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOWED_S = 600 }; /* timeout without a heartbeat */

static const struct {
    const char *name;
    void (*run)(struct ranks *ranks);
} jobs[] = { { "sums", ranks_sums },     { "waiting", ranks_waiting },   { "share", ranks_share },
             { "clocks", ranks_clocks }, { "products", ranks_products }, { "steps", ranks_steps } };
enum { JOBS = sizeof jobs / sizeof *jobs, PLAIN = JOBS };

struct options {
    int job, rounds, steps;
    bool is_toy;
    const char *products, *out;
};

#define AT(member) offsetof(struct options, member)
static const struct option_row rows[] = {
    { "--job", OPTION_CHOICE, AT(job), 0, 0, "sums waiting share clocks products steps plain", "what is measured" },
    { "--rounds", OPTION_INTEGER, AT(rounds), 0, 1000, "N", "turns of each pair; 0: as many as the pair needs" },
    { "--toy", OPTION_SWITCH, AT(is_toy), 0, 0, "", "small models" },
    { "--steps", OPTION_INTEGER, AT(steps), 0, 1000000, "N", "steps, for a job that has steps" },
    { "--products", OPTION_TEXT, AT(products), 0, 0, "FILE", "file of the fastest products of a step" },
    { "--out", OPTION_TEXT, AT(out), 0, 0, "FILE", "file of the results" },
    { 0 },
};
#undef AT

int ranks_rounds(const struct ranks *ranks, int usual)
{
    return ranks->rounds ? ranks->rounds : usual;
}

/* all: return, on rank 0, the seconds of the slowest rank in each round. */
static double *slowest_of(struct world *world, const double *mine, int count)
{
    int size = world_size(world);
    double *all = memory_new((size_t)count * (size_t)size, sizeof *all);
    world_gather(world, mine, (size_t)count * sizeof *mine, all);
    for (int rank = 1; rank < size && world_rank(world) == 0; rank++)
        for (int i = 0; i < count; i++)
            all[i] = fmax(all[i], all[(ptrdiff_t)rank * count + i]);
    return all;
}

void ranks_found(struct ranks *ranks, const char *what, double per_second, double goal, const double *ours,
                 const double *reference, int count)
{
    double *mine = slowest_of(ranks->world, ours, count), *theirs = slowest_of(ranks->world, reference, count);
    for (int i = 0; i < count && ranks->found.out; i++)
        do {
            csv_text(&ranks->found, "what", what);
            csv_number(&ranks->found, "per_second", per_second);
            csv_number(&ranks->found, "goal", goal);
            csv_number(&ranks->found, "ours", mine[i]);
            csv_number(&ranks->found, "reference", theirs[i]);
        } while (csv_end_row(&ranks->found));
    free(mine);
    free(theirs);
    world_set_timeout(ranks->world, ALLOWED_S);
}

void ranks_found_difference(struct ranks *ranks, const char *what, double per_second, double goal, const double *ours,
                            const double *reference, int count)
{
    enum { SEGMENTS_MOST = 20 };
    int segments = count < SEGMENTS_MOST ? count : SEGMENTS_MOST, of_each = count / segments;
    double typical[SEGMENTS_MOST], typical_reference[SEGMENTS_MOST];
    for (int i = 0; i < segments; i++) {
        typical[i] = fmax(1e-10, stats_lower_median(ours + (ptrdiff_t)i * of_each, of_each));
        typical_reference[i] = stats_lower_median(reference + (ptrdiff_t)i * of_each, of_each);
    }
    ranks_found(ranks, what, per_second, goal, typical, typical_reference, segments);
}

static void measure(const struct options *o)
{
    struct ranks ranks = { .world = world_open(ALLOWED_S),
                           .sizes = o->is_toy ? step_sizes_toy() : step_sizes_published(),
                           .rounds = o->rounds,
                           .steps = o->steps,
                           .products = o->products };
    device_open(world_rank(ranks.world), PRECISION_FP32);
    collective_begin(ranks.world, false, 0);
    world_set_timeout(ranks.world, ALLOWED_S);
    bool is_first = world_rank(ranks.world) == 0;
    if (is_first && !(ranks.found.out = fopen(o->out, "w")))
        die(STATUS_WRONG, "cannot write %s: %s", o->out, strerror(errno));
    jobs[o->job].run(&ranks);
    if (is_first && fclose(ranks.found.out) != 0)
        die(STATUS_WRONG, "cannot write %s: %s", o->out, strerror(errno));
    if (is_first)
        flight_recorder_end(world_recorder(ranks.world));
    device_close();
    world_close(ranks.world);
}

int main(int argc, char **argv)
{
    static const struct option_row *const tables[] = { rows, NULL };
    struct options o = { .products = "/dev/null", .out = "/dev/null" };
    job_arguments(&argc, &argv);
    options_parse(tables, &o, "bench_ranks: what the benchmark measures among ranks", argc, argv);
    if (!job_is_rank())
        die(STATUS_USAGE, "bench_ranks starts no ranks; start build/bin/bench instead");
    if (o.job == PLAIN)
        ranks_plain(o.steps);
    else
        measure(&o);
    return STATUS_RIGHT;
}
