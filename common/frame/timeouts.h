/* patience: after how many seconds without a sign of life a run is given up. What was asked (--deadline-s), or else several
 * times what the stage it is at should take, and on top what a shared machine may stand still for. */
#ifndef LOCKSTEP_PATIENCE_H
#define LOCKSTEP_PATIENCE_H

#include "model/workload.h"
#include "options/run.h"

#include <stdbool.h>
#include <stddef.h>

/* Until the ranks have joined each other. */
double timeout_to_start(const struct run *run);

/* Until the machine card is measured: nothing is known yet but the arithmetic. */
double timeout_for_card(const struct run *run, const struct workload *workload, bool is_simulated);

/* For a block whose steps should take `step` seconds each, as predicted, NaN if nobody did. Real ranks show signs of life where
 * they synchronise, if they take part (`has_signs`); those that do not, and simulated ones, at the block's end only. In a
 * simulated world other seconds pass than those here. */
double timeout_for_block(const struct run *run, const struct workload *workload, double step, struct window window,
                         bool has_signs, bool is_simulated);

/* Until so many bytes are on disk. */
double timeout_to_write(const struct run *run, size_t bytes);

#endif
