/* local_fit: fits the cost of a local step to laps with several batch shapes, and says how well it predicts other batches. */
#ifndef LOCKSTEP_LOCAL_FIT_H
#define LOCKSTEP_LOCAL_FIT_H

#include "card/visits.h"

/* Return the cost fitted to the first `shapes` shapes of these times; `terms`: bits 1 << COST_... */
struct local_cost local_fit(const struct lap_times *times, int shapes, unsigned terms);

/* Return the fit's errors: for the shape after these, the usual batch; and the largest when one shape after the other is left out and
 * predicted by a fit to the rest (0: too few shapes for that). */
struct fit_error local_fit_error(const struct lap_times *times, int shapes, unsigned terms);

#endif
