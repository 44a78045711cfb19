#include "card/own_cost.h"

#include "base/die.h"
#include "base/interference.h"
#include "base/memory.h"
#include "base/stats.h"
#include "card/brief.h"
#include "card/frequency.h"
#include "card/undisturbed.h"
#include "options/work.h"
#include "world/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int own_costs_place(const struct own_costs *costs, const char *name)
{
    for (int i = 0; i < costs->count; i++)
        if (strcmp(costs->at[i].name, name) == 0)
            return i;
    return -1;
}

static struct own_value *find(struct own_costs *costs, const char *name)
{
    const int place = own_costs_place(costs, name);
    return place < 0 ? NULL : &costs->at[place];
}

/* Copy a text of a lab's table; one that does not fit is the lab's mistake. */
static void copy(char *out, size_t size, const char *text)
{
    if (strlen(text) >= size)
        die(STATUS_WRONG, "a lab's own cost has the text '%s'; shorten it to %zu letters", text, size - 1);
    snprintf(out, size, "%s", text);
}

void own_costs_make_room(struct own_costs *costs, const struct own_cost *list)
{
    for (const struct own_cost *row = list; row && row->name; row++) {
        if (find(costs, row->name))
            continue;
        if (costs->count == OWN_COSTS_MOST)
            die(STATUS_WRONG, "a lab has more than %d costs of its own; raise OWN_COSTS_MOST", OWN_COSTS_MOST);
        struct own_value *value = &costs->at[costs->count++];
        *value = (struct own_value){ .kind = row->kind, .units = row->units, .value = (double)NAN };
        copy(value->name, sizeof value->name, row->name);
        copy(value->what, sizeof value->what, row->what);
        copy(value->unit, sizeof value->unit, row->unit);
    }
}

double *own_costs_row(struct own_costs *costs, const char *prefixed)
{
    if (!work_is_own_cost(prefixed))
        return NULL;
    struct own_value *value = find(costs, prefixed + strlen(WORK_OWN_COST));
    return value ? &value->value : NULL;
}

double own_costs_value(const struct own_costs *costs, const char *name)
{
    const int place = own_costs_place(costs, name);
    return place < 0 ? (double)NAN : costs->at[place].value;
}

bool own_costs_cover(const struct own_costs *costs, const struct own_cost *list)
{
    bool is_covered = true;
    for (const struct own_cost *row = list; row && row->name; row++)
        is_covered &= !isnan(own_costs_value(costs, row->name));
    return is_covered;
}

double own_cost_value(enum own_cost_kind kind, double seconds)
{
    return kind == OWN_RATE ? 1 / seconds : seconds;
}

double own_cost_seconds(const struct own_cost *cost, const struct own_where *where)
{
    struct world *together = where->together;
    const int ranks = world_size(together);
    double *all = memory_new((size_t)ranks, sizeof *all), mean = 0;
    world_barrier(together);
    const double value = cost->measure(where, cost->which),
                 mine = own_cost_value(cost->kind, value); /* a reciprocal is its own inverse */
    world_gather(together, &mine, sizeof mine, all);
    for (int rank = 0; rank < ranks && world_rank(together) == 0; rank++)
        mean += all[rank] / ranks;
    free(all);
    return mean;
}

/* A cost while it is measured: times so far, their results, and the seconds that they took. Times in which others had a core do not count,
 * unless there were too many of them; then the one counts in which they had it least. */
struct measuring {
    int times, disturbed;
    double found[OWN_TURNS], took;
    double least_lost, then; /* share of a disturbed time, and what it found */
};

/* Disturbed times after which a cost needs only OWN_TURNS_LEAST undisturbed ones; UNDISTURBED_PATIENCE_S after the first turn, none. */
enum { DISTURBED_MOST = OWN_TURNS / 2 };

/* Add a time that found `seconds`, and in which others had the core for this share. */
static void add_time(struct measuring *cost, double seconds, double lost)
{
    if (!interference_is_significant(lost)) {
        cost->found[cost->times++] = seconds;
        return;
    }
    if (cost->disturbed++ == 0 || lost < cost->least_lost) {
        cost->least_lost = lost;
        cost->then = seconds;
    }
}

static double mean_of(const struct measuring *cost)
{
    return cost->times > 0 ? stats_mean(cost->found, cost->times) : cost->then;
}

/* True if the mean is known, or has taken long enough. `elapsed`: seconds since the first turn. */
static bool is_enough(const struct measuring *cost, double elapsed)
{
    if (cost->times < OWN_TURNS_LEAST)
        return false;
    const bool do_agree = stats_error(cost->found, cost->times) <= OWN_ERROR * fabs(mean_of(cost));
    return cost->took >= OWN_ENOUGH_S || (elapsed >= OWN_SPREAD_S && do_agree);
}

/* all of `together`: let rank 0 decide which costs need another turn. Return true if any. */
static bool choose_costs(const struct measuring *costs, int count, struct world *together, double elapsed,
                         bool wanted[OWN_COSTS_MOST])
{
    bool is_any = false;
    for (int i = 0; i < count; i++) {
        const struct measuring *cost = &costs[i];
        const bool is_disturbed = cost->disturbed >= DISTURBED_MOST;
        const int turns = is_disturbed ? OWN_TURNS_LEAST : card_times(OWN_TURNS);
        wanted[i] = wanted[i] && !is_enough(cost, elapsed) && cost->times < turns &&
                    !(is_disturbed && elapsed > UNDISTURBED_PATIENCE_S);
    }
    world_broadcast(together, wanted, (size_t)count * sizeof *wanted);
    for (int i = 0; i < count; i++)
        is_any |= wanted[i];
    return is_any;
}

