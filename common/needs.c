#include "needs.h"

static const struct {
    const char *name, *cure;
} words[NEEDS] = {
    [NEED_PROGRAM] = { "the ranks themselves", "fewer --ranks" },
    [NEED_MODEL] = { "the model", "smaller dimensions or fewer --ranks" },
    [NEED_ACTIVATIONS] = { "what a pass keeps of a batch", "a smaller batch or fewer --ranks" },
    [NEED_DATA] = { "the data set", "a smaller batch, fewer --steps or fewer --ranks" },
    [NEED_MESSAGES] = { "messages", "smaller ones or fewer --ranks" },
    [NEED_RECORD] = { "the record of who did what when", "fewer --steps or fewer --ranks" },
};

double needs_sum(const struct needs *needs)
{
    double sum = 0;
    for (int i = 0; i < NEEDS; i++)
        sum += needs->of[i];
    return sum;
}

struct needs needs_most(struct needs a, struct needs b)
{
    return needs_sum(&a) > needs_sum(&b) ? a : b;
}

struct needs needs_add(struct needs a, struct needs b)
{
    for (int i = 0; i < NEEDS; i++)
        a.of[i] += b.of[i];
    return a;
}

struct needs needs_times(struct needs needs, double times)
{
    for (int i = 0; i < NEEDS; i++)
        needs.of[i] *= times;
    return needs;
}

static enum need largest(const struct needs *needs)
{
    enum need most = NEED_PROGRAM;
    for (int i = 0; i < NEEDS; i++)
        most = needs->of[i] > needs->of[most] ? (enum need)i : most;
    return most;
}

const char *needs_largest(const struct needs *needs)
{
    return words[largest(needs)].name;
}

const char *needs_cure(const struct needs *needs)
{
    return words[largest(needs)].cure;
}
