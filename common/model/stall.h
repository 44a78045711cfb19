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

/* The same beside what the rank does meanwhile, on a helper of its own, one at a time. */
struct aside;
struct aside *stall_open(void);
void stall_close(struct aside *aside);
void stall_begin(struct aside *aside, struct stall stall);
/* Waits for the end of the one that was begun; returns at once when there is none. */
void stall_end(struct aside *aside);

#endif