/* all of where->together: measure the list's costs, collectives or others, that have no value. Rank 0 writes the values. */
static void measure_in_turns(struct own_costs *costs, const struct own_cost *list, const struct own_where *where,
                             bool are_collectives)
{
    struct measuring all[OWN_COSTS_MOST] = { { 0 } };
    bool wanted[OWN_COSTS_MOST] = { false };
    int count = 0;
    for (; list[count].name; count++)
        wanted[count] =
            (list[count].kind == OWN_COLLECTIVE) == are_collectives && isnan(own_costs_value(costs, list[count].name));
    const double first = world_wall();
    while (choose_costs(all, count, where->together, world_wall() - first, wanted))
        for (int i = 0; i < count; i++) {
            if (!wanted[i])
                continue;
            const double began = world_wall();
            const struct undisturbed since = undisturbed_begin();
            const double seconds = own_cost_seconds(&list[i], where);
            add_time(&all[i], seconds, undisturbed_lost(since, where->together));
            all[i].took += world_wall() - began;
            world_heartbeat(where->together);
        }
    for (int i = 0; i < count; i++)
        if (all[i].times + all[i].disturbed > 0)
            find(costs, list[i].name)->value = own_cost_value(list[i].kind, mean_of(&all[i]));
}

/* all: measure the list's costs, collectives or others, on the first `ranks` ranks. */
static void measure_on(int ranks, bool are_collectives, struct own_costs *costs, struct world *world,
                       struct own_where where, const struct own_cost *list)
{
    bool has_any = false;
    for (const struct own_cost *row = list; row->name; row++)
        has_any |= (row->kind == OWN_COLLECTIVE) == are_collectives;
    if (!has_any)
        return;
    struct world *together = world_first(world, ranks);
    where.together = together;
    if (together) {
        frequency_recover(); /* from steps */
        measure_in_turns(costs, list, &where, are_collectives);
        world_leave(together);
    }
    world_park(world);
}

void own_costs_measure(struct own_costs *costs, struct world *world, struct own_where where, int busy,
                       const struct own_cost *list)
{
    own_costs_make_room(costs, list);
    if (own_costs_cover(costs, list))
        return;
    const bool is_real = !world_is_simulated();
    measure_on(is_real ? busy : 1, false, costs, world, where, list);
    measure_on(is_real ? busy : world_size(world), true, costs, world, where, list);
}

void own_costs_read(struct own_costs *costs, const struct own_cost *list)
{
    own_costs_make_room(costs, list);
    for (int i = 0; i < costs->count; i++) {
        char name[sizeof WORK_OWN_COST + OWN_COST_NAME];
        snprintf(name, sizeof name, WORK_OWN_COST "%s", costs->at[i].name);
        costs->at[i].value = world_property_number(name, costs->at[i].value);
    }
}

double own_costs_bytes(const struct own_cost *list)
{
    double most = 0;
    for (const struct own_cost *row = list; row && row->name; row++)
        most = fmax(most, row->bytes);
    return most;
}

bool own_cost_is_followed(enum own_cost_kind kind)
{
    return kind != OWN_STAYS && !(kind == OWN_COLLECTIVE && world_is_simulated());
}

double own_pace_of(enum own_cost_kind kind, struct own_pace pace)
{
    return kind == OWN_COLLECTIVE ? pace.collectives : pace.work;
}

/* The card, whose values are means of several turns, weighs as much as the nearest probe, which measures a cost once and briefly. So a
 * launch with few probes of a cost follows them half-way; the error of the card, which all its rounds share, stays by half. Six launches
 * of lab 07 on an unsteady Intel Xeon (2026-11-30): by probes alone, not relative to the pace, steps were off by 12, 14 and 11 %
 * (simulated, one and two real ranks, root mean square of 180 rounds each), in this way by 6, 11 and 10 %. Steps of labs 03 and 10 were
 * off as much as before. */
static const double CARD_WEIGHT = 1;

void own_costs_follow(struct own_costs *costs, const struct own_now *now, struct own_pace pace)
{
    for (int i = 0; i < costs->count; i++) {
        const enum own_cost_kind kind = costs->at[i].kind;
        const double times = own_pace_of(kind, pace), weight = now->at[i].weight,
                     on_card = own_cost_value(kind, costs->at[i].value),
                     mean = (CARD_WEIGHT * on_card + weight * now->at[i].seconds) / (CARD_WEIGHT + weight);
        if (own_cost_is_followed(kind))
            costs->at[i].value = own_cost_value(kind, (times > 0 ? times : 1) * mean);
    }
}

void own_costs_show(FILE *out, const struct own_costs *costs)
{
    for (int i = 0; i < costs->count; i++) {
        const struct own_value *value = &costs->at[i];
        const double shown = value->value * value->units;
        if (shown > 0 && *value->what)
            fprintf(out, "  %-31s%8.*f %s\n", value->what,
                    fabs(shown) < 10    ? 2
                    : fabs(shown) < 100 ? 1
                                        : 0,
                    shown, value->unit);
    }
}