/* fit_blog: writes the platform file of the two blog posts' machine
 *
 *     build/bin/fit_blog > platforms/blog.xml
 *
 * The fit uses six published rows only: weak_ws1, strong_ws1, weak_ws4, comm_ws4, fixed_sample_ws4 and variable_sample_ws4. The
 * other six rows test the simulation. machine_fit.h says how each parameter follows from one number; blog_splits.c what other choices
 * of fitted rows would have given.
 *
 * The file goes to standard output, the parameters with their sources to standard error. Bad input ends the program with one
 * line. */
#include "base/die.h"
#include "base/memory.h"
#include "machine_fit.h"
#include "options/options.h"
#include "published.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct options {
    const char *expected;
};
static const struct option_row rows[] = {
    { "--expected", OPTION_TEXT, offsetof(struct options, expected), 0, 0, "DIR", "folder of the published numbers" },
    { 0 },
};

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
        "     build/bin/fit_blog from six of the twelve published rows; tools/platforms/machine_fit.h says how "
        "each number\n"
        "     follows from one of them, notebooks-md/simulated_machines.md how far to trust it. To change it, copy "
        "it.\n\n"
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
           BLOG_CORES, BLOG_CORES);
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
    fputs("      <prop id=\"transformer_costs_of\" value=\"published\"/>\n", stdout);
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

static struct fitted_row row(const struct published *p, const char *slug)
{
    return (struct fitted_row){ slug, published_step(p, slug) };
}

int main(int argc, char **argv)
{
    struct options o = { .expected = "expected" };
    options_parse((const struct option_row *const[]){ rows, NULL }, &o,
                  "fit_blog: the machine of the blog posts, as a platform file", argc, argv);
    struct published p = published_open(o.expected);
    struct machine_fit *fit = machine_fit_open(&p);
    struct machine m = machine_fit_alone(fit);
    bool is_met = machine_fit_shared(fit, &m, row(&p, "comm_ws4"), row(&p, "weak_ws4"));
    is_met &= machine_fit_texts(fit, &m,
                                (struct fitted_row[]){ row(&p, "fixed_sample_ws4"), row(&p, "variable_sample_ws4") });
    if (!is_met)
        die(STATUS_USAGE,
            "no machine meets these rows: they want a bus for less than one rank or for more than four, or a "
            "negative cost");
    write_head();
    write_host(&m);
    write_shared(&m);
    print_parameters(&m);
    machine_fit_close(fit);
    published_close(&p);
    return STATUS_RIGHT;
}
