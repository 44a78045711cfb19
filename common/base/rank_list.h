/* rank_list: prints lists of ranks. */
#ifndef LOCKSTEP_RANK_LIST_H
#define LOCKSTEP_RANK_LIST_H

#include <stdio.h>

/* Print "rank 1" or "ranks 0, 2 and 3"; of many ranks only the first few: "ranks 0, 1, 2, 3, 4, 5 and 26 more". */
void rank_list_print(FILE *out, const int *ranks, int count);

#endif
