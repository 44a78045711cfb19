/* sabotage: sums that are wrong to order. A program that links sabotage_mpi.c or sabotage_nccl.c has the all-reduces of its
 * library replaced: those of SABOTAGED elements go wrong as long as `sabotage` says so. */
#ifndef LOCKSTEP_SABOTAGE_H
#define LOCKSTEP_SABOTAGE_H

enum { SABOTAGED = 5000 };

extern enum sabotage {
    HONEST,
    FLIPPED, /* wrong bits in the result */
    LOST,    /* what this rank sent, as if it were the sum */
    STUCK,   /* one element alone is wrong, the same in each sum */
} sabotage;

enum { STUCK_ELEMENT = 1234 };

#endif
