/* bench_gpu: times a training step on this GPU, beside its limit and a step in PyTorch
 *
 *     bench_gpu --out results        (build/lib/nccl/; ./run_all.sh --bench builds and starts it)
 *
 * One rank on one GPU, without MPI. A case is a model and a batch that stays on the GPU; a step is forward, backward and AdamW.
 * Windows of --steps steps with one synchronisation take turns: ours, PyTorch's (tools/bench/torch_step.py; first in every
 * second round), and the step's matrix products alone. Before each window weights are reset and --warm-up steps run untimed.
 * Results are medians over --windows rounds. All rounds are of one start, unlike those of bench. The interval
 * does not show how starts differ: two starts on H100s differed by up to 38 % in a step bound by launches, by 2 % in the MLP's.
 *
 * The limit of a case is the time of its work at rates measured in the same run: its own matrix products back to back, all other
 * floating-point operations at the rate of a large product, and all other bytes at the rate of a large copy. The terms add up
 * because they share one stream. The bytes of the products are left out; the products' time contains them. The L2 cache (50 MB on
 * an H100; holds all of a transformer step) is faster than a copy in memory, so a fused step could beat the limit. The limit
 * contains the launches of the products, not those of the other operations: small steps are far from it for that reason.
 *
 * bench_gpu.csv, a row per precision and case:
 *     what, precision, batch, tokens    mlp or transformer; samples or sequences; padded tokens of each sequence
 *     operations                        submitted per step: calls of device.h
 *     ours_ms, ours_host_ms             time of a step, by GPU events and by the host's clock around them
 *     events_over_host, clocks_agree    median of the windows' ratios; yes: within 2 %
 *     flops, bytes, bytes_of_products   of a step, computed (step_counts.c); bytes includes bytes_of_products
 *     copy_gb_per_s                     measured: bytes read and written by a copy
 *     large_gflop_per_s                 measured: products of --product-dim rows and columns, forward and backward
 *     products_ms                       measured: a step's matrix products alone
 *     floor_ms, share_of_limit          the limit; floor_ms / ours_ms
 *     reference_ms                      time of a step in PyTorch, by the host's clock; blank without PyTorch
 *     ratio, ratio_low, ratio_high      reference_ms / ours_host_ms of paired windows: geometric mean, Student's 95 % interval
 *     goal, holds                       intended ratio at the labs' sizes; yes, no, or not resolved
 *     run, date, commit                 the same in all rows (provenance.h)
 *
 * Exit status: 0 measured, with any result; 1 a model did not learn, or the GPU failed; 2 bad usage; 77 no GPU. */
#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/stats.h"
#include "bench/provenance.h"
#include "bench/reference.h"
#include "bench/step_counts.h"
#include "bench/step_work.h"
#include "device/device.h"
#include "options/options.h"
#include "options/precision.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISIONS = 3, ALL_PRECISIONS = PRECISIONS, CASES_MOST = 6, WINDOWS_MOST = 1000, COPIES = 10 };
static const double CLOCKS_WITHIN = 0.02;

enum models { MODELS_ALL, MODELS_MLP, MODELS_TRANSFORMER };

struct options {
    struct step_sizes sizes;
    int steps, warmup, windows;
    int models; /* enum models */
    int batch_size, texts, tokens;
    int precision; /* enum precision, or ALL_PRECISIONS */
    int copy_mb, product_dim;
    bool count_only;
    const char *torch, *torch_step, *run, *out;
};

