#include "card/card.h"

#include "base/cores.h"
#include "base/memory.h"
#include "base/stats.h"
#include "device/device.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double local_step(const struct local_cost *cost, struct work work)
{
    return cost_at(&cost->fetch, work) + cost_at(&cost->passes, work) + cost->update;
}

const char *card_trains_on(void)
{
    return world_is_simulated() ? "simulated core" : device_gpus() > 0 ? "GPU" : "core";
}

const struct card *card_of_plan(const struct card *card)
{
    return card->plan ? card->plan : card;
}

void card_on_gpus(struct card *card, const char *about, int gpus)
{
    snprintf(card->cpu, CARD_NAME, "%.*s", (int)strcspn(about, ","), about);
    for (int rank = 0; rank < card->ranks; rank++)
        card->place[rank] =
            (struct card_place){ .cores = (short)cores_here(), .parallel_capacity = (float)gpus, .slowdown = 1 };
}

void card_on_hosts(struct card *card, const struct host *hosts)
{
    for (int rank = 0; rank < card->ranks; rank++)
        card->place[rank] = (struct card_place){ .host = (short)hosts[rank].index,
                                                 .parallel_capacity = (float)hosts[rank].cores,
                                                 .slowdown = 1 };
}

static struct cost between(const struct cost *a, const struct cost *b, double share)
{
    struct cost cost;
    for (int term = 0; term < COST_TERMS; term++)
        cost.term[term] = a->term[term] + share * (b->term[term] - a->term[term]);
    return cost;
}

int card_busy_ranks(const struct card *card)
{
    return card->ranks < card->cores ? card->ranks : card->cores;
}

bool card_is_oversubscribed(const struct card *card, int ranks)
{
    int *count = memory_new((size_t)card->ranks, sizeof *count);
    bool is_crowded = ranks > card->cores;
    for (int rank = 0; rank < ranks; rank++)
        is_crowded |=
            ++count[card_host(card, rank)] > fmax(card->place[rank].cores, card_parallel_capacity(card, rank));
    free(count);
    return is_crowded;
}

/* Return the position of `ranks` between one rank and all that have a core: 0 to 1. */
static double share_of(const struct card *card, int ranks)
{
    int busy = card_busy_ranks(card);
    return busy == 1 ? 0 : fmin(1, (ranks - 1.0) / (busy - 1.0));
}

struct local_cost card_local(const struct card *card, int ranks)
{
    const struct local_cost *one = &card->alone, *all = &card->together;
    double share = ranks > card->cores ? 0 : share_of(card, ranks);
    return (struct local_cost){ .fetch = between(&one->fetch, &all->fetch, share),
                                .passes = between(&one->passes, &all->passes, share),
                                .forward_share = one->forward_share + share * (all->forward_share - one->forward_share),
                                .update = one->update + share * (all->update - one->update) };
}

struct cost card_passes_again(const struct card *card, int ranks)
{
    return card_is_simulated(card) ? card->alone.passes : card_local(card, ranks).passes;
}

bool card_is_simulated(const struct card *card)
{
    return card->transfer_core == 0;
}

bool card_is_measured(const struct card *card)
{
    return card->reference.alone.passes > 0 && card->reference.together.passes > 0;
}

bool card_lacks_transfer(const struct card *card, const struct card_uses *uses)
{
    bool is_used = false;
    for (int i = 0; i < uses->count; i++)
        is_used |= uses->at[i].kind == ALL_REDUCE && card_group_equals(uses->at[i].group, first_ranks(card->ranks));
    return is_used && card_is_measured(card) && !(card->reference.transfer > 0);
}

int card_host(const struct card *card, int rank)
{
    return card->place[rank].host;
}

double card_parallel_capacity(const struct card *card, int rank)
{
    double capacity = (double)card->place[rank].parallel_capacity;
    return capacity > 0 ? capacity : card->cores;
}

