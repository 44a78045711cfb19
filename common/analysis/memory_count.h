/* memory_count: the memory of a rank in a block, as the ledger and the system count it. */
#ifndef LOCKSTEP_MEMORY_COUNT_H
#define LOCKSTEP_MEMORY_COUNT_H

#include "base/ledger.h"

/* Bytes. On the host the kernel counts the process, without pages of files. On a GPU its driver counts all processes that use it, and
 * a library's context and kernels are in it. */
struct memory_count {
    struct place_count {
        size_t at_peak[MEMORY_OWNERS]; /* when the sum of all was largest */
        size_t most[MEMORY_OWNERS];    /* each owner's own largest */
        int phase, layer;              /* where the rank was at the peak; -1: before the first step, in no layer */
        double held;                   /* at the end of the block, by the ledger */
        double resident;               /* likewise, by the system; NaN: not known */
        double program; /* by the system before training began, beyond what the ledger held; NaN: not known */
        double freed;   /* blocks that the heap keeps, their pages or not; 0 on a GPU; NaN: not known */
    } of[MEMORY_PLACES];
};

#endif