#define AT(member) offsetof(struct options, member)
/* Options that PyTorch gets in the same form. */
static const struct option_row shared_rows[] = {
    { "--steps", OPTION_INTEGER, AT(steps), 1, 100000, "N", "steps of a window" },
    { "--warm-up", OPTION_INTEGER, AT(warmup), 1, 100000, "N", "steps before each window, not timed" },
    { "--input-dim", OPTION_INTEGER, AT(sizes.input_dim), 1, 65536, "N", "MLP: features of a sample" },
    { "--hidden-dim", OPTION_INTEGER, AT(sizes.hidden_dim), 1, 65536, "N", "MLP: width of the two hidden layers" },
    { "--num-classes", OPTION_INTEGER, AT(sizes.num_classes), 2, 65536, "N", "MLP: classes of the labels" },
    { "--vocab-size", OPTION_INTEGER, AT(sizes.vocab_size), 2, 1 << 20, "N", "transformer: size of the vocabulary" },
    { "--width", OPTION_INTEGER, AT(sizes.width), 1, 1024, "N", "transformer: width" },
    { "--num-heads", OPTION_INTEGER, AT(sizes.num_heads), 1, 64, "N", "transformer: attention heads" },
    { "--num-topics", OPTION_INTEGER, AT(sizes.num_topics), 2, 65536, "N", "transformer: classes of the texts" },
    { 0 },
};
static const struct option_row own_rows[] = {
    { "--model", OPTION_CHOICE, AT(models), 0, 0, "all mlp transformer", "what is measured" },
    { "--batch-size", OPTION_INTEGER, AT(batch_size), 0, 65536, "N", "MLP: samples; 0: 1, 128 and 512" },
    { "--texts", OPTION_INTEGER, AT(texts), 1, 65536, "N", "transformer: texts of a batch, beside batches of one" },
    { "--tokens", OPTION_INTEGER, AT(tokens), 0, 65536, "N", "transformer: padded tokens of a text; 0: 128 and 256" },
    { "--precision", OPTION_CHOICE, AT(precision), 0, 0, PRECISION_WORDS " all", "of matrix products" },
    { "--windows", OPTION_INTEGER, AT(windows), 1, WINDOWS_MOST, "N", "rounds of windows" },
    { "--copy-mb", OPTION_INTEGER, AT(copy_mb), 1, 16384, "MiB", "size of the copy" },
    { "--product-dim", OPTION_INTEGER, AT(product_dim), 1, 16384, "N", "rows and columns of the large products" },
    { "--count-only", OPTION_SWITCH, AT(count_only), 0, 0, "",
      "print the bytes and operations of steps, measure nothing" },
    { "--torch", OPTION_TEXT, AT(torch), 0, 0, "PYTHON", "a Python that has PyTorch; none: no PyTorch" },
    { "--torch-step", OPTION_TEXT, AT(torch_step), 0, 0, "FILE", "program that it runs" },
    { "--run", OPTION_TEXT, AT(run), 0, 0, "ID", "name of this run in every row, if not made from date and time" },
    { "--out", OPTION_TEXT, AT(out), 0, 0, "DIR", "folder of the results" },
    { 0 },
};
#undef AT
static const struct option_row *const tables[] = { shared_rows, own_rows, NULL };

/* --- cases -------------------------------------------------------------------------------------------------------- */

static void refuse(const struct options *o)
{
    const struct step_sizes *sizes = &o->sizes;
    if (sizes->width % sizes->num_heads != 0)
        die(STATUS_USAGE, "--width %d cannot be divided among --num-heads %d; choose a multiple", sizes->width,
            sizes->num_heads);
    if (sizes->width / sizes->num_heads > DEVICE_LANES)
        die(STATUS_USAGE, "--width %d in --num-heads %d is more than %d a head; use more heads", sizes->width,
            sizes->num_heads, DEVICE_LANES);
    if ((double)o->texts * o->tokens > 1 << 24)
        die(STATUS_USAGE, "--texts %d of --tokens %d are more than 2^24 rows; use fewer", o->texts, o->tokens);
    if (!o->count_only)
        file_refuse_out(o->out, file_make_folder(o->out));
}

static int list_cases(const struct options *o, struct step cases[CASES_MOST])
{
    static const int batches[] = { 1, 128, 512 }, lengths[] = { 128, 256 };
    int count = 0, first = o->tokens ? o->tokens : lengths[0];
    for (int i = 0; o->models != MODELS_TRANSFORMER && i < (o->batch_size ? 1 : 3); i++)
        cases[count++] = (struct step){ .model = WORK_MLP, .batch = o->batch_size ? o->batch_size : batches[i] };
    if (o->models == MODELS_MLP)
        return count;
    if (o->texts > 1)
        cases[count++] = (struct step){ .model = WORK_TRANSFORMER, .batch = 1, .tokens = first };
    cases[count++] = (struct step){ .model = WORK_TRANSFORMER, .batch = o->texts, .tokens = first };
    if (!o->tokens)
        cases[count++] = (struct step){ .model = WORK_TRANSFORMER, .batch = o->texts, .tokens = lengths[1] };
    return count;
}

