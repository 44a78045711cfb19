/* triage: measures how often the verdict of lab 07 is right: hidden mixtures of causes, 200 on a modelled machine and 40 on this one.
 *
 * Each is a run of `07_triage --blind` with a seed of its own: the lab draws causes and shares, one of which leads by at least 15 points,
 * sizes the step by the machine card, makes its changes, and says what bounds the step. The truth is what was drawn. The modelled machine
 * has the costs of a desktop core and no noise: it shows whether the changes find what was put in. This machine shows whether they do so
 * among noise, and whether the card sizes the parts as drawn.
 *
 * Prints the confusion matrix, errors of the shares, and what the verdicts cost: calls of the lab, each with processes of its own, and
 * seconds. A verdict is one call; on this machine one more call measures the machine card for all. triage.csv and triage_here.csv have
 * a row per fault: `machine`, `seed`; the shares as drawn and as found, in % of a step; `cause` and `bound_by`; `right` (1, 0, or blank if
 * undetermined), `seconds`. Of four seeds that begin with 1, 5, 9 … each leads with another cause. --rounds N: N faults on each machine. */
#include "bench.h"

#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "jobs.h"
#include "launch/platform.h"
#include "launch/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAUSES = 4, UNDETERMINED = CAUSES, MODELLED = 200, REAL = 40, SCRATCH_BYTES = 64 << 20 };
static const char LAB[] = "07_triage";
static const char *const causes[CAUSES + 1] = { "data", "launches", "memory", "compute", "undetermined" };
static const double NEAR = 10; /* points */

/* Seconds of rounds for a fault. Shares of memory and compute are noisy: their factor of two makes the variance four times as large. */
static const char HERE_SECONDS[] = "16";

/* A core of a desktop and its memory, as lab 07 measures them (rounded): costs of training, of a branch, and of the transform. */
static const char MACHINE[] =
    "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform "
    "version=\"4.1\">\n"
    "<zone id=\"core\" routing=\"Full\"><host id=\"core\" speed=\"1Gf\" core=\"2\">\n"
    "<prop id=\"about\" value=\"a desktop core, for hidden faults\"/><prop id=\"device\" value=\"model\"/>\n"
    "<prop id=\"ranks\" value=\"1\"/>\n"
    "<prop id=\"fetch_fixed_s\" value=\"5e-6\"/><prop id=\"forward_fixed_s\" value=\"50e-6\"/>\n"
    "<prop id=\"forward_per_sample_s\" value=\"2e-6\"/><prop id=\"backward_fixed_s\" value=\"50e-6\"/>\n"
    "<prop id=\"backward_per_sample_s\" value=\"4e-6\"/><prop id=\"update_fixed_s\" value=\"100e-6\"/>\n"
    "<prop id=\"own_dispatch_s\" value=\"40e-9\"/><prop id=\"own_dispatch_back_s\" value=\"25e-9\"/>\n"
    "<prop id=\"own_call_s\" value=\"8e-9\"/><prop id=\"own_is_async\" value=\"0\"/>\n"
    "<prop id=\"own_add_s\" value=\"0.1e-9\"/><prop id=\"own_add_back_s\" value=\"0.2e-9\"/>\n"
    "<prop id=\"own_mul_s\" value=\"0.1e-9\"/><prop id=\"own_mul_back_s\" value=\"0.3e-9\"/>\n"
    "<prop id=\"own_relu_s\" value=\"0.1e-9\"/><prop id=\"own_relu_back_s\" value=\"0.1e-9\"/>\n"
    "<prop id=\"own_sigmoid_s\" value=\"0.5e-9\"/><prop id=\"own_sigmoid_back_s\" value=\"0.4e-9\"/>\n"
    "<prop id=\"own_gelu_s\" value=\"0.9e-9\"/><prop id=\"own_gelu_back_s\" value=\"1.3e-9\"/>\n"
    "<prop id=\"own_layer_norm_s\" value=\"0.4e-9\"/><prop id=\"own_layer_norm_back_s\" value=\"0.6e-9\"/>\n"
    "<prop id=\"own_fused_micro_s\" value=\"0.45e-9\"/><prop id=\"own_fused_micro_back_s\" value=\"1e-9\"/>\n"
    "<prop id=\"own_fused_norm_s\" value=\"1.3e-9\"/><prop id=\"own_fused_norm_back_s\" value=\"3.3e-9\"/>\n"
    "<prop id=\"own_triad_bytes_per_s\" value=\"12e9\"/><prop id=\"own_chain_6m_bytes_per_s\" value=\"40e9\"/>\n"
    "<prop id=\"own_chain_14m_bytes_per_s\" value=\"33e9\"/><prop id=\"own_chain_22m_bytes_per_s\" value=\"26e9\"/>\n"
    "<prop id=\"own_chain_34m_bytes_per_s\" value=\"21e9\"/><prop id=\"own_chain_56m_bytes_per_s\" value=\"17e9\"/>\n"
    "<prop id=\"own_cache_bytes\" value=\"32768\"/>\n"
    "<prop id=\"own_transform_s\" value=\"9e-9\"/>\n"
    "</host><link id=\"loop\" bandwidth=\"1e10Bps\" latency=\"1us\"/>\n"
    "<route src=\"core\" dst=\"core\"><link_ctn id=\"loop\"/></route></zone></platform>\n";

