/* fit_blog: writes the platform file of the two blog posts' machine
 *
 *     build/bin/fit_blog > platforms/blog.xml
 *
 * The fit uses six published rows only: weak_ws1, strong_ws1, weak_ws4, comm_ws4, fixed_sample_ws4 and variable_sample_ws4. The
 * other six rows test the simulation. There are as many published numbers as parameters. Each parameter follows from one number
 * and the parameters before it, so nothing is weighted:
 *
 *     fetch      data times of weak_ws1 and strong_ws1: fixed + per sample
 *     passes     step times of the same two minus data times, divided among passes as in a step of PyTorch
 *     jitter     their steps: standard deviation over mean
 *     sleep      side run: time that 20 ms of sleep took
 *     link       comm_ws4 minus weak_ws4: 128 MiB among four ranks in a ring
 *     memory bus weak_ws4 after the link is known: number of ranks that the bus feeds at full speed
 *     texts      fixed_sample_ws4 and variable_sample_ws4: fixed + per padded token x length. A cost per padded token instead
 *                is excluded: 16.3 ms at 1024 tokens and 38.0 ms at no more than 2048 would leave -5 ms for the fixed part.
 *                Sequences are assumed to fit into the caches and not to use the memory bus; no published row tests this.
 *
 * The file goes to standard output, the parameters with their sources to standard error. Bad input ends the program with one
 * line. */
#include "base/die.h"
#include "base/memory.h"
#include "base/random.h"
#include "card/predict.h"
#include "model/sequence_recipe.h"
#include "options/options.h"
#include "published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 4, CORES = 12, DRAWS = 2000 };

struct options {
    const char *expected;
};
static const struct option_row rows[] = {
    { "--expected", OPTION_TEXT, offsetof(struct options, expected), 0, 0, "DIR", "folder of the published numbers" },
    { 0 },
};

/* --- the machine ------------------------------------------------------------------------------------------------ */

struct machine {
    double jitter, sleep_excess;
    double link;                                /* bytes per millisecond */
    double bus;                                 /* ranks that the memory bus feeds at full speed */
    double shares[WORK_MODELS][WORK_PASSES];    /* shares of passes and update; 0 for the fetch */
    double fetch_fixed, fetch_per_sample;       /* MLP, milliseconds */
    double fixed, per_sample;                   /* MLP: forward and backward */
    double update;                              /* MLP: optimizer */
    double text_fetch, text_fixed, text_update; /* transformer */
    double per_pair;                            /* transformer: per padded token x length */
};

/* Milliseconds of a ring all-reduce without contention between messages. */
static double ring(const struct machine *m, int ranks, double bytes)
{
    return 2 * (ranks - 1) * bytes / ranks / m->link;
}

/* Milliseconds of the mean step of four ranks, by the formula of the labs, with random jitter of each rank's work. `work`
 * (ranks) and `update` are the work before and after the all-reduce. */
static double mean_step(const struct machine *m, double capacity, struct random *draws, const double *work,
                        double update, double transfer)
{
    struct card card = { .ranks = RANKS, .cores = CORES };
    for (int rank = 0; rank < RANKS; rank++)
        card.place[rank].parallel_capacity = (float)capacity;
    struct load loads[RANKS];
    double sum = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        for (int rank = 0; rank < RANKS; rank++) {
            double factor = random_lognormal(draws, m->jitter);
            double all = (work[rank] + update) * factor;
            loads[rank] = (struct load){ .local = all, .cpu = all, .after = update * factor };
        }
        struct prediction p = predict_step(&card, loads, RANKS, 0, transfer);
        sum += prediction_step(&p);
    }
    return sum / DRAWS;
}