/* Return the intended speedup over PyTorch; NaN if there is no goal. */
static double goal_of(const struct step_sizes *sizes, const struct step *step)
{
    struct step_sizes labs = step_sizes_published();
    if (memcmp(sizes, &labs, sizeof labs) != 0)
        return (double)NAN;
    if (step->model == WORK_MLP)
        return step->batch == 512 ? 1 : (double)NAN;
    return step->batch == run_published_texts.batch_size ? 5 : (double)NAN;
}

/* --- time ---------------------------------------------------------------------------------------------------------- */

/* Seconds per step. */
struct timing {
    double events, host;
};

static struct timing time_window(void (*step)(void *), void *argument, int warmup, int steps)
{
    for (int i = 0; i < warmup; i++)
        step(argument);
    device_clock_sync_begin(); /* waits for the device */
    double began = world_now(), first = device_record_event();
    for (int i = 0; i < steps; i++)
        step(argument);
    double last = device_record_event();
    device_wait();
    double ended = world_now();
    return (struct timing){ (device_event_seconds(last) - device_event_seconds(first)) / steps,
                            (ended - began) / steps };
}

/* Return bytes per second, read plus written, of a copy in GPU memory. */
static double measure_copy(const struct options *o)
{
    double seconds[WINDOWS_MOST];
    struct copy copy;
    copy_open(&copy, (size_t)o->copy_mb << 20);
    for (int i = 0; i < o->windows; i++)
        seconds[i] = time_window(copy_once, &copy, 1, COPIES).events;
    copy_close(&copy);
    return 2.0 * (double)copy.bytes / stats_lower_median(seconds, o->windows);
}

/* Return floating-point operations per second of large square products: those of an MLP's step. */
static double measure_large_products(const struct options *o)
{
    int dim = o->product_dim;
    struct step_sizes sizes = o->sizes;
    sizes.input_dim = sizes.hidden_dim = sizes.num_classes = dim;
    struct step step = { .model = WORK_MLP, .batch = dim };
    double seconds[WINDOWS_MOST];
    struct products products;
    products_open(&products, &sizes, &step);
    for (int i = 0; i < o->windows; i++)
        seconds[i] = time_window(products_once, &products, 1, COPIES).events;
    products_close(&products);
    return step_count(&sizes, &step).product_flops / stats_lower_median(seconds, o->windows);
}

/* --- a case -------------------------------------------------------------------------------------------------------- */

struct result {
    struct step step;
    struct step_counts counts;
    enum precision precision;
    double copy_rate;  /* bytes per second */
    double large_rate; /* floating-point operations per second of large products */
    double events, host, clocks, products, floor, reference;
    struct ratio ratio;
    double goal;
};

/* Seconds per round of a case. */
struct rounds {
    double events[WINDOWS_MOST], host[WINDOWS_MOST], clocks[WINDOWS_MOST], products[WINDOWS_MOST];
    double reference[WINDOWS_MOST], log_ratio[WINDOWS_MOST];
    int pairs; /* rounds with a reference */
};

static void time_ours(const struct options *o, struct trainee *trainee, struct rounds *rounds, int round)
{
    trainee_restart(trainee);
    trainee_once(trainee);
    double before = trainee_loss(trainee);
    struct timing window = time_window(trainee_once, trainee, o->warmup, o->steps);
    double after = trainee_loss(trainee);
    if (!(after < before)) /* NaN too */
        die(STATUS_WRONG, "%s, batch %d: the loss went from %g to %g in %d steps on one batch, so no time is shown",
            work_models[trainee->step.model], trainee->step.batch, before, after, o->warmup + o->steps);
    rounds->events[round] = window.events;
    rounds->host[round] = window.host;
    rounds->clocks[round] = window.events / window.host;
}

static double time_reference(struct reference *reference, const struct result *r)
{
    char question[REFERENCE_LINE], tokens[16] = "";
    if (r->step.model == WORK_TRANSFORMER)
        snprintf(tokens, sizeof tokens, ",%d", r->step.tokens);
    snprintf(question, sizeof question, "%s,%s,%d%s", work_models[r->step.model], precision_name(r->precision),
             r->step.batch, tokens);
    return reference_window(reference, question, r->counts.parameters);
}

