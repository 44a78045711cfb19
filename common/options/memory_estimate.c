#include "options/memory_estimate.h"

/* Parts that one option makes smaller: a refusal names the largest of them. */
enum { PART_PROGRAM, PART_MODEL, PART_ACTIVATIONS, PART_DATA, PART_MESSAGES, PART_RECORD, PARTS };

static const struct {
    const char *name, *cure;
} parts[PARTS] = {
    [PART_PROGRAM] = { "the ranks themselves", "fewer --ranks" },
    [PART_MODEL] = { "the model", "smaller dimensions or fewer --ranks" },
    [PART_ACTIVATIONS] = { "the activations of a batch", "a smaller batch or fewer --ranks" },
    [PART_DATA] = { "the data set", "a smaller batch, fewer --steps or fewer --ranks" },
    [PART_MESSAGES] = { "messages", "smaller messages or fewer --ranks" },
    [PART_RECORD] = { "the record of spans", "fewer --steps or fewer --ranks" },
};

static const int part_of[MEMORY_OWNERS] = {
    [MEMORY_PROGRAM] = PART_PROGRAM,        [MEMORY_PARAMETERS] = PART_MODEL, [MEMORY_GRADIENTS] = PART_MODEL,
    [MEMORY_MOMENTS] = PART_MODEL,          [MEMORY_DATA] = PART_DATA,        [MEMORY_ACTIVATIONS] = PART_ACTIVATIONS,
    [MEMORY_COMMUNICATION] = PART_MESSAGES, [MEMORY_MEASURING] = PART_RECORD, [MEMORY_CACHED] = PART_ACTIVATIONS,
};

double memory_estimate_sum(const struct memory_estimate *memory)
{
    double sum = 0;
    for (int i = 0; i < MEMORY_OWNERS; i++)
        sum += memory->of[i];
    return sum;
}

struct memory_estimate memory_estimate_most(struct memory_estimate a, struct memory_estimate b)
{
    return memory_estimate_sum(&a) > memory_estimate_sum(&b) ? a : b;
}

struct memory_estimate memory_estimate_add(struct memory_estimate a, struct memory_estimate b)
{
    for (int i = 0; i < MEMORY_OWNERS; i++)
        a.of[i] += b.of[i];
    return a;
}

struct memory_estimate memory_estimate_times(struct memory_estimate memory, double times)
{
    for (int i = 0; i < MEMORY_OWNERS; i++)
        memory.of[i] *= times;
    return memory;
}

double memory_estimate_model(const struct memory_estimate *memory)
{
    return memory->of[MEMORY_PARAMETERS] + memory->of[MEMORY_GRADIENTS] + memory->of[MEMORY_MOMENTS];
}

struct memory_estimate memory_estimate_owned(struct memory_estimate memory, enum memory_owner owner)
{
    struct memory_estimate owned = { 0 };
    owned.of[owner] = memory_estimate_sum(&memory);
    return owned;
}

static int largest(const struct memory_estimate *memory)
{
    double of[PARTS] = { 0 };
    int most = 0;
    for (int i = 0; i < MEMORY_OWNERS; i++)
        of[part_of[i]] += memory->of[i];
    for (int i = 0; i < PARTS; i++)
        most = of[i] > of[most] ? i : most;
    return most;
}

const char *memory_estimate_largest(const struct memory_estimate *memory)
{
    return parts[largest(memory)].name;
}

const char *memory_estimate_cure(const struct memory_estimate *memory)
{
    return parts[largest(memory)].cure;
}
