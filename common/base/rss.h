/* footprint: the memory that this process has in use, as the kernel counts it: its pages that are resident, those of libraries
 * and of what it shares with others included. */
#ifndef LOCKSTEP_FOOTPRINT_H
#define LOCKSTEP_FOOTPRINT_H

#include <stdbool.h>

/* Bytes; 0 where the kernel does not tell. */
struct rss {
    double now, most; /* VmRSS; VmHWM: the most since the process began, or since rss_restart_peak() */
};
struct rss rss_now(void);

/* What was let go goes back to the kernel, and the most begins anew; where the kernel refuses that, it goes on. */
void rss_restart_peak(void);

/* Of a rank: before it opened anything; at most while it measured the card and tried the model; and while it trained. */
struct rss_peaks {
    double empty, prepared, trained;
};

/* Of all ranks the most, in words, for results and people; free them. And what the words say; false for any others. */
char *rss_peaks_text(const struct rss_peaks *most);
bool rss_peaks_read(struct rss_peaks *most, const char *told);

#endif