static void run_rounds(const struct options *o, struct reference *reference, const struct result *r,
                       struct rounds *rounds)
{
    struct trainee trainee;
    struct products products;
    trainee_open(&trainee, &o->sizes, &r->step);
    products_open(&products, &o->sizes, &r->step);
    rounds->pairs = 0;
    for (int round = 0; round < o->windows; round++) {
        double theirs = (double)NAN;
        if (round % 2 == 1)
            theirs = time_reference(reference, r);
        time_ours(o, &trainee, rounds, round);
        if (round % 2 == 0)
            theirs = time_reference(reference, r);
        if (!isnan(theirs)) {
            rounds->log_ratio[rounds->pairs] = log(theirs / rounds->host[round]);
            rounds->reference[rounds->pairs++] = theirs;
        }
        rounds->products[round] = time_window(products_once, &products, o->warmup, o->steps).events;
    }
    products_close(&products);
    trainee_close(&trainee);
}

static void measure_case(const struct options *o, struct reference *reference, struct result *r)
{
    struct rounds *rounds = memory_new(1, sizeof *rounds);
    r->counts = step_count(&o->sizes, &r->step);
    r->goal = goal_of(&o->sizes, &r->step);
    run_rounds(o, reference, r, rounds);
    r->events = stats_lower_median(rounds->events, o->windows);
    r->host = stats_lower_median(rounds->host, o->windows);
    r->clocks = stats_lower_median(rounds->clocks, o->windows);
    r->products = stats_lower_median(rounds->products, o->windows);
    r->reference = stats_lower_median(rounds->reference, rounds->pairs);
    r->ratio = stats_ratio(rounds->log_ratio, rounds->pairs);
    r->floor = r->products + (r->counts.flops - r->counts.product_flops) / r->large_rate +
               r->counts.other_bytes / r->copy_rate;
    free(rounds);
}

/* --- output ------------------------------------------------------------------------------------------------- */

static bool clocks_agree(const struct result *r)
{
    return fabs(r->clocks - 1) <= CLOCKS_WITHIN;
}

static const char *holds(const struct result *r)
{
    if (isnan(r->goal) || isnan(r->ratio.value))
        return "";
    return r->ratio.low >= r->goal ? "yes" : r->ratio.high < r->goal ? "no" : "not resolved";
}

static void write_step(struct csv *csv, const struct step *step)
{
    csv_integer(csv, "batch", step->batch);
    csv_number(csv, "tokens", step->tokens ? step->tokens : (double)NAN);
}

static void write_result(struct csv *csv, const struct result *r, const struct provenance *provenance)
{
    const struct step_counts *counts = &r->counts;
    do {
        csv_text(csv, "what", work_models[r->step.model]);
        csv_text(csv, "precision", precision_name(r->precision));
        write_step(csv, &r->step);
        csv_integer(csv, "operations", counts->operations);
        csv_ms(csv, "ours_ms", r->events);
        csv_ms(csv, "ours_host_ms", r->host);
        csv_ratio(csv, "events_over_host", r->clocks);
        csv_text(csv, "clocks_agree", clocks_agree(r) ? "yes" : "no");
        csv_number(csv, "flops", counts->flops);
        csv_number(csv, "bytes", counts->product_bytes + counts->other_bytes);
        csv_number(csv, "bytes_of_products", counts->product_bytes);
        csv_ratio(csv, "copy_gb_per_s", r->copy_rate * 1e-9);
        csv_ratio(csv, "large_gflop_per_s", r->large_rate * 1e-9);
        csv_ms(csv, "products_ms", r->products);
        csv_ms(csv, "floor_ms", r->floor);
        csv_ratio(csv, "share_of_limit", r->floor / r->events);
        csv_ms(csv, "reference_ms", r->reference);
        csv_ratio(csv, "ratio", r->ratio.value);
        csv_ratio(csv, "ratio_low", r->ratio.low);
        csv_ratio(csv, "ratio_high", r->ratio.high);
        csv_number(csv, "goal", r->goal);
        csv_text(csv, "holds", holds(r));
        provenance_columns(provenance, csv);
    } while (csv_end_row(csv));
}

