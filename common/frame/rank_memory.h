/* rank_memory: the memory of a rank by owner while it trains: estimated before anything is opened, and counted by the ledger. */
#ifndef LOCKSTEP_RANK_MEMORY_H
#define LOCKSTEP_RANK_MEMORY_H

#include "analysis/memory_count.h"
#include "options/memory_estimate.h"

#include <stdbool.h>

struct lab_spec;
struct options;

/* Bytes by owner of a rank that trains, the same in all cases: without the program itself, and of MEMORY_MEASURING without the spans,
 * whose number is known once all cases are (cases_record()). lab_spec.case_need() adds what a case opens. */
struct memory_estimate rank_memory_estimate(const struct lab_spec *spec, const struct options *base, bool is_simulated);

/* Likewise the most in any case that runs, or for any table of the lab's own. */
struct memory_estimate rank_memory_most(const struct lab_spec *spec, const struct options *base, bool is_simulated);

/* Count the process before training begins: what no array explains is the program. Freed blocks must have gone back to the kernel before
 * (rss_restart_peak()). */
struct memory_count rank_memory_begin(void);

/* Count this rank's memory in the block that ends, since `begun`. The system's counts are NaN where simulated ranks share a process. */
struct memory_count rank_memory_end(const struct memory_count *begun);

#endif
