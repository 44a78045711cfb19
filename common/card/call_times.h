/* call_times: seconds of calls on the device, between its events: on a core readings of its clock. For a lab's own costs (own_cost.h). */
#ifndef LOCKSTEP_CALL_TIMES_H
#define LOCKSTEP_CALL_TIMES_H

#include "card/own_cost.h"

struct world;

/* Discard all events of the device, and make room for `events`. Return the seconds between two finished events. */
void events_begin(int events);
double events_between(double begin, double end);

/* Return the median of a call's seconds: of `repeats` means of `calls` calls, after `warmups` that do not count. */
struct call_times {
    int warmups, repeats, calls;
};
double repeated_call_seconds(struct call_times how, void (*call)(const void *of), const void *of, struct world *world);

/* Return the median seconds of a product (rows, width) x (width, width). */
double product_seconds(int rows, int width, int repeats, struct world *world);

/* Measure function of an own cost: operations per second of a product of matrices that fit a core's caches, or that keep a GPU busy. */
double product_measure(const struct own_where *where, int which);

#endif
