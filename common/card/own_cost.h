/* own_cost: costs that a lab defines itself and that its formula needs beside training and collectives: of dispatching an operation,
 * of reading a page. They are rows of the lab's description (lab_spec.h). The machine card measures those that the lab has and no
 * others, before any case, and keeps them in its file. A modelled machine has them as properties of its hosts. */
#ifndef LOCKSTEP_OWN_COST_H
#define LOCKSTEP_OWN_COST_H

#include <stdbool.h>
#include <stdio.h>

struct run;
struct shape_bench;
struct workload;
struct world;

/* Ways in which a cost follows the machine's speed (drift.h): as local steps or all-reduces do, and as probes find that measure it again
 * by itself (own_probe.h). Where other programs, or guests of a virtual machine's host, share caches or a core's units, one kind of work
 * slows down and another does not.
 *
 * All simulated ranks measure a collective, one alone the other kinds. No probe repeats it there: a simulated network stays as it is. */
enum own_cost_kind {
    OWN_SECONDS,    /* seconds of work on a core */
    OWN_RATE,       /* units of such work per second */
    OWN_COLLECTIVE, /* seconds of a collective, which depend on when each rank calls it */
    OWN_STAYS       /* anything else, such as a disk: it is not measured again */
};

/* Setting of a measurement: all ranks of `together` measure at once and train `workload`; only the batch size of `run` counts. `steps`:
 * local steps with the usual batch. */
struct own_where {
    struct world *together;
    const struct workload *workload;
    const struct run *run;
    struct shape_bench *steps;
};

/* A cost that a lab defines. */
struct own_cost {
    const char
        *name; /* "dispatch_s", at most OWN_COST_NAME - 1 letters; in card.csv and platform files "own_dispatch_s" */
    enum own_cost_kind kind;
    const char *what; /* for the printed card: "dispatching an operation takes"; "": not shown */
    const char *unit; /* the printed unit, and how many of them the value 1 is: "ns", 1e9 */
    double units;
    double bytes; /* memory that measure() opens on a rank */
    /* Return this rank's value; a median of several is best. It is called in several turns, so it may be brief: hundredths of a second.
     * All ranks of `together` measure at once: those that have a core of their own; a simulated collective, all ranks. NaN if this machine
     * cannot do it. It depends on machine, model and batch size, never on the lab's options, because a later run with other options takes
     * it from the file. Its core begins at full frequency: one that multiplies matrices ends with frequency_recover() (frequency.h) where
     * the lab's other costs depend on that. */
    double (*measure)(const struct own_where *where, int which);
    int which; /* argument of measure(), so that rows may share a function */
};

enum { OWN_COSTS_MOST = 56, OWN_COST_NAME = 40, OWN_COST_WHAT = 64, OWN_COST_UNIT = 16 };

/* Own costs on a card, by value because ranks send the card to each other. NaN: not measured. */
struct own_costs {
    int count;
    struct own_value {
        char name[OWN_COST_NAME], what[OWN_COST_WHAT], unit[OWN_COST_UNIT];
        enum own_cost_kind kind;
        double units, value;
    } at[OWN_COSTS_MOST];
};

/* How many times as long as on the card work and collectives take; 0: unknown. */
struct own_pace {
    double work, collectives;
};

/* Own costs as probes found them, by their places in struct own_costs. */
struct own_now {
    struct {
        double seconds; /* as own_cost_seconds(), divided by the pace of its kind */
        double weight;  /* 0: not measured; else the nearest probe has 1 */
    } at[OWN_COSTS_MOST];
};

/* Add a row for each cost, whose value is NaN, unless there is one. `list` ends with a row without name; NULL: none. */
void own_costs_make_room(struct own_costs *costs, const struct own_cost *list);

/* Return the value of a row, or NULL. The name is that of the file with its prefix, as of a platform's property. */
double *own_costs_row(struct own_costs *costs, const char *prefixed);

/* Return a value by its name without prefix; NaN if there is none. */
double own_costs_value(const struct own_costs *costs, const char *name);

/* True if each cost of the list has a value. */
bool own_costs_cover(const struct own_costs *costs, const struct own_cost *list);

/* all of where->together: measure a cost once. Return the mean of the ranks' seconds, on rank 0: of a rate its reciprocal. */
double own_cost_seconds(const struct own_cost *cost, const struct own_where *where);

/* Return the value of a cost whose seconds these are. */
double own_cost_value(enum own_cost_kind kind, double seconds);

/* all: measure the costs of the list that have no value, as `where` says except for its world. The first `busy` ranks measure at once; of
 * simulated ranks all measure collectives, and rank 0 the other costs. Rank 0 then has the means of these ranks, and of OWN_TURNS turns in
 * which each cost is measured once. A core is often slow for tenths of a second, for example while another guest works on its other
 * hyperthread; a cost that is measured at one time only is then too high or too low, by up to a third. OWN_TURNS_LEAST turns suffice if
 * they took OWN_ENOUGH_S, for then each averages over such moments itself; or if the first was OWN_SPREAD_S ago and they agree, so that
 * the standard error of their mean is at most OWN_ERROR of it. Turns that others disturbed (undisturbed.h) do not count, unless there is
 * no other. */
enum { OWN_TURNS = 8, OWN_TURNS_LEAST = 3 };
#define OWN_ENOUGH_S 0.7
#define OWN_SPREAD_S 0.5
#define OWN_ERROR    0.03
void own_costs_measure(struct own_costs *costs, struct world *world, struct own_where where, int busy,
                       const struct own_cost *list);

/* Read all costs of a modelled machine from the properties of this rank's host. */
void own_costs_read(struct own_costs *costs, const struct own_cost *list);

/* Return the most memory that measuring one of them takes on a rank. */
double own_costs_bytes(const struct own_cost *list);

/* Return the place of a cost by its name without prefix; -1 if there is none. */
int own_costs_place(const struct own_costs *costs, const char *name);

/* True if the cost follows the machine's speed. */
bool own_cost_is_followed(enum own_cost_kind kind);

/* Return the pace of a kind of cost. */
double own_pace_of(enum own_cost_kind kind, struct own_pace pace);

/* Change the values of costs that follow the machine's speed: to means of the card and of what probes found, times the pace. An unknown
 * pace is 1. */
void own_costs_follow(struct own_costs *costs, const struct own_now *now, struct own_pace pace);

/* Print a line for each that has a value; 0 is none: one rank alone sums nothing. */
void own_costs_show(FILE *out, const struct own_costs *costs);
#endif
