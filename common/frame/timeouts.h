/* timeouts: seconds without a heartbeat after which a run is given up. Either --deadline-s, or several times what the current
 * stage should take, plus a margin for a shared machine that stands still. */
#ifndef LOCKSTEP_TIMEOUTS_H
#define LOCKSTEP_TIMEOUTS_H

#include "model/workload.h"
#include "options/run.h"

#include <stdbool.h>
#include <stddef.h>

/* Timeout until the ranks have joined the world. */
double timeout_to_start(const struct run *run);

/* Timeout until the machine card is measured, from the amount of arithmetic alone. */
double timeout_for_card(const struct run *run, const struct workload *workload, bool is_simulated);

/* Timeout of a block with predicted `step` seconds a step (NaN: no prediction). Real ranks that take part send a heartbeat
 * whenever they synchronise (`has_signs`). Parked and simulated ranks send one at the block's end only. Timeouts are in real
 * seconds, which differ from those of a simulated world. */
double timeout_for_block(const struct run *run, const struct workload *workload, double step, struct window window,
                         bool has_signs, bool is_simulated);

/* Timeout until `bytes` are on disk. */
double timeout_to_write(const struct run *run, size_t bytes);

#endif
