/* hosts: which ranks of a world sit on one machine. They share its clock and its cores, and nothing of another's.
 *
 * Simulated ranks count as one host: they share one clock, and what else their hosts are like the platform file says. */
#ifndef LOCKSTEP_HOSTS_H
#define LOCKSTEP_HOSTS_H

struct world;

/* all: called by whoever makes a world of real ranks, and by whoever leaves one. */
void hosts_find(struct world *world);
void hosts_leave(struct world *world);

int hosts_count(const struct world *world);

/* all: the sum, over hosts, of what the first rank of each has. */
int hosts_sum(struct world *world, int of_host);

/* A rank's host. */
struct host {
    int index; /* in the order of their first ranks */
    int cores; /* that its ranks may use together */
};

/* all: every rank's, into hosts (size). */
void hosts_list(struct world *world, struct host *hosts);

/* all: "2 (a: ranks 0-1 on 2 cores; b: ranks 2-3 on 4 cores of another kind, Some CPU)". Free it. NULL where there
 * is one host, or none but the simulated. */
char *hosts_text(struct world *world);

#endif
