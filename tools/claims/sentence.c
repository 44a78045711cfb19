#include "sentence.h"

#include "base/memory.h"

#include <stdio.h>

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

void verdict_count(struct verdict_counts *counts, enum verdict verdict, int rounds, int rounds_to_notice)
{
    counts->of[verdict]++;
    counts->once += verdict == TOO_NOISY && rounds == 1;
    counts->terms += rounds_to_notice >= 0;
    counts->noticed += rounds_to_notice == 0;
}

char *sentence_of(const struct verdict_counts *counts)
{
    const int *count = counts->of;
    int undecided = count[TOO_NOISY] + count[DISTURBED];
    int timed = count[AS_PREDICTED] + count[WRONG] + undecided;
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    if (timed > 0)
        fprintf(out, "Of %d claim%s about time, %d came out as predicted, %d wrong, %d %s undecided", timed,
                plural(timed), count[AS_PREDICTED], count[WRONG], undecided, undecided == 1 ? "is" : "are");
    if (undecided > 0)
        fprintf(out, " (%d too noisy, %d disturbed", count[TOO_NOISY] - counts->once, count[DISTURBED]);
    if (counts->once > 0)
        fprintf(out, ", %d measured only once, for lack of time", counts->once);
    if (undecided > 0)
        fputs(")", out);
    fprintf(out, "%s%d exact check%s hold%s, %d fail.", timed > 0 ? "; " : "", count[HOLDS], plural(count[HOLDS]),
            count[HOLDS] == 1 ? "s" : "", count[FAILS]);
    if (count[UNTESTABLE] > 0)
        fprintf(out, " %d claim%s not tested: of cases left out, or for another machine.", count[UNTESTABLE],
                count[UNTESTABLE] == 1 ? " is" : "s are");
    if (counts->terms > 0)
        fprintf(out,
                " Had a formula's term been a fifth too large or too small, %d of %d terms would have come out wrong.",
                counts->noticed, counts->terms);
    fclose(out);
    return text;
}