static void fit_alone(struct machine *m, const struct published *p, const struct run *run)
{
    const double few = run->batch_size, many = RANKS * few; /* batch of weak_ws1 and strong_ws1 */
    double data_few = published_rank_mean(p, "weak_ws1", "data_ms"),
           data_many = published_rank_mean(p, "strong_ws1", "data_ms");
    double step_few = published_step(p, "weak_ws1"), step_many = published_step(p, "strong_ws1");
    m->fetch_per_sample = (data_many - data_few) / (many - few);
    m->fetch_fixed = data_few - few * m->fetch_per_sample;
    m->per_sample = (step_many - step_few) / (many - few) - m->fetch_per_sample;
    double local = step_few - data_few;
    m->update = m->shares[WORK_MLP][WORK_UPDATE] * local;
    m->fixed = local - m->update - few * m->per_sample;
    m->jitter = sqrt((published_relative_variance(p, "weak_ws1") + published_relative_variance(p, "strong_ws1")) / 2);
    /* the side run fetches the same number of samples */
    m->sleep_excess = (published_extra(p, "side_data_ms") - data_few) / published_extra(p, "side_sleep_ms");
}

/* Fit the link, then the memory bus. */
static void fit_together(struct machine *m, const struct published *p, const struct run *run)
{
    const double message = 128.0 * (1 << 20);
    m->link = ring(&(struct machine){ .link = 1 }, RANKS, message) /
              (published_step(p, "comm_ws4") - published_step(p, "weak_ws4"));
    double work = m->fetch_fixed + m->fixed + run->batch_size * (m->fetch_per_sample + m->per_sample);
    double transfer = ring(m, RANKS, workload_gradient_bytes(&published_mlp)), low = 1, high = RANKS;
    for (int halving = 0; halving < 40; halving++) {
        struct random draws;
        random_seed(&draws, 1);
        m->bus = (low + high) / 2;
        double step = mean_step(m, m->bus, &draws, (double[RANKS]){ work, work, work, work }, m->update, transfer);
        *(step > published_step(p, "weak_ws4") ? &low : &high) = m->bus;
    }
}

/* Return the mean modelled step of the transformer in milliseconds, on the published batches. */
static double text_step(const struct machine *m, const struct run *run, bool is_fixed)
{
    struct token_recipe recipe = sequence_recipe(&published_transformer.of.transformer, run, is_fixed);
    struct batch_schedule *schedule = batch_schedule_open(&recipe, NULL, batching_policies[TOKENS_SAMPLE]);
    double transfer = ring(m, RANKS, workload_gradient_bytes(&published_transformer)), sum = 0;
    struct random draws;
    random_seed(&draws, 1);
    for (int step = run->skip_first_steps; step < run->steps; step++) {
        double work[RANKS];
        for (int rank = 0; rank < RANKS; rank++)
            work[rank] =
                m->text_fetch + m->text_fixed + m->per_pair * (double)batch_schedule_batch(schedule, rank, step)->pairs;
        sum += mean_step(m, CORES, &draws, work, m->text_update, transfer);
    }
    batch_schedule_close(schedule);
    return sum / (run->steps - run->skip_first_steps);
}

static void fit_texts(struct machine *m, const struct published *p, const struct run *run)
{
    const struct text_settings *lengths = &published_transformer.of.transformer.texts;
    const double length = lengths->fixed_length, longest = lengths->max_length, texts = run->batch_size;
    double fixed = published_step(p, "fixed_sample_ws4"), variable = published_step(p, "variable_sample_ws4");
    const double *share = m->shares[WORK_TRANSFORMER];
    m->text_fetch = published_rank_mean(p, "fixed_sample_ws4", "data_ms");
    double local = 0;                       /* compute of fixed_sample_ws4 */
    for (int turn = 0; turn < 20; turn++) { /* both steps are almost linear in both unknowns */
        m->text_update = share[WORK_UPDATE] * local;
        double too_few = fixed - text_step(m, run, true), of_variable = variable - text_step(m, run, false);
        m->per_pair += (of_variable - too_few) / (texts * (longest * longest - length * length));
        m->text_fixed += too_few - (of_variable - too_few) * length * length / (longest * longest - length * length);
        local = m->text_fixed + m->text_update + m->per_pair * texts * length * length;
    }
}

static void read_shares(struct machine *m, const struct published *p)
{
    for (int model = 0; model < WORK_MODELS; model++) {
        double all = 0;
        for (int pass = WORK_FORWARD; pass < WORK_PASSES; pass++) {
            char *name = memory_text("share_%s_%s", work_models[model], work_passes[pass]);
            all += m->shares[model][pass] = published_extra(p, name);
            free(name);
        }
        for (int pass = WORK_FORWARD; pass < WORK_PASSES; pass++)
            m->shares[model][pass] /= all;
    }
}

