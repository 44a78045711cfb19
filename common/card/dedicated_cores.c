#include "card/dedicated_cores.h"

#include "base/cores.h"
#include "base/files.h"
#include "base/memory.h"
#include "card/card_file.h"
#include "options/algorithm.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cost of a message in ranges of its size: latency + bytes / bandwidth. */
struct message_costs {
    int ranges;
    double from[ALPHA_BETA_LINES_MOST]; /* bytes */
    double latency[ALPHA_BETA_LINES_MOST], bandwidth[ALPHA_BETA_LINES_MOST];
};

/* Compute message costs from the all-reduce of two ranks. If these exchange k messages of an n-th part, they take
 * T(m) = k t(m / n), so a message of x bytes takes t(x) = T(n x) / k. This is T(2x) / 2 for a ring, and T(x) if each rank sends all
 * its data once. SimGrid takes no negative latency or seconds per byte: a line with one keeps its seconds at a size within it. */
static struct message_costs messages_of(const struct alpha_beta *pair)
{
    const double least_latency = 1e-7, most_bandwidth = 1e15; /* positive, and above SimGrid's precision of 1 ns */
    const struct exchange exchange = algorithm_of_two();
    struct message_costs m = { .ranges = pair->lines };
    for (int i = 0; i < m.ranges; i++) {
        const struct alpha_beta_line *line = &pair->line[i];
        const double from = i ? line[-1].upto : 0,
                     within = isfinite(line->upto) ? sqrt(fmax(from, 1) * line->upto) : fmax(2 * from, 1 << 20),
                     seconds = fmax(alpha_beta_seconds(pair, within) / exchange.messages, least_latency),
                     latency = line->beta < 0 ? seconds : fmax(line->alpha / exchange.messages, least_latency),
                     per_byte = (seconds - latency) / (within / exchange.part);
        m.from[i] = from / exchange.part;
        m.latency[i] = latency;
        m.bandwidth[i] = per_byte * most_bandwidth > 1 ? 1 / per_byte : most_bandwidth;
    }
    return m;
}

/* Print a property of factors. SMPI multiplies each range's factor by the link's own value, `base`. */
static void put_factors(FILE *out, const char *name, const struct message_costs *m, const double *values, double base)
{
    fprintf(out, "    <prop id=\"%s\" value=\"", name);
    for (int i = 0; i < m->ranges; i++)
        fprintf(out, "%s%.0f:%.12g", i ? ";" : "", m->from[i], values[i] / base);
    fputs("\"/>\n", out);
}

/* Turn SMPI's own calibrations and overheads off: the cost of a message depends on its size only. */
static const char plain_network[] = "    <prop id=\"network/crosstraffic\" value=\"0\"/>\n"
                                    "    <prop id=\"network/TCP-gamma\" value=\"0\"/>\n"
                                    "    <prop id=\"network/weight-S\" value=\"0\"/>\n"
                                    "    <prop id=\"smpi/os\" value=\"0:0:0\"/>\n"
                                    "    <prop id=\"smpi/or\" value=\"0:0:0\"/>\n"
                                    "    <prop id=\"smpi/ois\" value=\"0:0:0\"/>\n";

char *dedicated_cores_name(int membus)
{
    return membus ? memory_text("dedicated-cores-membus%d", membus) : memory_text("dedicated-cores");
}

/* Return the purpose of a file, as text that an XML comment may hold. Free it. */
static char *purpose(const struct dedicated_cores *cores)
{
    char cpu[CARD_NAME];
    cores_name(cpu, sizeof cpu);
    char *words = memory_text("lockstep %s, %s, membus %d, %s", LOCKSTEP_VERSION, cpu, cores->membus, algorithm_name());
    for (char *dashes; (dashes = strstr(words, "--"));)
        *dashes = ' ';
    return words;
}

