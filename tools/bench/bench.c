/* bench: compares the labs and the harness with the limits of the machine
 *
 *     bench --out results        (build/bin/; ./run_all.sh --bench builds and starts it)
 *
 * Each part compares our code with a limit or with another program. Both take turns in one run, so that noise of the machine
 * affects both. Each pair has twelve starts, every one of them in new processes; every second begins with the reference. A start
 * counts by one number per side. A start of which other programs took 5 % or more is repeated, at most twice (guard.h). A line
 * shows the ratio ours / reference of paired starts, its interval and the goal. bench.csv (rows.h) is rewritten after each line,
 * so a stopped benchmark keeps its results.
 *
 * Exit status: 0 measured, with any result; 1 an error; 2 bad usage. */
#include "bench.h"

#include "base/cores.h"
#include "base/die.h"
#include "base/folders.h"
#include "base/memory.h"
#include "card/card.h"
#include "device/device.h"
#include "launch/blas_kernel.h"
#include "options/options.h"

#include <stdlib.h>

#define PART_WORDS                                                                                                     \
    "steps harness sums waiting start memory simulated dedicated labs ddp tokens triage triage_here breaks" /* in the order of parts[] */
static void (*const parts[])(struct bench *bench) = {
    bench_steps,     bench_harness, bench_sums, bench_waiting, bench_start,  bench_memory,      bench_simulated,
    bench_dedicated, bench_labs,    bench_ddp,  bench_tokens,  bench_triage, bench_triage_here, bench_breaks,
};
enum { PARTS = sizeof parts / sizeof *parts };

#define AT(member) offsetof(struct bench_options, member)
static const struct option_row option_rows[] = {
    { "--part", OPTION_CHOICE, AT(part), 0, 0, "all " PART_WORDS, "what is measured" },
    { "--rounds", OPTION_INTEGER, AT(rounds), 0, BENCH_STARTS_MOST, "N",
      "starts of each pair, and turns in each; 0: 12, and as many turns as the pair needs" },
    { "--toy", OPTION_SWITCH, AT(is_toy), 0, 0, "",
      "small models and few ranks, to see that every row comes out; compares nothing" },
    { "--first", OPTION_INTEGER, AT(first), 1, 1000000, "N", "seed of the first hidden fault (triage, breaks)" },
    { "--torch", OPTION_TEXT, AT(torch), 0, 0, "PYTHON",
      "a Python with a current PyTorch, measured beside the system's; none: no PyTorch" },
    { "--system", OPTION_TEXT, AT(system), 0, 0, "PYTHON", "the system's Python, if not python3; none: leave it out" },
    { "--root", OPTION_TEXT, AT(root), 0, 0, "DIR", "folder whose proc/ shows steal time and load, for tests" },
    { "--run", OPTION_TEXT, AT(run), 0, 0, "ID", "name of this run in every row, if not made from date and time" },
    { "--out", OPTION_TEXT, AT(out), 0, 0, "DIR", "folder of the results" },
    { 0 },
};
#undef AT
static const struct option_row *const tables[] = { option_rows, NULL };

int bench_starts(const struct bench *bench)
{
    return bench->options.rounds ? bench->options.rounds : BENCH_STARTS;
}

static char *preamble_of(const struct bench_options *options, const struct provenance *provenance)
{
    char *text = NULL, cpu[CARD_NAME];
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    cores_name(cpu, CARD_NAME);
    fprintf(out, "# lockstep: %s\n# command: bench ", LOCKSTEP_VERSION);
    options_echo(out, tables, options, NULL);
    fputc('\n', out);
    provenance_head(provenance, out);
    fprintf(out, "# machine: %s\n# cores: %d\n# kernel: %s\n", cpu, cores_here(), device_kernel());
    fclose(out);
    return text;
}

int main(int argc, char **argv)
{
    struct bench bench = { .options = { .first = 1, .root = "", .out = "results" } };
    options_parse(tables, &bench.options, "bench: what we measure with, beside the limits of the machine", argc, argv);
    const char *folder = bench.options.out;
    file_refuse_out(folder, file_make_folder(folder));
    blas_kernel_choose(argv);
    const struct provenance provenance = provenance_new(bench.options.run);
    char *preamble = preamble_of(&bench.options, &provenance);
    rows_open(&bench.rows, folder, preamble, &provenance);
    free(preamble);
    for (int i = 0; i < PARTS; i++)
        if (bench.options.part == 0 || bench.options.part == i + 1)
            parts[i](&bench);
    printf("\nAll lines: %s/bench.csv\n", folder);
    rows_close(&bench.rows);
    return bench.went_wrong ? STATUS_WRONG : STATUS_RIGHT;
}