/* --- the file --------------------------------------------------------------------------------------------------- */

static void put(const char *name, double value)
{
    printf("      <prop id=\"%s\" value=\"%.5g\"/>\n", name, value);
}

/* Print a cost term, divided between forward and backward. */
static void put_passes(const struct machine *m, enum work_model model, const char *term, double milliseconds)
{
    const double *share = m->shares[model];
    double both = share[WORK_FORWARD] + share[WORK_BACKWARD];
    for (int pass = WORK_FORWARD; pass <= WORK_BACKWARD; pass++) {
        char *property = memory_text("%s_%s_%s_s", work_models[model], work_passes[pass], term);
        put(property, milliseconds / 1e3 * share[pass] / both);
        free(property);
    }
}

static void write_head(void)
{
    fputs(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<!-- The machine of the two blog posts (Ryzen 9 9900X, 12 cores, WSL2; PyTorch 2.10, gloo), written by\n"
        "     build/bin/fit_blog from six of the twelve published rows; tools/platforms/fit_blog.c says how each "
        "number follows\n"
        "     from one of them, notebooks-md/simulated_machines.md how far to trust it. To change it, copy it.\n\n"
        "     Fitted:    weak_ws1, strong_ws1, weak_ws4, comm_ws4, fixed_sample_ws4, variable_sample_ws4.\n"
        "     Predicted: weak_ws2, strong_ws2, skew_ws4, barrier_ws4, variable_bucket_ws4, variable_token_ws4.\n\n"
        "     Nine parameters of the machine from nine numbers of those six rows (six step times, three data times),\n"
        "     so that the fitted rows fit by construction; jitter from the single steps of two of them, the sleep's\n"
        "     stretch from a side run of the post, the proportions of forward, backward and update from PyTorch on\n"
        "     another machine (expected/blog_fit.csv). -->\n"
        "<platform version=\"4.1\">\n  <config>\n"
        "    <!-- SMPI's own calibrations off: a message takes latency + bytes / bandwidth. -->\n"
        "    <prop id=\"network/crosstraffic\" value=\"0\"/>\n    <prop id=\"network/TCP-gamma\" value=\"0\"/>\n"
        "    <prop id=\"network/weight-S\" value=\"0\"/>\n    <prop id=\"smpi/os\" value=\"0:0:0\"/>\n"
        "    <prop id=\"smpi/or\" value=\"0:0:0\"/>\n    <prop id=\"smpi/ois\" value=\"0:0:0\"/>\n"
        "    <prop id=\"smpi/lat-factor\" value=\"0:1\"/>\n    <prop id=\"smpi/bw-factor\" value=\"0:1\"/>\n"
        "  </config>\n  <zone id=\"blog\" routing=\"Full\">\n",
        stdout);
}

static void write_host(const struct machine *m)
{
    printf("    <!-- Speed: 1 Gflop/s by definition; the seconds below are charged as so many. -->\n"
           "    <host id=\"desktop\" speed=\"1Gf\" core=\"%d\">\n"
           "      <prop id=\"about\" value=\"the machine of the blog posts, 12 cores, fitted to six of their twelve "
           "rows\"/>\n"
           "      <prop id=\"device\" value=\"model\"/>\n      <prop id=\"ranks\" value=\"%d\"/>\n",
           CORES, CORES);
    fputs("      <!-- Standard deviation of a rank's step over its mean: the steps of weak_ws1 and strong_ws1. -->\n",
          stdout);
    put("jitter", m->jitter);
    fputs("      <!-- Of the side run: 20 ms of sleep took so many times as long. -->\n", stdout);
    put("sleep_stretch", m->sleep_excess);
    fputs("      <!-- The MLP, seconds: weak_ws1 and strong_ws1, at 128 and 512 samples. It needs the memory bus. -->\n"
          "      <prop id=\"mlp_memory_bus\" value=\"memory\"/>\n",
          stdout);
    put("mlp_fetch_fixed_s", m->fetch_fixed / 1e3);
    put("mlp_fetch_per_sample_s", m->fetch_per_sample / 1e3);
    put_passes(m, WORK_MLP, "fixed", m->fixed);
    put_passes(m, WORK_MLP, "per_sample", m->per_sample);
    put("mlp_update_fixed_s", m->update / 1e3);
    fputs("      <!-- The transformer, seconds: fixed_sample_ws4 and variable_sample_ws4. Two rows give two terms: "
          "what is\n"
          "           fixed, and what grows with padded tokens x length. Its 1.7 MB stay in the caches: no bus. -->\n",
          stdout);
    put("transformer_fetch_fixed_s", m->text_fetch / 1e3);
    put_passes(m, WORK_TRANSFORMER, "fixed", m->text_fixed);
    put_passes(m, WORK_TRANSFORMER, "per_padded_token_length", m->per_pair);
    put("transformer_update_fixed_s", m->text_update / 1e3);
}

