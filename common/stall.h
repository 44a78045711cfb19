/* stall: what holds a rank up. The one place where the labs inject a delay. */
#ifndef LOCKSTEP_STALL_H
#define LOCKSTEP_STALL_H

enum stall_kind {
    STALL_NONE,
    STALL_SLEEP, /* waits for something else: a disk, a lock, the network; its core is free */
    STALL_BUSY,  /* computes on the host: parsing, decoding, logging; its core is taken */
};

struct stall {
    enum stall_kind kind;
    double seconds;
};

/* Lasts `seconds`: of the clock when asleep, of CPU time when busy. */
void stall(struct stall stall);

#endif
