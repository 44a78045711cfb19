/* footprint: the memory that this process has in use, as the kernel counts it: its pages that are resident, those of libraries
 * and of what it shares with others included. */
#ifndef LOCKSTEP_FOOTPRINT_H
#define LOCKSTEP_FOOTPRINT_H

#include <stdbool.h>

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

/* Of all ranks the most, in words, for results and people; free them. And what the words say; false for any others. */
char *phases_told(const struct phases *most);
bool phases_read(struct phases *most, const char *told);

#endif
