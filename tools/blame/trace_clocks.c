#include "trace_clocks.h"

#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Clocks of one host, seen by two processes: stamps are taken some microseconds before or after the event. */
static const int64_t STAMP_ERROR = 100000; /* ns */
static const double FAR = 1e18;            /* ns: no bound */

/* Clocks that may differ: of the ranks, or of the hosts. (clocks, clocks) bounds of o_i - o_j from below. From above it is
 * -least[j][i]. */
struct bounds {
    int clocks;
    int *clock_of; /* (ranks) */
    double *least;
    double *offset; /* (clocks) */
};

static bool is_symmetric(const struct trace_collective *m)
{
    return m->members > 1 && m->member[0].wait->kind != SPAN_BROADCAST && m->member[0].wait->kind != SPAN_SEND_RECEIVE;
}

static bool ends_together(const struct trace_collective *m)
{
    bool are_kernels = true;
    for (int i = 0; i < m->members; i++)
        are_kernels &= m->member[i].wait->is_kernel;
    return is_symmetric(m) && are_kernels;
}

/* --- which clocks ----------------------------------------------------------------------------------------------- */

static bool has_one_clock(const struct trace_rank *x, const struct trace_rank *y)
{
    return x->head.host[0] && strcmp(x->head.host, y->head.host) == 0 && (x->head.base > 0) == (y->head.base > 0);
}

/* Give each rank a clock, or ranks of one host a common one. */
static void number_clocks(const struct trace_job *job, struct bounds *b, bool by_host)
{
    b->clocks = 0;
    for (int r = 0; r < job->count; r++) {
        int same = 0;
        while (by_host && same < r && !has_one_clock(&job->ranks[same], &job->ranks[r]))
            same++;
        b->clock_of[r] = by_host && same < r ? b->clock_of[same] : b->clocks++;
    }
}

static void find_bounds(const struct trace_job *job, struct bounds *b)
{
    for (int i = 0; i < b->clocks * b->clocks; i++)
        b->least[i] = -FAR;
    for (int n = 0; n < job->collective_count; n++) {
        const struct trace_collective *m = &job->collectives[n];
        for (int i = 0; is_symmetric(m) && i < m->members; i++)
            for (int j = 0; j < m->members; j++) {
                double *least = &b->least[b->clock_of[m->member[i].rank] * b->clocks + b->clock_of[m->member[j].rank]];
                *least = i == j ? *least : fmax(*least, (double)(m->member[i].wait->start - m->member[j].wait->end));
            }
    }
}

/* True if no bound forbids that ranks of one clock have one. */
static bool allows_one_clock(const struct bounds *b)
{
    for (int i = 0; i < b->clocks; i++)
        if (b->least[i * b->clocks + i] > (double)STAMP_ERROR)
            return false;
    return true;
}

/* --- offsets ---------------------------------------------------------------------------------------------------- */

/* Return the middle of a collective's ends, on the clocks as estimated so far, in ns since the first member's. */
static double common_end(const struct bounds *b, const struct trace_collective *m, double *values)
{
    for (int i = 0; i < m->members; i++)
        values[i] =
            (double)(m->member[i].wait->end - m->member[0].wait->end) - b->offset[b->clock_of[m->member[i].rank]];
    return stats_quantile(values, m->members, 0.5);
}

/* Shift each clock until its ends agree with those of the others, in the median over the collectives. Clocks pull each other, so
 * this takes some rounds. */
static void agree_on_ends(const struct trace_job *job, struct bounds *b, bool by_kernels)
{
    enum { ROUNDS = 8 };
    double *values = memory_new((size_t)job->count, sizeof *values), *common = NULL, *late = NULL;
    common = memory_new((size_t)job->collective_count + 1, sizeof *common);
    int all = 1;
    for (int n = 0; n < job->collective_count; n++)
        all += job->collectives[n].members;
    late = memory_new((size_t)all, sizeof *late);
    for (int round = 0; round < ROUNDS; round++) {
        for (int n = 0; n < job->collective_count; n++)
            common[n] = common_end(b, &job->collectives[n], values);
        for (int clock = 0; clock < b->clocks; clock++) {
            int count = 0;
            for (int n = 0; n < job->collective_count; n++) {
                const struct trace_collective *m = &job->collectives[n];
                for (int i = 0; (by_kernels ? ends_together(m) : is_symmetric(m)) && i < m->members; i++)
                    if (b->clock_of[m->member[i].rank] == clock)
                        late[count++] = (double)(m->member[i].wait->end - m->member[0].wait->end) - common[n];
            }
            b->offset[clock] = count ? stats_quantile(late, count, 0.5) : b->offset[clock];
        }
    }
    for (int clock = b->clocks - 1; clock >= 0; clock--)
        b->offset[clock] -= b->offset[0];
    free(values);
    free(common);
    free(late);
}

