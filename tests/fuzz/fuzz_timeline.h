/* fuzz_timeline: what blame computes from one round of any job's spans. */
#ifndef LOCKSTEP_FUZZ_TIMELINE_H
#define LOCKSTEP_FUZZ_TIMELINE_H

#include "analysis/timeline.h"

/* Split the collectives into wait and transfer, and replay the steps by both ways of a what-if. */
void fuzz_timeline(const struct timeline *timeline);

#endif
