#include "frame/dry_run.h"

#include "base/die.h"
#include "base/memory.h"
#include "card/calibrate.h"
#include "card/dedicated_cores.h"
#include "frame/rank_memory.h"
#include "model/gradcheck.h"
#include "options/memory_estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- memory ----------------------------------------------------------------------------------------------------- */

/* Bytes beside the buffers that a rank opens: libraries and their buffers. PROCESS is per real rank, LAUNCHER for the process
 * that starts them; SIMULATED is per simulated rank, SIMULATOR for the process that runs them. Seen on x86-64 with Open MPI 4.1,
 * OpenBLAS 0.3.21 and SimGrid 3.32. */
static const double PROCESS = 20e6, LAUNCHER = 28e6, SIMULATED = 12e6, SIMULATOR = 60e6;

/* Estimate the most of the three phases, which follow one another: machine card, gradient check, training. */
static struct memory_estimate memory_of_phases(const struct dry_run *p)
{
    const struct run *run = (const struct run *)p->base;
    const struct workload *workload = workload_of(p->base);
    const struct card_uses uses = lab_spec_uses(p->spec, p->base);
    struct memory_estimate card = calibrate_memory(workload, run, &uses);
    struct memory_estimate rank =
        memory_estimate_most(gradcheck_memory(workload, run), rank_memory_most(p->spec, p->base, p->is_simulated));
    return memory_estimate_most(card, memory_estimate_times(rank, run->ranks));
}

/* Estimate the memory of all ranks together. */
static struct memory_estimate memory_of_all(const struct dry_run *p)
{
    const double ranks = ((const struct run *)p->base)->ranks;
    bool is_modelled = p->platform && p->platform->is_modelled;
    struct memory_estimate memory = { 0 };
    if (!is_modelled && !p->on_gpus)
        memory = memory_of_phases(p);
    memory.of[MEMORY_PROGRAM] = fmax(p->real_ranks ? LAUNCHER + p->real_ranks * PROCESS : 0,
                                     p->is_simulated ? SIMULATOR + ranks * SIMULATED : 0);
    if (p->cases->count > 0 && p->cases->settings[0])
        memory.of[MEMORY_MEASURING] = cases_record(p->cases, p->spec);
    return memory;
}

static void refuse_beyond(double available, const struct dry_run *p, const char *typed)
{
    const struct memory_estimate memory = memory_of_all(p);
    const double sum = memory_estimate_sum(&memory);
    const int ranks = ((const struct run *)p->base)->ranks;
    if (sum <= available)
        return;
    char *name = workload_name(workload_of(p->base));
    die(STATUS_USAGE, "%s: %d rank%s of %s need%s %.*f GB of memory, most of it for %s, but %.1f GB are free; use %s",
        *typed ? typed : "the default settings", ranks, ranks == 1 ? "" : "s", name, ranks == 1 ? "s" : "",
        sum < 10e9 ? 1 : 0, sum / 1e9, memory_estimate_largest(&memory), available / 1e9,
        memory_estimate_cure(&memory));
}

/* Join words into "--steps 100 --hidden-dim 65536", shortened, without --dry-run. Free it. */
static char *join(char *const *words)
{
    enum { MOST = 120 };
    char *joined = memory_text("%s", "");
    for (; *words && strlen(joined) < MOST; words++) {
        if (strcmp(*words, "--dry-run") == 0)
            continue;
        char *longer = memory_text("%s%s%.60s", joined, *joined ? " " : "", *words);
        free(joined);
        joined = longer;
    }
    return joined;
}

/* Check twice: each rank's buffers are known at once, but the size of the spans needs the cases' settings, which may take a
 * while. */
void dry_run_refuse_memory(const struct dry_run *p, char *const *arguments)
{
    const double available = memory_available();
    if (available <= 0)
        return;
    char *typed = join(arguments + 1);
    refuse_beyond(available, p, typed);
    cases_settle(p->cases, p->spec, p->base, NULL);
    refuse_beyond(available, p, typed);
    free(typed);
}

