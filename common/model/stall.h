/* stall: injected delay of a rank. The labs inject delays only here. */
#ifndef LOCKSTEP_STALL_H
#define LOCKSTEP_STALL_H

enum stall_kind {
    STALL_NONE,
    STALL_SLEEP, /* waits for something else: a disk, a lock, the network; leaves its core free */
    STALL_BUSY,  /* computes on the host: parsing, decoding, logging; takes its core */
};

struct stall {
    enum stall_kind kind;
    double seconds;
};

#define NO_STALL ((struct stall){ STALL_NONE, 0 })

/* Stall for `seconds`: of the clock when asleep, of CPU time when busy. */
void stall(struct stall stall);

/* Stall concurrently with the rank's work, on an async helper of its own, one stall at a time. */
struct async_stall;
struct async_stall *async_stall_open(void);
void async_stall_close(struct async_stall *async);
void async_stall_begin(struct async_stall *async, struct stall stall);
/* Wait for the end of the stall that was begun; return at once if there is none. */
void async_stall_wait(struct async_stall *async);

#endif