/* Print a number, blanks for NaN. */
static void show_number(int width, int decimals, double value)
{
    if (isnan(value))
        printf("%*s", width, "");
    else
        printf("%*.*f", width, decimals, value);
}

static void show_head(void)
{
    printf("\n%-16s%10s%9s%12s%12s%8s%12s%10s  %-18s%6s\n", "a step of", "precision", "batch", "ms", "limit, ms",
           "share", "PyTorch, ms", "ratio", "95 %", "goal");
}

static void show_result(const struct result *r)
{
    char name[32], interval[32] = "";
    if (r->step.tokens)
        snprintf(name, sizeof name, "%s %d", work_models[r->step.model], r->step.tokens);
    else
        snprintf(name, sizeof name, "%s", work_models[r->step.model]);
    if (!isnan(r->ratio.low))
        snprintf(interval, sizeof interval, "[%.2f %.2f]", r->ratio.low, r->ratio.high);
    printf("%-16s%10s%9d", name, precision_name(r->precision), r->step.batch);
    show_number(12, number_ms_decimals(r->events), r->events * 1e3);
    show_number(12, number_ms_decimals(r->floor), r->floor * 1e3);
    printf("%7.0f%%", 100 * r->floor / r->events);
    show_number(12, number_ms_decimals(r->reference), r->reference * 1e3);
    show_number(10, 2, r->ratio.value);
    printf("  %-18s", interval);
    show_number(6, 0, r->goal);
    printf("  %s%s\n", holds(r), clocks_agree(r) ? "" : "  (events and host's clock apart)");
    fflush(stdout);
}

static void print_counts(const struct options *o)
{
    struct csv csv = { .out = stdout };
    struct step cases[CASES_MOST];
    for (int i = 0, count = list_cases(o, cases); i < count; i++) {
        struct step_counts counts = step_count(&o->sizes, &cases[i]);
        do {
            csv_text(&csv, "what", work_models[cases[i].model]);
            write_step(&csv, &cases[i]);
            csv_number(&csv, "parameters", counts.parameters);
            csv_integer(&csv, "operations", counts.operations);
            csv_number(&csv, "flops", counts.flops);
            csv_number(&csv, "flops_of_products", counts.product_flops);
            csv_number(&csv, "bytes", counts.product_bytes + counts.other_bytes);
            csv_number(&csv, "bytes_of_products", counts.product_bytes);
        } while (csv_end_row(&csv));
    }
}

/* --- main ---------------------------------------------------------------------------------------------------------- */

struct bench {
    struct options options;
    struct provenance provenance;
    struct reference reference;
    struct result results[PRECISIONS * CASES_MOST];
    int count;
    char *about, *kernel; /* device; kernel of each precision */
    bool is_stand_in;     /* the tests' stand-in: the CPU acts as GPU */
};

static void start_reference(struct bench *bench)
{
    const struct options *o = &bench->options;
    char **shared = options_words(shared_rows, o), *words[REFERENCE_WORDS_MOST] = { 0 };
    if (strcmp(o->torch, "none") == 0) {
        snprintf(bench->reference.lacks, sizeof bench->reference.lacks, "--torch none");
    } else {
        int count = 0;
        words[count++] = memory_text("%s", o->torch);
        words[count++] = memory_text("%s", o->torch_step);
        for (int i = 0; shared[i]; i++)
            words[count++] = memory_text("%s", shared[i]);
        reference_open(&bench->reference, words);
    }
    for (int i = 0; words[i]; i++)
        free(words[i]);
    for (int i = 0; shared[i]; i++)
        free(shared[i]);
    free(shared);
}

static void describe_device(struct bench *bench)
{
    bench->about = memory_text("%s", device_about());
    bench->is_stand_in = strstr(bench->about, "stand-in") != NULL;
    printf("GPU      %s\n", bench->about);
    if (bench->is_stand_in)
        printf("         The CPU stands in for a GPU: this shows that the program works, not how fast a GPU is.\n");
    start_reference(bench);
    if (bench->reference.process)
        printf("beside   %s\n", bench->reference.about);
    else
        printf("beside   nothing: %s; columns of PyTorch stay blank\n", bench->reference.lacks);
    fflush(stdout);
}