struct fault {
    double drawn[CAUSES], found[CAUSES], seconds; /* shares in % */
    int cause, verdict;                           /* verdict: a cause or UNDETERMINED */
};

struct benchmark {
    struct scratch scratch;
    char *out; /* below it: the lab locks its folder, and the scratch is locked already */
    struct csv csv;
    const char *platform; /* NULL: this machine */
    double card_seconds;  /* of the call of the lab that measured the card; 0: none did */
};

static int index_of(const char *name)
{
    int i = 0;
    while (i < UNDETERMINED && strcmp(causes[i], name) != 0)
        i++;
    return i;
}

/* Read "data 45 launches 30" from the last row of blind.csv. */
static void read_truth(const char *path, struct fault *f)
{
    static const char *const columns[] = { "case", NULL };
    struct csv_table table = csv_open(path, columns);
    char *text = memory_text("%s", csv_field(&table, table.rows - 1, "case"));
    for (char *word = strtok(text, " "), *number; word && (number = strtok(NULL, " ")); word = strtok(NULL, " "))
        f->drawn[index_of(word) % CAUSES] = atof(number);
    for (int i = 1; i < CAUSES; i++)
        f->cause = f->drawn[i] > f->drawn[f->cause] ? i : f->cause;
    free(text);
    csv_free(&table);
}

static void read_verdict(const char *path, struct fault *f)
{
    static const char *const columns[] = { "case", "suspect", "share", "bound_by", NULL };
    struct csv_table table = csv_open(path, columns);
    for (int row = 0; row < table.rows; row++) {
        if (strcmp(csv_field(&table, row, "case"), "hidden") != 0)
            continue;
        const int i = index_of(csv_field(&table, row, "suspect"));
        if (i < CAUSES)
            f->found[i] = 100 * csv_value(&table, row, "share");
        f->verdict = index_of(csv_field(&table, row, "bound_by"));
    }
    csv_free(&table);
}

/* Run the quiz of this seed without an answer. End the program if the lab fails. */
static struct fault run_fault(const struct benchmark *b, int number)
{
    struct fault f = { .verdict = UNDETERMINED };
    char *said = memory_text("%s/said", b->scratch.folder);
    char *folder = b->platform ? memory_text("%s/platforms/machine", b->out) : memory_text("%s", b->out);
    char *verdict = memory_text("%s/blind/%s/verdict.csv", folder, LAB), *truth = memory_text("%s/blind.csv", b->out);
    const struct ending ending =
        jobs_lab(LAB, said, "--blind\n--ranks=1\n--seed=%d\n--out=%s\n--without-tables\n--keep-card\n%s=%s", number,
                 b->out, b->platform ? "--platform" : "--seconds", b->platform ? b->platform : HERE_SECONDS);
    if (ending.status != STATUS_RIGHT) {
        char *text = file_read(said, NULL);
        die(STATUS_WRONG, "%s --blind --seed %d ended with status %d: %.500s", LAB, number, ending.status,
            text ? text : "");
    }
    f.seconds = ending.seconds;
    read_truth(truth, &f);
    read_verdict(verdict, &f);
    free(truth);
    free(verdict);
    free(folder);
    free(said);
    return f;
}

static void put_fault(struct csv *csv, const char *machine, int seed, const struct fault *f)
{
    do {
        csv_text(csv, "machine", machine);
        csv_integer(csv, "seed", seed);
        for (int i = 0; i < CAUSES; i++) {
            char drawn[32], found[32];
            snprintf(drawn, sizeof drawn, "%s_drawn", causes[i]);
            snprintf(found, sizeof found, "%s_found", causes[i]);
            csv_number(csv, drawn, f->drawn[i]);
            csv_ratio(csv, found, f->found[i]);
        }
        csv_text(csv, "cause", causes[f->cause]);
        csv_text(csv, "bound_by", causes[f->verdict]);
        csv_number(csv, "right", f->verdict == UNDETERMINED ? (double)NAN : f->verdict == f->cause);
        csv_number(csv, "seconds", f->seconds);
    } while (csv_end_row(csv));
    fflush(csv->out);
}

