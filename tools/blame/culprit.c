#include "culprit.h"

#include "analysis/matched_collectives.h"
#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- hosts ------------------------------------------------------------------------------------------------------ */

struct hosts hosts_open(const struct spans_case *of)
{
    struct hosts hosts = { 0 };
    if (!of->hosts)
        return hosts;
    hosts.names = memory_new((size_t)of->ranks, sizeof *hosts.names);
    hosts.of = memory_new((size_t)of->ranks, sizeof *hosts.of);
    hosts.sizes = memory_new((size_t)of->ranks, sizeof *hosts.sizes);
    for (int rank = 0; rank < of->ranks; rank++) {
        int host = 0;
        while (host < hosts.count && strcmp(hosts.names[host], of->hosts[rank]) != 0)
            host++;
        hosts.names[host] = of->hosts[rank];
        hosts.count += host == hosts.count;
        hosts.of[rank] = host;
        hosts.sizes[host]++;
    }
    return hosts;
}

void hosts_close(struct hosts *hosts)
{
    free(hosts->names);
    free(hosts->of);
    free(hosts->sizes);
    *hosts = (struct hosts){ 0 };
}

/* --- charges ---------------------------------------------------------------------------------------------------- */

/* Charge the hosts with the waiting of a round: sum (hosts), in seconds. */
static void charge_round(struct culprits *culprits, const struct timeline *t, const int *hosts, double *sum)
{
    const int count = culprits->suspects;
    double *caused = memory_new((size_t)t->steps * (size_t)count, sizeof *caused);
    struct matched_collectives matched = matched_collectives_find(t);
    for (int n = 0; matched.are_alike && n < matched.count; n++) {
        const struct matched *c = &matched.at[n];
        int host, step = c->at[0]->step - t->first_step;
        double charge = matched_caused_by_host(t, c, hosts, &host);
        if (host < 0 || step < 0 || step >= t->steps)
            continue;
        caused[step * count + host] += charge;
        sum[host] += charge;
    }
    matched_collectives_close(&matched);
    culprits_add_round(culprits, caused, t->steps);
    free(caused);
}

/* Return the largest charge of any rank of a host. */
static double most_of(const struct case_stats *stats, const struct hosts *hosts, int host)
{
    double most = 0;
    for (int rank = 0; rank < stats->ranks; rank++)
        if (hosts->of[rank] == host)
            most = fmax(most, stats->sum[rank].caused);
    return most;
}

/* Return the host whose ranks the others waited for, and set *wait to the seconds per step; -1: none. */
static int late_host(const struct spans_case *of, const struct outcome *o, const struct hosts *hosts, double *wait)
{
    struct culprits culprits;
    culprits_open(&culprits, hosts->count, o->stats.culprits.stretch);
    double *sum = memory_new((size_t)hosts->count, sizeof *sum);
    for (int i = 0; i < of->count; i++)
        charge_round(&culprits, &of->blocks[i].timeline, hosts->of, sum);
    const struct charges charges = { .caused = sum,
                                     .rank_seconds = o->summary.mean.step * o->stats.ranks * o->stats.steps };
    bool is_too_short;
    int host = culprits_judge(&culprits, &charges, &is_too_short);
    if (host >= 0 && most_of(&o->stats, hosts, host) > CULPRITS_SHARE * sum[host]) /* it is one rank */
        host = -1;
    *wait = host >= 0 ? sum[host] / o->stats.steps : (double)NAN;
    culprits_close(&culprits);
    free(sum);
    return host;
}

/* --- the culprit ------------------------------------------------------------------------------------------------ */

/* Return the phase in which these ranks (ranks) exceed the lower median of the others most; -1 if they do in none. */
static int phase_of(const struct case_stats *stats, const bool *ranks)
{
    double *others = memory_new((size_t)stats->ranks, sizeof *others), most = 0;
    int found = -1;
    for (int kind = 0; kind < SPAN_PHASES; kind++) {
        double excess = 0;
        int count = 0;
        for (int rank = 0; rank < stats->ranks; rank++)
            if (!ranks[rank])
                others[count++] = stats->sum[rank].phase[kind];
        for (int rank = 0; rank < stats->ranks && count > 0; rank++)
            if (ranks[rank])
                excess += stats->sum[rank].phase[kind] - stats_lower_median(others, count);
        if (excess > most) {
            most = excess;
            found = kind;
        }
    }
    free(others);
    return found;
}

struct culprit culprit_find(const struct spans_case *of, const struct outcome *o, const struct hosts *hosts,
                            bool is_partial)
{
    struct culprit culprit = {
        .rank = o->summary.blamed_rank, .host = -1, .phase = -1, .wait = o->summary.blamed_wait
    };
    const struct case_stats *stats = &o->stats;
    if (culprit.rank < 0 && hosts->count > 1 && !is_partial && !stats->wrong.count)
        culprit.host = late_host(of, o, hosts, &culprit.wait);
    if (!culprit_is_named(&culprit))
        return culprit;
    bool *ranks = memory_new((size_t)stats->ranks, sizeof *ranks);
    for (int rank = 0; rank < stats->ranks; rank++)
        ranks[rank] = culprit.rank >= 0 ? rank == culprit.rank : hosts->of[rank] == culprit.host;
    culprit.phase = phase_of(stats, ranks);
    culprit.share = culprit.wait / (o->summary.mean.step * stats->ranks);
    free(ranks);
    return culprit;
}

struct culprit culprit_of_replay(const struct outcome *o, int rank, double gain)
{
    bool *ranks = memory_new((size_t)o->stats.ranks, sizeof *ranks);
    ranks[rank] = true;
    const double wait = gain * (o->stats.ranks - 1);
    const struct culprit culprit = { .rank = rank,
                                     .host = -1,
                                     .phase = phase_of(&o->stats, ranks),
                                     .wait = wait,
                                     .share = wait / (o->summary.mean.step * o->stats.ranks) };
    free(ranks);
    return culprit;
}

char *culprit_name(const struct culprit *culprit, const struct outcome *o, const struct hosts *hosts)
{
    if (culprit->rank >= 0)
        return memory_text("rank %d", timeline_rank(&o->picture, culprit->rank));
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    const int all = hosts->sizes[culprit->host];
    fprintf(out, "host %s (rank%s ", hosts->names[culprit->host], all == 1 ? "" : "s");
    for (int rank = 0, seen = 0; rank < o->stats.ranks; rank++)
        if (hosts->of[rank] == culprit->host) {
            fprintf(out, "%s%d", seen == 0 ? "" : seen == all - 1 ? " and " : ", ", timeline_rank(&o->picture, rank));
            seen++;
        }
    fputc(')', out);
    fclose(out);
    return text;
}
