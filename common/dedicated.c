#include "dedicated.h"

#include "files.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>

/* What a message costs: latency + bytes / bandwidth, in ranges of its size. */
struct message {
    double from; /* bytes */
    double latency, bandwidth;
};

/* The ring of n ranks sends n-th parts of the whole 2 (n - 1) times, one after another. Of two ranks that is
 * T(m) = 2 t(m / 2), so a message of x bytes takes t(x) = T(2x) / 2. */
static int messages_of(const struct link *pair, struct message *messages)
{
    const double least_latency = 1e-7, most_bandwidth = 1e15; /* positive, and above SimGrid's precision of 1 ns */
    double from = 0;
    for (int p = 0; p < pair->pieces; p++) {
        double per_byte = pair->piece[p].beta;
        messages[p] = (struct message){ .from = from,
                                        .latency = fmax(pair->piece[p].alpha / 2, least_latency),
                                        .bandwidth = per_byte > 0 ? 1 / per_byte : most_bandwidth };
        from = pair->piece[p].upto / 2;
    }
    return pair->pieces;
}

static void put_factors(FILE *out, const char *name, const struct message *messages, int count,
                        double (*factor)(const struct message *message, double base), double base)
{
    fprintf(out, "    <prop id=\"%s\" value=\"", name);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%.0f:%.12g", i ? ";" : "", messages[i].from, factor(&messages[i], base));
    fputs("\"/>\n", out);
}

static double latency_factor(const struct message *message, double base)
{
    return message->latency / base;
}

static double bandwidth_factor(const struct message *message, double base)
{
    return message->bandwidth / base;
}

/* SMPI's own calibrations and overheads off: a message costs what its size says, and nothing else. */
static const char plain_network[] = "    <prop id=\"network/crosstraffic\" value=\"0\"/>\n"
                                    "    <prop id=\"network/TCP-gamma\" value=\"0\"/>\n"
                                    "    <prop id=\"network/weight-S\" value=\"0\"/>\n"
                                    "    <prop id=\"smpi/os\" value=\"0:0:0\"/>\n"
                                    "    <prop id=\"smpi/or\" value=\"0:0:0\"/>\n"
                                    "    <prop id=\"smpi/ois\" value=\"0:0:0\"/>\n";

char *dedicated_write(const char *folder, const char *name, int ranks, int membus, const struct link *pair)
{
    static const struct link none = { .pieces = 1, .piece = { { .upto = INFINITY, .alpha = 1e-6, .beta = 1e-10 } } };
    struct message messages[LINK_PIECES_MOST];
    int count = messages_of(pair ? pair : &none, messages);
    double latency = INFINITY, bandwidth = 0; /* of the links: the best piece's, so that factors only slow down */
    for (int i = 0; i < count; i++) {
        latency = fmin(latency, messages[i].latency);
        bandwidth = fmax(bandwidth, messages[i].bandwidth);
    }

    struct file file = file_begin(folder, name);
    fprintf(file.out,
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<!-- Written by lockstep. %s\n"
            "     Speed: 1 Gflop/s by definition; measured seconds are charged as so many. Link: from all-reduces of\n"
            "     two real ranks, seconds = alpha + beta x bytes in %d range%s of the message's size. -->\n"
            "<platform version=\"4.1\">\n  <config>\n%s",
            membus ? "One host: its ranks share what so many cores take from memory."
                   : "A host per rank: a copy of this machine's core, with its own caches and memory bus.",
            count, count == 1 ? "" : "s", plain_network);
    put_factors(file.out, "smpi/lat-factor", messages, count, latency_factor, latency);
    put_factors(file.out, "smpi/bw-factor", messages, count, bandwidth_factor, bandwidth);
    fputs("  </config>\n", file.out);
    if (membus)
        fprintf(
            file.out,
            "  <cluster id=\"dedicated\" prefix=\"host\" suffix=\"\" radical=\"0-0\" speed=\"1Gf\" core=\"%d\"\n"
            "           bw=\"1GBps\" lat=\"1us\" loopback_bw=\"%.12gBps\" loopback_lat=\"%.12gs\">\n"
            "    <prop id=\"ranks\" value=\"%d\"/>\n"
            "    <prop id=\"about\" value=\"%d copies of this machine's core that share what %d take from memory\"/>\n"
            "  </cluster>\n</platform>\n",
            membus, bandwidth, latency, ranks, ranks, membus);
    else
        fprintf(file.out,
                "  <cluster id=\"dedicated\" prefix=\"core\" suffix=\"\" radical=\"0-%d\" speed=\"1Gf\"\n"
                "           bw=\"%.12gBps\" lat=\"%.12gs\" loopback_bw=\"1e18Bps\" loopback_lat=\"0s\">\n"
                "    <prop id=\"about\" value=\"%d copies of this machine's core, each with caches and memory bus of "
                "its own: an "
                "upper bound for a real machine of %d such cores\"/>\n"
                "  </cluster>\n</platform>\n",
                ranks - 1, bandwidth, latency / 2, ranks, ranks); /* a message passes two links */
    char *path = memory_text("%s", file.path);
    file_commit(&file);
    return path;
}
