/* pulse: a job's signs of life. Its first rank writes them, each with the time that the next one may take; whoever started
 * the ranks reads them, and ends a job whose pulse has stopped. */
#ifndef LOCKSTEP_PULSE_H
#define LOCKSTEP_PULSE_H

#include <stdbool.h>

/* What a file of signs says. */
struct pulse {
    long beats;
    double allowed; /* seconds that the next sign may take after the last one; 0 when there was none */
    bool has_ended; /* the last one was the word that all is done */
};

/* A new file without a name: its descriptor. Its path under /proc, which the variable JOB_PULSE (job.h) tells the ranks, stays
 * good as long as this process keeps it open. */
int pulse_create(void);
struct pulse pulse_feel(int file);

/* From the job's first rank: it is alive, and is so again within that many seconds. */
void pulse_beat(double allowed);

/* The first rank's word that the job came to its end, right or wrong. A launcher's exit status 0 does not say so. */
void pulse_end(void);

#endif