/* --- text ------------------------------------------------------------------------------------------------------- */

static void print_cases(FILE *out, const struct dry_run *p)
{
    const bool has_other_job = lab_spec_has_other_job(p->spec, p->base),
               card_only = ((const struct run *)p->base)->card_only;
    const char *none = has_other_job ? "none: the ranks have another job, which writes no tables"
                       : card_only   ? "none: the machine card is measured, printed and saved"
                                     : NULL;
    fprintf(out, "  cases     %s", none ? none : "");
    for (int i = 0; !none && i < p->cases->named; i++)
        fprintf(out, "%s%s", i ? ", " : "", p->cases->variant[i]->name);
    if (!none && p->cases->count > p->cases->named)
        fprintf(out, "; and %d changes to them, for the verdict", p->cases->count - p->cases->named);
    fputc('\n', out);
}

static void print_ranks(FILE *out, const struct dry_run *p)
{
    const int ranks = ((const struct run *)p->base)->ranks;
    fprintf(out, "  ranks     %d", ranks);
    if (p->platform)
        fprintf(out, " on %s, simulated: %s", p->platform->name,
                p->platform->is_modelled ? "the platform file gives all costs, and ranks compute nothing"
                                         : "ranks compute one after the other");
    else if (p->is_simulated)
        fprintf(out, " on dedicated cores, simulated: ranks compute one after the other");
    const int real = p->real_ranks, cores = p->cores < real ? p->cores : real;
    if (p->is_simulated && real)
        fprintf(out, "; then %d real ranks", real);
    if (real && p->on_gpus)
        fprintf(out, " that train on %s", p->on_gpus);
    else if (real)
        fprintf(out, " on %s%d core%s of this machine%s", real > p->cores ? "the " : "", cores, cores == 1 ? "" : "s",
                real > p->cores ? ", which they share" : "");
    fputc('\n', out);
}

static void print_memory(FILE *out, const struct dry_run *p)
{
    struct memory_estimate memory = memory_of_all(p);
    double sum = memory_estimate_sum(&memory);
    fprintf(out, "  memory    %.2f GB for all ranks, most of it for %s; %.1f GB are free\n", sum / 1e9,
            memory_estimate_largest(&memory), memory_available() / 1e9);
}

/* Print the folders of results. Simulated and real ranks never share a table, so each kind has its own folder. */
static void print_results(FILE *out, const struct dry_run *p)
{
    const struct run *run = (const struct run *)p->base;
    char *dedicated = dedicated_cores_name(run->membus);
    const char *places[] = { p->platform       ? p->platform->name
                             : p->is_simulated ? dedicated
                                               : NULL,
                             p->real_ranks ? "here" : NULL };
    const char *before = "  results   into ";
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i]) {
            char *folder = run_folder(run, places[i]);
            fprintf(out, "%s%s/%s", before, folder, p->spec->lab);
            free(folder);
            before = ", then into ";
        }
    fputc('\n', out);
    free(dedicated);
}

void dry_run_tell(FILE *out, const struct dry_run *p)
{
    struct options *copy = lab_spec_settings(p->spec, p->base, &(struct variant){ 0 });
    struct run *run = run_of(copy);
    run->dry_run = false;
    fprintf(out, "%s ", p->spec->lab);
    options_echo(out, p->tables, copy, NULL);
    fprintf(out, "\n\nNothing was started. This would run:\n");
    print_cases(out, p);
    print_ranks(out, p);
    char *name = workload_name(workload_of(p->base));
    fprintf(out, "  model     %s: %.0f parameters\n", name, (double)workload_parameters(workload_of(p->base)));
    print_memory(out, p);
    if (!lab_spec_has_other_job(p->spec, p->base))
        print_results(out, p);
    free(name);
    free(copy);
}