static void print_matrix(const struct benchmark *b, const struct fault *faults, int count)
{
    int matrix[CAUSES][CAUSES + 1] = { { 0 } }, right = 0, wrong = 0, near = 0;
    double worst = 0, seconds = 0, longest = 0;
    for (int i = 0; i < count; i++) {
        const struct fault *f = &faults[i];
        matrix[f->cause][f->verdict]++;
        right += f->verdict == f->cause;
        wrong += f->verdict != f->cause && f->verdict != UNDETERMINED;
        for (int k = 0; k < CAUSES; k++) {
            const double off = fabs(f->found[k] - f->drawn[k]);
            near += off <= NEAR;
            /* not fmax(): GCC 12 for 64-bit Arm breaks off when it makes vectors of that (internal error) */
            if (off > worst)
                worst = off;
        }
        seconds += f->seconds;
        longest = fmax(longest, f->seconds);
    }
    printf("  %-12s", "drawn");
    for (int k = 0; k <= CAUSES; k++)
        printf(" %12s", causes[k]);
    putchar('\n');
    for (int cause = 0; cause < CAUSES; cause++) {
        printf("  %-12s", causes[cause]);
        for (int k = 0; k <= CAUSES; k++)
            printf(" %12d", matrix[cause][k]);
        putchar('\n');
    }
    printf("  %d of %d right, %d wrong, %d undetermined; %d of %d shares within %.0f points, the worst off by %.0f\n",
           right, count, wrong, count - right - wrong, near, CAUSES * count, NEAR, worst);
    printf("  %d calls of the lab in %.0f s: a verdict is one call and took %.1f s, at most %.1f",
           count + (b->card_seconds > 0), seconds + b->card_seconds, seconds / count, longest);
    if (b->card_seconds > 0)
        printf("; the machine card for all is one, %.0f s", b->card_seconds);
    putchar('\n');
}

static void run_all(struct benchmark *b, const char *machine, int first, int count)
{
    struct fault *faults = memory_new((size_t)count, sizeof *faults);
    for (int i = 0; i < count; i++) {
        faults[i] = run_fault(b, first + i);
        put_fault(&b->csv, machine, first + i, &faults[i]);
    }
    print_matrix(b, faults, count);
    fflush(stdout);
    free(faults);
}

/* Write the modelled machine. Return its path. */
static char *write_machine(const struct scratch *scratch)
{
    char *path = memory_text("%s/machine.xml", scratch->folder);
    FILE *out = fopen(path, "w");
    if (!out || fputs(MACHINE, out) < 0 || fclose(out) != 0)
        die(STATUS_WRONG, "cannot write %s", path);
    return path;
}

/* Run hidden faults and write `table`; platform: NULL for this machine. */
static void run_part(struct bench *bench, struct benchmark *b, const char *table, int count)
{
    struct file_set files = { 0 };
    b->csv = (struct csv){ .out = file_set_begin(&files, bench->options.out, table) };
    fputs(bench->rows.preamble, b->csv.out);
    if (!b->platform)
        b->card_seconds = jobs_lab(LAB, NULL, "--card-only\n--ranks=1\n--out=%s", b->out).seconds;
    run_all(b, b->platform ? "modelled" : "here", bench->options.first,
            bench->options.rounds ? bench->options.rounds : count);
    file_set_commit(&files);
}

static struct benchmark begin(void)
{
    struct benchmark b = { .scratch = scratch_open(SCRATCH_BYTES) };
    b.out = memory_text("%s/results", b.scratch.folder);
    return b;
}

static void end(struct benchmark *b)
{
    free(b->out);
    scratch_close(&b->scratch);
}

void bench_triage(struct bench *bench)
{
    const char *lacks = platform_lacks(LAB);
    rows_heading("Hidden faults of lab 07 on a modelled machine");
    if (lacks) {
        printf("  none: %s\n", lacks);
        return;
    }
    struct benchmark b = begin();
    char *path = write_machine(&b.scratch);
    b.platform = path;
    run_part(bench, &b, "triage.csv", MODELLED);
    free(path);
    end(&b);
}

void bench_triage_here(struct bench *bench)
{
    rows_heading("Hidden faults of lab 07 on this machine");
    struct benchmark b = begin();
    run_part(bench, &b, "triage_here.csv", REAL);
    end(&b);
}
