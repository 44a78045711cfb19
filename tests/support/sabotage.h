/* sabotage.h: deliberately wrong all-reduces. Linking sabotage_mpi.c or sabotage_nccl.c replaces the all-reduces of the
 * library. While `sabotage` is not HONEST, all-reduces of SABOTAGED elements return wrong sums. */
#ifndef LOCKSTEP_SABOTAGE_H
#define LOCKSTEP_SABOTAGE_H

enum { SABOTAGED = 5000 };

extern enum sabotage {
    HONEST,
    FLIPPED, /* wrong bits in the result */
    LOST,    /* this rank's own input instead of the sum */
    STUCK,   /* one wrong element, the same in every sum */
} sabotage;

enum { STUCK_ELEMENT = 1234 };

#endif
