/* rss: resident memory of this process as the kernel counts it, including pages of libraries and shared pages. */
#ifndef LOCKSTEP_RSS_H
#define LOCKSTEP_RSS_H

#include <stdbool.h>

/* Bytes; 0 if the kernel does not report them. */
struct rss {
    double now, most; /* VmRSS; VmHWM: peak since the process began, or since rss_restart_peak() */
};
struct rss rss_now(void);

/* Parts of the resident memory, in bytes; 0 if the kernel does not report them. `file` counts pages of mapped files, which the kernel
 * can take back at any time. */
struct rss_parts {
    double anonymous, file;
};
struct rss_parts rss_parts_now(void);

/* Likewise, but count a page that n processes share as 1/n. The kernel walks the page tables for it, so it takes longer. */
double rss_proportional(void);

/* Return freed memory to the kernel and restart the peak; the old peak stays if the kernel refuses the restart. */
void rss_restart_peak(void);

/* Bytes of a rank before opening any buffers, peak while measuring the card and checking gradients, and peak while training. */
struct rss_peaks {
    double empty, prepared, trained;
};

/* Format the maximum over all ranks as text for results and terminal; free the text. Parse that text; return false for others. */
char *rss_peaks_text(const struct rss_peaks *most);
bool rss_peaks_read(struct rss_peaks *most, const char *text);

#endif
