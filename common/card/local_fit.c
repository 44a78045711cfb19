#include "card/local_fit.h"

#include "base/stats.h"

#include <math.h>

/* Fit a cost to rows of amounts (rows, COST_TERMS). */
static struct cost fit(const double *amounts, const double *seconds, int rows, unsigned terms)
{
    struct cost cost = { { 0 } };
    stats_fit(cost.term, amounts, seconds, rows, COST_TERMS, terms);
    return cost;
}

/* Fit to all of the shapes but one; to all if `left_out` is none of them. */
static struct local_cost fit_without(const struct lap_times *times, int shapes, unsigned terms, int left_out)
{
    double amounts[SHAPES_MOST * COST_TERMS], fetch[SHAPES_MOST], passes[SHAPES_MOST];
    double update = 0, forward = 0, both = 0;
    int rows = 0;
    for (int shape = 0; shape < shapes; shape++) {
        if (shape == left_out)
            continue;
        work_amounts(times->work[shape], amounts + rows * COST_TERMS);
        fetch[rows] = times->mean[shape].fetch;
        passes[rows++] = times->mean[shape].passes;
        update += times->mean[shape].update;
        forward += times->mean[shape].forward;
        both += times->mean[shape].passes;
    }
    return (struct local_cost){ .fetch = fit(amounts, fetch, rows, terms),
                                .passes = fit(amounts, passes, rows, terms),
                                .forward_share = forward / both,
                                .update = update / rows };
}

struct local_cost local_fit(const struct lap_times *times, int shapes, unsigned terms)
{
    return fit_without(times, shapes, terms, shapes);
}

/* Return predicted / measured - 1 of a shape's whole step. */
static double error_at(const struct local_cost *cost, const struct lap_times *times, int shape)
{
    const struct local_times *mean = &times->mean[shape];
    return local_step(cost, times->work[shape]) / (mean->fetch + mean->passes + mean->update) - 1;
}

static int count_terms(unsigned terms)
{
    int count = 0;
    for (int term = 0; term < COST_TERMS; term++)
        count += (terms & 1u << term) != 0;
    return count;
}

struct fit_error local_fit_error(const struct lap_times *times, int shapes, unsigned terms)
{
    const struct local_cost all = local_fit(times, shapes, terms);
    struct fit_error error = { .usual = error_at(&all, times, shapes) };
    for (int left_out = 0; left_out < shapes && shapes > count_terms(terms); left_out++) {
        const struct local_cost others = fit_without(times, shapes, terms, left_out);
        error.left_out = fmax(error.left_out, fabs(error_at(&others, times, left_out)));
    }
    return error;
}
