/* algorithm: how the all-reduces of a launch add. One for all of them, so that the order of additions, and with it every
 * bit of the loss, depends on the message alone. */
#ifndef LOCKSTEP_ALGORITHM_H
#define LOCKSTEP_ALGORITHM_H

enum algorithm {
    ALGORITHM_RING, /* each rank sends an n-th part 2 (n - 1) times: the fewest bytes, the most messages; in segments */
    ALGORITHM_RECURSIVE_DOUBLING, /* all of it, log2 n times: the fewest messages */
    ALGORITHM_RABENSEIFNER,       /* halves, quarters …, and back: few of both */
    ALGORITHM_REDUCE_BROADCAST,   /* up a tree and down again */
    ALGORITHM_UNSEGMENTED_RING,
    ALGORITHM_LINEAR, /* everything to rank 0 and back */
    ALGORITHMS
};

/* The names as an option's words, in that order. */
extern const char algorithm_words[];

/* For this process and its children, before MPI starts. Of a ring's parts 256 KiB travel and are added at a time, which stay in
 * a core's caches: in one piece two ranks took 1.8 times as long for 128 MiB and 2.5 times for 12.5 MB (Open MPI 4.1.4, shared
 * memory, two cores of an Intel Xeon with other work on them, 2026-11-22). Simulated memory has no caches, and rings no
 * segments. The ring gives way to another that the environment already names for Open MPI
 * (OMPI_MCA_coll_tuned_allreduce_algorithm, and for started sums OMPI_MCA_coll_libnbc_iallreduce_algorithm).
 *
 * Started sums have implementations of their own. Left to itself Open MPI 4.1 takes a tree for those in place, in which one
 * rank adds everything: 128 MiB in pieces of 25 took two ranks 96 ms, by the ring 49, and blocking 39 (AMD EPYC, 2026-11-22). */
void algorithm_choose(enum algorithm algorithm);

/* What was chosen: its name, and SMPI's word for it. */
const char *algorithm_name(void);
const char *algorithm_simulated(void);

/* What two ranks exchange with it, one after another: so many messages, each an n-th part of all bytes. */
struct exchange {
    int messages, part;
};
struct exchange algorithm_of_two(void);

#endif