/* Print the memory bus, the link and the end of the file. */
static void write_shared(const struct machine *m)
{
    printf(
        "    </host>\n"
        "    <!-- What all cores share: the bus feeds so many ranks that train the MLP (in Gflop/s, theirs being 1).\n"
        "         From weak_ws4. -->\n"
        "    <host id=\"memory\" speed=\"%.5gGf\"><prop id=\"ranks\" value=\"0\"/></host>\n",
        m->bus);
    printf(
        "    <!-- gloo over the loopback device, per message: comm_ws4 less weak_ws4 is an all-reduce of 128 MiB "
        "among\n"
        "         four ranks, 6 messages of 32 MiB one after another. The making of the buffer, which the post timed\n"
        "         along, is in it; the latency is not to be had from these rows. -->\n"
        "    <link id=\"loopback\" bandwidth=\"%.5gBps\" latency=\"0.1us\" sharing_policy=\"FATPIPE\"/>\n"
        "    <route src=\"desktop\" dst=\"desktop\"><link_ctn id=\"loopback\"/></route>\n"
        "  </zone>\n</platform>\n",
        m->link * 1e3);
}

/* Print each parameter with the row it follows from, to standard error. */
static void print_parameters(const struct machine *m)
{
    const struct {
        const char *parameter, *unit, *from;
        double value;
    } list[] = {
        { "fetch, fixed", "ms", "data, weak_ws1 and", m->fetch_fixed },
        { "fetch, per sample", "ms", "strong_ws1", m->fetch_per_sample },
        { "passes, fixed", "ms", "step, weak_ws1 and", m->fixed + m->update },
        { "passes, per sample", "ms", "strong_ws1", m->per_sample },
        { "link", "GB/s", "step, comm_ws4", m->link / 1e6 },
        { "memory bus", "ranks", "step, weak_ws4", m->bus },
        { "texts, fetch", "ms", "data, fixed_sample_ws4", m->text_fetch },
        { "texts, fixed", "ms", "step, fixed_sample_ws4 and", m->text_fixed + m->text_update },
        { "per token x length", "ns", "variable_sample_ws4", 1e6 * m->per_pair },
    };
    int count = (int)(sizeof list / sizeof *list);
    for (int i = 0; i < count; i++)
        fprintf(stderr, "%-20s %10.5g %-6s %s\n", list[i].parameter, list[i].value, list[i].unit, list[i].from);
    fprintf(stderr, "%d parameters from %d numbers of 6 rows\n", count, count);
    fprintf(
        stderr,
        "beside them: jitter %.3g %% (single steps of 2 rows), sleeps %.3g times as long (a side run), 4 proportions\n",
        100 * m->jitter, m->sleep_excess);
}

int main(int argc, char **argv)
{
    struct options o = { .expected = "expected" };
    options_parse((const struct option_row *const[]){ rows, NULL }, &o,
                  "fit_blog: the machine of the blog posts, as a platform file", argc, argv);
    struct published p = published_open(o.expected);
    struct machine m = { 0 };
    read_shares(&m, &p);
    fit_alone(&m, &p, &run_published);
    fit_together(&m, &p, &run_published);
    fit_texts(&m, &p, &run_published_texts);
    write_head();
    write_host(&m);
    write_shared(&m);
    print_parameters(&m);
    published_close(&p);
    return STATUS_RIGHT;
}