/* Return the number of ranks, of the first `ranks`, on the host of rank 0. */
static int beside_first(const struct card *card, int ranks)
{
    int count = 0;
    for (int rank = 0; rank < ranks; rank++)
        count += card_host(card, rank) == card_host(card, 0);
    return count;
}

double card_contention_slowdown(const struct card *card, int ranks)
{
    return fmax(1, beside_first(card, ranks) / card_parallel_capacity(card, 0));
}

static int cores_of_first(const struct card *card)
{
    return card->place[0].cores ? card->place[0].cores : (int)card_parallel_capacity(card, 0);
}

bool card_is_fed_by_memory(const struct card *card)
{
    return card_parallel_capacity(card, 0) < fmin(beside_first(card, card->ranks), cores_of_first(card));
}

enum card_helper card_helper(const struct card *card)
{
    int cores = card->place[0].cores;
    if (cores <= 1) /* 0: a real host */
        return HELPER_ON_THE_RANKS_CORE;
    return cores >= 2 * beside_first(card, card->ranks) ? HELPER_ON_ITS_OWN : HELPER_SOMEWHERE;
}

double card_rank_slowdown(const struct card *card, int rank)
{
    double slowdown = (double)card->place[rank].slowdown;
    return slowdown > 0 ? slowdown : 1;
}

double card_jitter(const struct card *card, int ranks, double local)
{
    return local * (card->jitter * share_of(card, ranks) + card->relative_jitter * stats_normal_most(ranks));
}

static double on_line(double at, double low, double at_low, double high, double at_high)
{
    return at_low + (at_high - at_low) * (at - low) / (high - low);
}

double card_sleep(const struct card *card, double seconds)
{
    const double brief_over = card->sleeps.brief_over, short_over = card->sleeps.short_over,
                 long_over = SLEEP_LONG_S * card->sleep_excess + card->sleep_overshoot;
    if (seconds >= SLEEP_LONG_S || !(brief_over > 0 && short_over > 0))
        return seconds * (1 + card->sleep_excess) + card->sleep_overshoot;
    if (seconds > SLEEP_SHORT_S)
        return seconds + on_line(seconds, SLEEP_SHORT_S, short_over, SLEEP_LONG_S, long_over);
    return seconds + on_line(fmax(seconds, SLEEP_BRIEF_S), SLEEP_BRIEF_S, brief_over, SLEEP_SHORT_S, short_over);
}

/* --- collectives ------------------------------------------------------------------------------------------------ */

double card_collective(const struct card *card, enum collective_kind kind, struct card_group group, double bytes)
{
    if (group.ranks == 1)
        return 0;
    const struct collective_cost *entry = collective_costs_find(&card->collectives, kind, group);
    return entry ? alpha_beta_seconds(&entry->cost, bytes) : (double)NAN;
}

double card_allreduce(const struct card *card, int ranks, double bytes)
{
    return card_collective(card, ALL_REDUCE, first_ranks(ranks), bytes);
}

double card_barrier(const struct card *card, int ranks)
{
    return card_collective(card, BARRIER, first_ranks(ranks), 0);
}

double card_cost(const struct card *card, const char *name)
{
    return own_costs_value(&card->own, name);
}

bool card_covers(const struct card *card, const struct card_uses *uses)
{
    bool is_covered = !card_lacks_transfer(card, uses);
    is_covered &= own_costs_cover(&card->own, uses->own);
    is_covered &= !uses->messages || card->ranks == 1 || p2p_cost_is_known(&card->p2p);
    for (int i = 0; i < uses->count; i++)
        is_covered &= collective_costs_cover(&card->collectives, &uses->at[i]);
    return is_covered;
}

int card_group_hosts(const struct card *card, struct card_group group)
{
    int hosts = 0;
    for (int i = 0; i < group.ranks; i++) {
        bool is_new = true;
        for (int before = 0; before < i; before++)
            is_new &= card_host(card, before * group.stride) != card_host(card, i * group.stride);
        hosts += is_new;
    }
    return hosts;
}
