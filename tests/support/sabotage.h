/* sabotage.h: deliberately wrong collectives and messages. Linking sabotage_mpi.c or sabotage_nccl.c replaces those of the library.
 * While `sabotage` is not HONEST, those of floats whose count is SABOTAGED return wrong results. In a broadcast the sender's own
 * result stays right. */
#ifndef LOCKSTEP_SABOTAGE_H
#define LOCKSTEP_SABOTAGE_H

enum { SABOTAGED = 5000 };

extern enum sabotage {
    HONEST,
    FLIPPED, /* wrong bits in the result */
    LOST,    /* nothing is exchanged; an all-reduce returns this rank's own input */
    STUCK,   /* one wrong element, the same in every result */
} sabotage;

enum { STUCK_ELEMENT = 1234 };

#endif
