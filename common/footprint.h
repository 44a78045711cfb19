/* footprint: the memory that this process has in use, as the kernel counts it: its pages that are resident, those of libraries
 * and of what it shares with others included. */
#ifndef LOCKSTEP_FOOTPRINT_H
#define LOCKSTEP_FOOTPRINT_H

/* Bytes; 0 where the kernel does not tell. */
struct footprint {
    double now, most; /* VmRSS; VmHWM: the most since the process began, or since footprint_restart() */
};
struct footprint footprint_here(void);

/* What was let go goes back to the kernel, and the most begins anew; where the kernel refuses that, it goes on. */
void footprint_restart(void);

/* Of a rank: before it opened anything; at most while it measured the card and tried the model; and while it trained. */
struct phases {
    double empty, prepared, trained;
};

#endif
