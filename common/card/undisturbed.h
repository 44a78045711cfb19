/* undisturbed: whether other programs, or the virtual machine's host, had a rank's core while something was measured. Such
 * a time says nothing about the machine: a rank that waits for one without a core measures milliseconds for a message of microseconds. */
#ifndef LOCKSTEP_UNDISTURBED_H
#define LOCKSTEP_UNDISTURBED_H

#include <stdbool.h>

struct world;

/* Seconds in which a card measures again what others disturb. Many brief measurements pass within one stretch of another program, and most
 * stretches end within this time. */
#define UNDISTURBED_PATIENCE_S 8

/* Readings of this rank at the beginning. */
struct undisturbed {
    double by_others, stolen, began;
};
struct undisturbed undisturbed_begin(void);

/* all: return the largest share of the time since then that any rank lost to others. 0 where ranks share cores: they take them from each
 * other; and for a brief card. */
double undisturbed_lost(struct undisturbed since, struct world *world);

/* all: true if no rank lost enough to show in measurements. */
bool undisturbed(struct undisturbed since, struct world *world);

/* all: true if rank 0 wants to measure again and began (world_wall()) less than UNDISTURBED_PATIENCE_S ago. */
bool undisturbed_again(bool wants, double began, struct world *world);

#endif