static void add_kernel(struct bench *bench)
{
    char *longer = memory_text("%s# kernel: %s\n", bench->kernel ? bench->kernel : "", device_kernel());
    free(bench->kernel);
    bench->kernel = longer;
}

static void measure_precision(struct bench *bench, enum precision precision)
{
    const struct options *o = &bench->options;
    struct step cases[CASES_MOST];
    int count = list_cases(o, cases);
    double copy_rate = measure_copy(o), large_rate = measure_large_products(o);
    printf("\n%s; a copy of %d MiB reads and writes %.0f GB/s, large products make %.0f GFLOP/s\n", device_kernel(),
           o->copy_mb, copy_rate * 1e-9, large_rate * 1e-9);
    show_head();
    for (int i = 0; i < count; i++) {
        struct result *result = &bench->results[bench->count++];
        *result = (struct result){
            .step = cases[i], .precision = precision, .copy_rate = copy_rate, .large_rate = large_rate
        };
        measure_case(o, &bench->reference, result);
        show_result(result);
    }
}

static void measure_all(struct bench *bench)
{
    int asked = bench->options.precision;
    const char *override = getenv("NVIDIA_TF32_OVERRIDE");
    if (override && asked == ALL_PRECISIONS)
        die(STATUS_USAGE, "NVIDIA_TF32_OVERRIDE=%s leaves one precision; unset it, or name that with --precision",
            override);
    for (int precision = 0; precision < PRECISIONS; precision++) {
        if (asked != ALL_PRECISIONS && asked != precision)
            continue;
        device_open(0, (enum precision)precision);
        if (!bench->about)
            describe_device(bench);
        add_kernel(bench);
        measure_precision(bench, (enum precision)precision);
        device_close();
    }
}

static void write_table(const struct bench *bench)
{
    const struct reference *reference = &bench->reference;
    struct file file = file_begin(bench->options.out, "bench_gpu.csv");
    struct csv csv = { .out = file.out };
    fprintf(file.out, "# lockstep: %s\n# command: bench_gpu ", LOCKSTEP_VERSION);
    options_echo(file.out, tables, &bench->options, NULL);
    fputc('\n', file.out);
    provenance_head(&bench->provenance, file.out);
    fprintf(file.out, "# device: %s\n%s", bench->about, bench->kernel);
    if (bench->is_stand_in)
        fprintf(file.out, "# stand-in: the CPU stands in for a GPU; no time below is that of a GPU\n");
    if (*reference->about)
        fprintf(file.out, "# reference: %s\n", reference->about);
    if (*reference->lacks)
        fprintf(file.out, "# no reference: %s\n", reference->lacks);
    for (int i = 0; i < bench->count; i++)
        write_result(&csv, &bench->results[i], &bench->provenance);
    file_commit(&file);
}

int main(int argc, char **argv)
{
    struct bench bench = { .options = { .sizes = step_sizes_published(),
                                        .steps = 200,
                                        .warmup = 20,
                                        .windows = 12,
                                        .texts = run_published_texts.batch_size,
                                        .precision = ALL_PRECISIONS,
                                        .copy_mb = 256,
                                        .product_dim = 4096,
                                        .torch = "python3",
                                        .torch_step = LOCKSTEP_TORCH_STEP,
                                        .out = "results" } };
    options_parse(tables, &bench.options, "bench_gpu: a step on this GPU, beside its limit and PyTorch", argc, argv);
    refuse(&bench.options);
    if (bench.options.count_only) {
        print_counts(&bench.options);
        return STATUS_RIGHT;
    }
    bench.provenance = provenance_new(bench.options.run);
    measure_all(&bench);
    write_table(&bench);
    if (*bench.reference.about && *bench.reference.lacks)
        warn("PyTorch stopped: %s; where its windows are missing, columns stay blank", bench.reference.lacks);
    reference_close(&bench.reference);
    printf("\nAll columns: %s/bench_gpu.csv\n", bench.options.out);
    free(bench.about);
    free(bench.kernel);
    return STATUS_RIGHT;
}