char *dedicated_cores_find(const char *folder, const char *name, const struct dedicated_cores *cores)
{
    char *path = memory_text("%s/%s", folder, name), *wanted = purpose(cores), *line = NULL;
    size_t size = 0;
    double bytes = 0;
    int ranks = 0;
    bool is_for_us = false;
    FILE *file = card_is_fresh(path) ? fopen(path, "r") : NULL;
    while (file && getline(&line, &size, file) > 0) {
        is_for_us |= strstr(line, wanted) != NULL;
        sscanf(line, " Up to %d ranks, and messages up to %lf", &ranks, &bytes);
    }
    free(line);
    free(wanted);
    if (file)
        fclose(file);
    if (is_for_us && ranks >= cores->ranks && bytes >= cores->most_bytes)
        return path;
    free(path);
    return NULL;
}

char *dedicated_cores_write(const char *folder, const char *name, const struct dedicated_cores *cores)
{
    const int ranks = cores->ranks, membus = cores->membus;
    static const struct alpha_beta none = { .lines = 1,
                                            .line = { { .upto = INFINITY, .alpha = 1e-6, .beta = 1e-10 } } };
    const struct message_costs m = messages_of(cores->pair ? cores->pair : &none);
    double latency = INFINITY, bandwidth = 0; /* of the links: the best range's, so that factors only slow down */
    for (int i = 0; i < m.ranges; i++) {
        latency = fmin(latency, m.latency[i]);
        bandwidth = fmax(bandwidth, m.bandwidth[i]);
    }

    struct file file = file_begin(folder, name);
    char *words = purpose(cores);
    fprintf(file.out,
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<!-- Written by lockstep. %s\n"
            "     Speed: 1 Gflop/s by definition; measured seconds are charged as so many. Link: from all-reduces of\n"
            "     two real ranks, seconds = alpha + beta x bytes in %d range%s of the message's size.\n"
            "     For: %s.\n"
            "     Up to %d ranks, and messages up to %.0f bytes, which were measured. -->\n"
            "<platform version=\"4.1\">\n  <config>\n%s",
            membus ? "One host: ranks that compute share the speed of so many cores, as if all work waited for memory."
                   : "A host per rank: a copy of this machine's core, with its own caches and memory bus.",
            m.ranges, m.ranges == 1 ? "" : "s", words, ranks, cores->most_bytes, plain_network);
    free(words);
    put_factors(file.out, "smpi/lat-factor", &m, m.latency, latency);
    put_factors(file.out, "smpi/bw-factor", &m, m.bandwidth, bandwidth);
    fputs("  </config>\n", file.out);
    if (membus)
        fprintf(file.out,
                "  <cluster id=\"dedicated\" prefix=\"host\" suffix=\"\" radical=\"0-0\" speed=\"1Gf\" core=\"%d\"\n"
                "           bw=\"1GBps\" lat=\"1us\" loopback_bw=\"%.12gBps\" loopback_lat=\"%.12gs\">\n"
                "    <prop id=\"ranks\" value=\"%d\"/>\n"
                "    <prop id=\"about\" value=\"%d ranks, of which those that compute share the speed of %d of this "
                "machine's cores, as if all work waited for memory\"/>\n"
                "  </cluster>\n</platform>\n",
                membus, bandwidth, latency, ranks, ranks, membus);
    else
        fprintf(file.out,
                "  <cluster id=\"dedicated\" prefix=\"core\" suffix=\"\" radical=\"0-%d\" speed=\"1Gf\"\n"
                "           bw=\"%.12gBps\" lat=\"%.12gs\" loopback_bw=\"1e18Bps\" loopback_lat=\"0s\">\n"
                "    <prop id=\"about\" value=\"%d cop%s of this machine's core, each with caches and memory bus of "
                "its own: no contention for memory\"/>\n"
                "  </cluster>\n</platform>\n",
                ranks - 1, bandwidth, latency / 2, /* a message passes two links */
                ranks, ranks == 1 ? "y" : "ies");
    char *path = memory_text("%s", file.path);
    file_commit(&file);
    return path;
}
