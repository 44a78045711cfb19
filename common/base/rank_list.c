#include "base/rank_list.h"

void rank_list_print(FILE *out, const int *ranks, int count)
{
    enum { SHOWN = 6 };
    fputs(count == 1 ? "rank " : "ranks ", out);
    for (int i = 0; i < count && i < SHOWN; i++)
        fprintf(out, "%s%d", i == 0 ? "" : i == count - 1 ? " and " : ", ", ranks[i]);
    if (count > SHOWN)
        fprintf(out, " and %d more", count - SHOWN);
}