/* Tighten the bounds of each pair by those over a third clock. */
static void close_bounds(struct bounds *b)
{
    enum { CLOCKS_MOST = 256 }; /* cubic */
    const int n = b->clocks;
    for (int k = 0; k < n && n <= CLOCKS_MOST; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                b->least[i * n + j] = fmax(b->least[i * n + j], b->least[i * n + k] + b->least[k * n + j]);
}

/* Move offsets into the bounds, pair by pair. */
static void move_inside(struct bounds *b)
{
    enum { ROUNDS = 16 };
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < b->clocks; i++)
            for (int j = 0; j < b->clocks; j++) {
                double lacks = b->least[i * b->clocks + j] - (b->offset[i] - b->offset[j]);
                if (i != j && lacks > 0 && b->least[i * b->clocks + j] <= -b->least[j * b->clocks + i]) {
                    b->offset[i] += lacks / 2;
                    b->offset[j] -= lacks / 2;
                }
            }
    for (int clock = b->clocks - 1; clock >= 0; clock--)
        b->offset[clock] -= b->offset[0];
}

/* Return half of the width of the bounds of two clocks, in ns; 0 if they have no common collective. */
static double half_width(const struct bounds *b, int i, int j)
{
    double width = -b->least[j * b->clocks + i] - b->least[i * b->clocks + j];
    return i == j || width >= FAR ? 0 : width / 2;
}

/* Return the error of the clocks beside the one with which all others can be compared best, in seconds. Of two ranks that wait for
 * the same late rank the bounds are as wide as their wait, and say nothing of the late one. */
static double error_of(const struct bounds *b)
{
    double least = INFINITY;
    for (int i = 0; i < b->clocks; i++) {
        double most = 0;
        for (int j = 0; j < b->clocks; j++)
            most = fmax(most, half_width(b, i, j));
        least = fmin(least, most);
    }
    return 1e-9 * least;
}

/* --- shifting --------------------------------------------------------------------------------------------------- */

static void shift(struct trace_wait *wait, int64_t by)
{
    wait->start += by;
    wait->entered += by;
    wait->end += by;
}

static void shift_ranks(struct trace_job *job, const int64_t *offsets)
{
    for (int r = 0; r < job->count; r++) {
        struct trace_lane *lane = &job->lanes[r];
        for (int i = 0; i < lane->phase_count; i++) {
            lane->phases[i].start -= offsets[r];
            lane->phases[i].end -= offsets[r];
        }
        for (int i = 0; i < lane->wait_count; i++)
            shift(&lane->waits[i], -offsets[r]);
    }
}

/* Give the kernels of each collective one end. What is left after the offsets is the clocks' drift. */
static void join_ends(struct trace_job *job)
{
    double *values = memory_new((size_t)job->count, sizeof *values);
    for (int n = 0; n < job->collective_count; n++) {
        const struct trace_collective *m = &job->collectives[n];
        if (!ends_together(m))
            continue;
        int64_t first = m->member[0].wait->end;
        for (int i = 0; i < m->members; i++)
            values[i] = (double)(m->member[i].wait->end - first);
        int64_t common = first + (int64_t)stats_quantile(values, m->members, 0.5);
        for (int i = 0; i < m->members; i++)
            shift(m->member[i].wait, common - m->member[i].wait->end);
    }
    free(values);
}

struct trace_clocks trace_clocks_settle(struct trace_job *job)
{
    struct trace_clocks clocks = { 0 };
    size_t ranks = (size_t)job->count;
    struct bounds b = { .clock_of = memory_new(ranks, sizeof *b.clock_of),
                        .least = memory_new(ranks * ranks, sizeof *b.least),
                        .offset = memory_new(ranks, sizeof *b.offset) };
    for (int n = 0; n < job->collective_count; n++)
        clocks.are_kernels |= ends_together(&job->collectives[n]);
    number_clocks(job, &b, !clocks.are_kernels);
    find_bounds(job, &b);
    if (!allows_one_clock(&b)) {
        number_clocks(job, &b, false);
        find_bounds(job, &b);
    }
    clocks.are_one = b.clocks == 1;
    if (b.clocks > 1) {
        agree_on_ends(job, &b, clocks.are_kernels);
        close_bounds(&b);
        if (!clocks.are_kernels) {
            move_inside(&b);
            clocks.error = error_of(&b);
        }
    }
    clocks.offsets = memory_new(ranks, sizeof *clocks.offsets);
    for (int r = 0; r < job->count; r++) {
        double offset = b.offset[b.clock_of[r]];
        clocks.offsets[r] = (int64_t)offset;
        clocks.largest_offset = fmax(clocks.largest_offset, 1e-9 * fabs(offset));
    }
    shift_ranks(job, clocks.offsets);
    if (clocks.are_kernels)
        join_ends(job);
    free(b.clock_of);
    free(b.least);
    free(b.offset);
    return clocks;
}
