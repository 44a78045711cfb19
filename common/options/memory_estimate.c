#include "options/memory_estimate.h"

static const struct {
    const char *name, *cure;
} words[NEEDS] = {
    [MEMORY_PROGRAM] = { "the ranks themselves", "fewer --ranks" },
    [MEMORY_MODEL] = { "the model", "smaller dimensions or fewer --ranks" },
    [MEMORY_ACTIVATIONS] = { "the activations of a batch", "a smaller batch or fewer --ranks" },
    [MEMORY_DATA] = { "the data set", "a smaller batch, fewer --steps or fewer --ranks" },
    [MEMORY_MESSAGES] = { "messages", "smaller messages or fewer --ranks" },
    [MEMORY_RECORD] = { "the record of spans", "fewer --steps or fewer --ranks" },
};

double memory_estimate_sum(const struct memory_estimate *memory)
{
    double sum = 0;
    for (int i = 0; i < NEEDS; i++)
        sum += memory->of[i];
    return sum;
}

struct memory_estimate memory_estimate_most(struct memory_estimate a, struct memory_estimate b)
{
    return memory_estimate_sum(&a) > memory_estimate_sum(&b) ? a : b;
}

struct memory_estimate memory_estimate_add(struct memory_estimate a, struct memory_estimate b)
{
    for (int i = 0; i < NEEDS; i++)
        a.of[i] += b.of[i];
    return a;
}

struct memory_estimate memory_estimate_times(struct memory_estimate memory, double times)
{
    for (int i = 0; i < NEEDS; i++)
        memory.of[i] *= times;
    return memory;
}

static enum memory_use largest(const struct memory_estimate *memory)
{
    enum memory_use most = MEMORY_PROGRAM;
    for (int i = 0; i < NEEDS; i++)
        most = memory->of[i] > memory->of[most] ? (enum memory_use)i : most;
    return most;
}

const char *memory_estimate_largest(const struct memory_estimate *memory)
{
    return words[largest(memory)].name;
}

const char *memory_estimate_cure(const struct memory_estimate *memory)
{
    return words[largest(memory)].cure;
}
