/* collective_check: compares sampled elements of a result with what the ranks sent. */
#ifndef LOCKSTEP_COLLECTIVE_CHECK_H
#define LOCKSTEP_COLLECTIVE_CHECK_H

#include "collective/group.h"

/* Sample of a buffer: `runs` runs of `run` elements, from element `first` on. Runs begin `stride` run lengths apart. */
struct sample {
    size_t first, run, stride, runs;
};

/* Sampled terms of this rank in an operation in place. */
struct kept_terms {
    struct sample sample; /* 0 runs: nothing was kept */
    void *terms;          /* as sent; NULL before the first use */
};

/* End the program if the buffers of an operation overlap in another way than collective.h allows. */
void collective_check_buffers(const struct group *group, const struct collective_op *op);

/* Keep this rank's terms of an operation in place, for the check of its result; but not of a broadcast, which may be in place on the
 * sender alone. `n` counts the checks: each takes another sample. The copy is queued in the device's order of work. Only the first
 * call allocates, because the step may be measured. Return true if there was anything to keep. */
bool collective_check_keep(struct kept_terms *kept, const struct group *group, const struct collective_op *op,
                           size_t n);
void collective_check_drop(struct kept_terms *kept);

/* all of the group: check the result of an operation, and count the failures. Sample number `n` is used unless terms were kept. */
void collective_check_result(const struct group *group, const struct operation *operation,
                             const struct kept_terms *kept, size_t n, struct check_failures *wrong);

#endif
