#include "options/algorithm.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char variable[] = "OMPI_MCA_coll_tuned_allreduce_algorithm";
static const char nonblocking_variable[] = "OMPI_MCA_coll_libnbc_iallreduce_algorithm";

const char algorithm_words[] = "ring recursive-doubling rabenseifner reduce-broadcast unsegmented-ring linear";

static const struct {
    const char *name;
    const char *number;      /* number in Open MPI's coll/tuned */
    const char *nonblocking; /* nearest in its coll/libnbc: 1 ring, 2 tree, 3 Rabenseifner, 4 recursive doubling */
    const char *smpi;        /* value of smpi/allreduce */
    struct exchange of_two;
} rows[ALGORITHMS] = {
    [ALGORITHM_RING] = { "ring", "5", "1", "lr", { 2, 2 } },
    [ALGORITHM_RECURSIVE_DOUBLING] = { "recursive doubling", "3", "4", "rdb", { 1, 1 } },
    [ALGORITHM_RABENSEIFNER] = { "Rabenseifner", "6", "3", "rab1", { 2, 2 } },
    [ALGORITHM_REDUCE_BROADCAST] = { "reduce and broadcast", "2", "2", "redbcast", { 2, 1 } },
    [ALGORITHM_UNSEGMENTED_RING] = { "unsegmented ring", "4", "1", "lr", { 2, 2 } },
    [ALGORITHM_LINEAR] = { "linear", "1", "2", "default", { 2, 1 } },
};

static int chosen(void)
{
    const char *number = getenv(variable);
    for (int i = 0; number && i < ALGORITHMS; i++)
        if (strcmp(rows[i].number, number) == 0)
            return i;
    return -1;
}

static int chosen_or_ring(void)
{
    return chosen() < 0 ? ALGORITHM_RING : chosen();
}

void algorithm_choose(enum algorithm algorithm)
{
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
    setenv("OMPI_MCA_coll_tuned_allreduce_algorithm_segmentsize", "262144",
           0); /* bytes; the default is one segment per part */
    bool overrides = algorithm != ALGORITHM_RING;
    setenv(variable, rows[algorithm].number, overrides);
    if (chosen() >= 0)
        setenv(nonblocking_variable, rows[chosen()].nonblocking, overrides);
}

const char *algorithm_name(void)
{
    return chosen() < 0 ? "the library's choice of" : rows[chosen()].name;
}

const char *algorithm_simulated(void)
{
    return rows[chosen_or_ring()].smpi;
}

struct exchange algorithm_of_two(void)
{
    return rows[chosen_or_ring()].of_two;
}
