/* hosts: finds the ranks of a world that run on the same machine. Such ranks share the clock and the cores of this machine.
 *
 * Simulated ranks count as one host, because they share one clock. The platform file describes simulated hosts. */
#ifndef LOCKSTEP_HOSTS_H
#define LOCKSTEP_HOSTS_H

struct world;

/* all: find the hosts of a new world of real ranks, and release them when the world is left. */
void hosts_find(struct world *world);
void hosts_leave(struct world *world);

int hosts_count(const struct world *world);

/* all: return the sum of `of_host` over the first ranks of all hosts. */
int hosts_sum(struct world *world, int of_host);

struct host {
    int index; /* hosts are in the order of their first ranks */
    int cores; /* cores that the host's ranks may use together */
};

/* all: write each rank's host into hosts (size). */
void hosts_list(struct world *world, struct host *hosts);

/* all: return "2 (a: ranks 0-1 on 2 cores; b: ranks 2-3 on 4 cores of another kind, Some CPU)"; NULL for one host or simulated
 * ranks. Free the text. */
char *hosts_text(struct world *world);

#endif
