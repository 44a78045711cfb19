/* algorithm: all-reduce algorithm of a launch. All all-reduces use the same one, so the order of additions, and every bit of the
 * loss, depends on the message alone. */
#ifndef LOCKSTEP_ALGORITHM_H
#define LOCKSTEP_ALGORITHM_H

enum algorithm {
    ALGORITHM_RING, /* each rank sends an n-th part 2 (n - 1) times: fewest bytes, most messages; segmented */
    ALGORITHM_RECURSIVE_DOUBLING, /* each rank sends everything log2 n times: fewest messages */
    ALGORITHM_RABENSEIFNER,       /* halves, quarters …, and back: few bytes, few messages */
    ALGORITHM_REDUCE_BROADCAST,   /* up a tree and down again */
    ALGORITHM_UNSEGMENTED_RING,
    ALGORITHM_LINEAR, /* everything to rank 0 and back */
    ALGORITHMS
};

/* Names as words of the option, in the order of the enum. */
extern const char algorithm_words[];

/* Set the algorithm for this process and its children; call before MPI starts. A ring sends and adds segments of 256 KiB, which
 * stay in a core's caches. Without segments two ranks took 1.8 times as long for 128 MiB and 2.5 times for 12.5 MB (Open MPI
 * 4.1.4, shared memory, two cores of an Intel Xeon with other work on them, 2026-11-22). Simulated memory has no caches, and
 * simulated rings have no segments. ALGORITHM_RING does not replace an algorithm that the environment sets for Open MPI
 * (OMPI_MCA_coll_tuned_allreduce_algorithm; nonblocking: OMPI_MCA_coll_libnbc_iallreduce_algorithm).
 *
 * Nonblocking all-reduces have their own implementations. Open MPI 4.1 defaults to a tree for in-place ones, where one rank adds
 * everything. For 128 MiB in buckets of 25 MiB two ranks took 96 ms; with the ring 49 ms, blocking 39 ms (AMD EPYC, 2026-11-22). */
void algorithm_choose(enum algorithm algorithm);

/* Name of the algorithm set for Open MPI, and the word for SMPI's smpi/allreduce option. */
const char *algorithm_name(void);
const char *algorithm_simulated(void);

/* Messages that two ranks exchange one after another; each holds 1 / part of all bytes. */
struct exchange {
    int messages, part;
};
struct exchange algorithm_of_two(void);

#endif
