#include "algorithm.h"

#include <stdlib.h>
#include <string.h>

static const char variable[] = "OMPI_MCA_coll_tuned_allreduce_algorithm";

const char algorithm_words[] = "ring recursive-doubling rabenseifner reduce-broadcast unsegmented-ring linear";

static const struct {
    const char *name;
    const char *number; /* as Open MPI's coll/tuned counts them */
    const char *word;   /* of smpi/allreduce */
    struct exchange of_two;
} rows[ALGORITHMS] = {
    [ALGORITHM_RING] = { "ring", "5", "lr", { 2, 2 } },
    [ALGORITHM_RECURSIVE_DOUBLING] = { "recursive doubling", "3", "rdb", { 1, 1 } },
    [ALGORITHM_RABENSEIFNER] = { "Rabenseifner", "6", "rab1", { 2, 2 } },
    [ALGORITHM_REDUCE_BROADCAST] = { "reduce and broadcast", "2", "redbcast", { 2, 1 } },
    [ALGORITHM_UNSEGMENTED_RING] = { "unsegmented ring", "4", "lr", { 2, 2 } },
    [ALGORITHM_LINEAR] = { "linear", "1", "default", { 2, 1 } },
};

void algorithm_choose(enum algorithm algorithm)
{
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
    setenv("OMPI_MCA_coll_tuned_allreduce_algorithm_segmentsize", "262144",
           0); /* bytes; by itself a part is one segment */
    setenv(variable, rows[algorithm].number, algorithm != ALGORITHM_RING);
}

static int chosen(void)
{
    const char *number = getenv(variable);
    for (int i = 0; number && i < ALGORITHMS; i++)
        if (strcmp(rows[i].number, number) == 0)
            return i;
    return -1;
}

static int known(void)
{
    return chosen() < 0 ? ALGORITHM_RING : chosen();
}

const char *algorithm_name(void)
{
    return chosen() < 0 ? "the library's choice of" : rows[chosen()].name;
}

const char *algorithm_simulated(void)
{
    return rows[known()].word;
}

struct exchange algorithm_of_two(void)
{
    return rows[known()].of_two;
}
