/* Checks the rows of one round across ranks, and builds the round's timeline. */
#include "analysis/matched_collectives.h"
#include "base/die.h"
#include "base/memory.h"
#include "spans_parts.h"
#include "spans_steps.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double ROUNDED = 1.5e-9; /* seconds: rounding error of stamps with six decimals of a millisecond */

static const char *word(const struct spans_row *row)
{
    return span_names[row->span.kind];
}

/* --- one rank --------------------------------------------------------------------------------------------------- */

static void check_steps(const struct spans_lanes *b, const struct spans_row *before, const struct spans_row *row)
{
    if (row->span.step < before->span.step)
        spans_file_refuse(b->file, row->line,
                          "rank %d: a phase of step %d begins after one of step %d (line %d); steps go "
                          "up with time",
                          row->rank, row->span.step, before->span.step, before->line);
    if (row->span.step > before->span.step + 1)
        spans_file_refuse(b->file, row->line, "rank %d: step %d follows step %d (line %d); write every step", row->rank,
                          row->span.step, before->span.step, before->line);
}

/* End each phase where the next one begins. Return the last phase. */
static struct spans_row *join_phases(const struct spans_lanes *b, struct spans_lane *lane)
{
    struct spans_row *open = NULL;
    for (int i = 0; i < lane->count; i++) {
        struct spans_row *row = &lane->rows[i];
        if (!span_is_phase(&row->span))
            continue;
        if (open && row->span.start < open->span.end - ROUNDED)
            spans_file_refuse(b->file, row->line,
                              "rank %d: %s begins at %.6f ms, before %s (line %d) ends at %.6f; a "
                              "phase lasts until the next one begins",
                              row->rank, word(row), 1e3 * row->span.start, word(open), open->line,
                              1e3 * open->span.end);
        if (open) {
            check_steps(b, open, row);
            open->span.end = row->span.start;
        }
        open = row;
    }
    if (!open)
        spans_file_refuse(b->file, lane->rows[0].line,
                          "rank %d has no phase in round %d of case %s; write its phases too", lane->rank, b->round,
                          b->name);
    return open;
}

/* Order by begin, then by end: sums that were over when a rank asked for them come before the one that it waits for. */
static int compare_entries(const void *a, const void *b)
{
    const struct spans_row *x = *(struct spans_row *const *)a, *y = *(struct spans_row *const *)b;
    if (x->span.entered < y->span.entered || x->span.entered > y->span.entered)
        return x->span.entered < y->span.entered ? -1 : 1;
    if (x->span.end < y->span.end || x->span.end > y->span.end)
        return x->span.end < y->span.end ? -1 : 1;
    return x->line - y->line;
}

/* Refuse overlapping waits: a rank waits for one collective at a time. */
static void check_waits(const struct spans_lanes *b, const struct spans_lane *lane)
{
    struct spans_row **order = memory_new((size_t)lane->matched + 1, sizeof *order);
    for (int i = 0; i < lane->matched; i++)
        order[i] = lane->collective[i];
    qsort(order, (size_t)lane->matched, sizeof *order, compare_entries);
    for (int i = 1; i < lane->matched; i++)
        if (order[i]->span.entered < order[i - 1]->span.end - ROUNDED)
            spans_file_refuse(b->file, order[i]->line,
                              "rank %d begins to wait for %s at %.6f ms, while it still waits for %s (line "
                              "%d) until %.6f; entered_ms is when the rank itself began to wait",
                              lane->rank, word(order[i]), 1e3 * order[i]->span.entered, word(order[i - 1]),
                              order[i - 1]->line, 1e3 * order[i - 1]->span.end);
    free(order);
}

/* Return the phase in which the rank begins to wait for a collective. */
static const struct spans_row *phase_at(const struct spans_lanes *b, const struct spans_lane *lane,
                                        const struct spans_row *collective)
{
    int at = (int)(collective - lane->rows), around = at;
    while (around >= 0 && !span_is_phase(&lane->rows[around].span))
        around--;
    for (int i = at; i < lane->count && lane->rows[i].span.start <= collective->span.entered; i++)
        around = span_is_phase(&lane->rows[i].span) ? i : around;
    if (around < 0)
        spans_file_refuse(b->file, collective->line,
                          "rank %d waits for %s from %.6f ms on, before its first phase begins; write "
                          "the phase that it lies in",
                          lane->rank, word(collective), 1e3 * collective->span.entered);
    return &lane->rows[around];
}

/* Refuse a wait that exceeds its phase. The last phase is extended if necessary. */
static void place_collectives(const struct spans_lanes *b, struct spans_lane *lane, struct spans_row *last)
{
    for (int n = 0; n < lane->matched; n++) {
        struct spans_row *row = lane->collective[n];
        if (row->span.entered >= last->span.start && row->span.end > last->span.end)
            last->span.end = row->span.end;
        const struct spans_row *around = phase_at(b, lane, row);
        if (row->span.end > around->span.end + ROUNDED)
            spans_file_refuse(b->file, row->line,
                              "rank %d waits for %s until %.6f ms, but its %s (line %d) is over at %.6f; "
                              "a wait lies in one phase",
                              lane->rank, word(row), 1e3 * row->span.end, word(around), around->line,
                              1e3 * around->span.end);
        row->span.end = fmin(row->span.end, around->span.end);
    }
}

/* Number the collectives that the file does not number: per group, from 0. */
static void number_collectives(struct spans_lane *lane)
{
    int groups = 1;
    for (int n = 0; n < lane->matched; n++)
        groups = lane->collective[n]->span.group >= groups ? lane->collective[n]->span.group + 1 : groups;
    int *next = memory_new((size_t)groups, sizeof *next);
    for (int n = 0; n < lane->matched; n++) {
        struct span *span = &lane->collective[n]->span;
        int number = next[span->group]++;
        span->sequence = span->sequence < 0 ? number : span->sequence;
    }
    free(next);
}

static void prepare_lane(const struct spans_lanes *b, struct spans_lane *lane)
{
    struct spans_row *last = join_phases(b, lane);
    lane->collective = memory_new((size_t)lane->count, sizeof *lane->collective);
    for (int i = 0; i < lane->count; i++)
        if (!span_is_phase(&lane->rows[i].span))
            lane->collective[lane->matched++] = &lane->rows[i];
    number_collectives(lane);
    place_collectives(b, lane, last);
    check_waits(b, lane);
}

/* --- all ranks ------------------------------------------------------------------------------------ */

static void cut_lanes(struct spans_lanes *b, struct spans_row *rows, int count)
{
    for (int i = 0; i < count; i++) {
        struct spans_lane *lane = &b->lanes[rows[i].rank];
        lane->rows = lane->count ? lane->rows : &rows[i];
        lane->count++;
    }
    for (int rank = 0; rank < b->ranks; rank++) {
        b->lanes[rank].rank = rank;
        if (b->lanes[rank].count == 0)
            spans_file_refuse(
                b->file, rows[0].line,
                "round %d of case %s has no row of rank %d, but its ranks go up to %d; write all ranks, from 0",
                b->round, b->name, rank, b->ranks - 1);
    }
}

static int step_of(const struct spans_lane *lane, bool is_last)
{
    int step = -1;
    for (int i = 0; i < lane->count; i++)
        if (span_is_phase(&lane->rows[i].span) && (step < 0 || is_last))
            step = lane->rows[i].span.step;
    return step;
}

static void check_spans_of_steps(struct spans_lanes *b)
{
    b->first_step = step_of(&b->lanes[0], false);
    b->last_step = step_of(&b->lanes[0], true);
    for (int rank = 1; rank < b->ranks; rank++) {
        const struct spans_lane *lane = &b->lanes[rank];
        int first = step_of(lane, false), last = step_of(lane, true);
        if (first != b->first_step || last != b->last_step)
            spans_file_refuse(b->file, lane->rows[0].line,
                              "rank %d has phases of steps %d to %d, rank 0 of %d to %d (round %d "
                              "of case %s); write the same steps of all ranks",
                              rank, first, last, b->first_step, b->last_step, b->round, b->name);
    }
}

/* Lay out the spans of all ranks, (ranks, most). */
static const struct span *lay_out(const struct spans_lanes *b, int most)
{
    struct span *spans = memory_new((size_t)b->ranks * (size_t)most, sizeof *spans);
    for (int rank = 0; rank < b->ranks; rank++)
        for (int i = 0; i < most; i++)
            spans[rank * most + i] =
                i < b->lanes[rank].count ? b->lanes[rank].rows[i].span : (struct span){ .step = -1 };
    return spans;
}

/* Return the row that lay_out() copied. */
static const struct spans_row *row_of(const struct spans_lanes *b, const struct timeline *t, const struct span *span)
{
    ptrdiff_t at = span - t->spans;
    return &b->lanes[at / t->count].rows[at % t->count];
}

_Noreturn static void refuse_mismatch(const struct spans_lanes *b, const struct timeline *t, const struct mismatch *m)
{
    const struct span *theirs = m->call[0], *mine = m->call[1];
    char group[32] = "";
    if (m->group > 0)
        snprintf(group, sizeof group, " in group %d", m->group);
    if (!mine || !theirs) {
        const struct spans_row *row = row_of(b, t, mine ? mine : theirs);
        spans_file_refuse(b->file, row->line,
                          "rank %d makes this %s, its collective number %d%s of round %d, but rank %d makes none; all "
                          "ranks%s must make the same ones",
                          row->rank, word(row), row->span.sequence, group, b->round, m->rank[mine ? 0 : 1], group);
    }
    spans_file_refuse(b->file, row_of(b, t, mine)->line,
                      "rank %d makes %s %d%s of step %d with %zu bytes, where rank %d (line %d) makes %s %d of step %d "
                      "with %zu; all ranks%s must make the same ones",
                      m->rank[1], span_names[mine->kind], mine->sequence, group, mine->step, mine->bytes, m->rank[0],
                      row_of(b, t, theirs)->line, span_names[theirs->kind], theirs->sequence, theirs->step,
                      theirs->bytes, group);
}

enum { WARNINGS_MOST = 3 };

/* Warn of ranks that left a collective before the last rank arrived. Their clocks differ, or the calls do not belong together.
 * timeline_split() counts them as failed checks. */
static int warn_early(const struct spans_lanes *b, const struct timeline *t, const struct matched *c, int early)
{
    for (int member = 0; member < c->members && !span_has_peers(c->at[0]); member++) {
        const struct spans_row *row = row_of(b, t, c->at[member]), *last = row_of(b, t, c->at[c->cause]);
        if (!(row->span.end < last->span.start - t->clock_error) || early++ >= WARNINGS_MOST)
            continue;
        if (row->line == 0)
            warn("%s: rank %d leaves %s %d of step %d %.3f ms before rank %d arrives: the clocks differ, or these "
                 "calls do "
                 "not belong together; --clock-error-ms allows clocks to differ",
                 b->file->path, row->rank, word(row), row->span.sequence, row->span.step,
                 1e3 * (last->span.start - row->span.end), last->rank);
        else
            warn("%s:%d: rank %d leaves %s %d of step %d at %.6f ms, before rank %d (line %d) arrives at %.6f: the "
                 "clocks differ, or these calls do not belong together; --clock-error-ms allows clocks to differ",
                 b->file->path, row->line, row->rank, word(row), row->span.sequence, row->span.step,
                 1e3 * row->span.end, last->rank, last->line, 1e3 * last->span.start);
    }
    return early;
}

static void warn_of_early_ranks(const struct spans_lanes *b, const struct timeline *t,
                                const struct matched_collectives *matched)
{
    int early = 0;
    for (int n = 0; n < matched->count; n++)
        early = warn_early(b, t, &matched->at[n], early);
    if (early > WARNINGS_MOST)
        warn("%s: … and %d more of round %d of case %s", b->file->path, early - WARNINGS_MOST, b->round, b->name);
}

/* --- together --------------------------------------------------------------------------------------------------- */

struct spans_block spans_block_of(const struct spans_file *file, const struct spans_case *of, struct spans_row *rows,
                                  int count, const struct spans_wishes *wishes, bool has_measured)
{
    struct spans_lanes b = { .file = file, .name = of->name, .ranks = of->ranks, .round = rows[0].span.round };
    b.lanes = memory_new((size_t)b.ranks, sizeof *b.lanes);
    cut_lanes(&b, rows, count);
    int most = 0;
    for (int rank = 0; rank < b.ranks; rank++) {
        prepare_lane(&b, &b.lanes[rank]);
        most = b.lanes[rank].count > most ? b.lanes[rank].count : most;
    }
    if ((double)most * b.ranks > INT_MAX / 4)
        spans_file_refuse(file, rows[0].line, "%d ranks with up to %d rows each are too many; write fewer steps",
                          b.ranks, most);
    check_spans_of_steps(&b);
    struct spans_block made = { .round = b.round,
                                .timeline = { .ranks = b.ranks,
                                              .count = most,
                                              .spans = lay_out(&b, most),
                                              .clock_error = wishes->clock_error,
                                              .hides_arrivals = wishes->hides_arrivals,
                                              .hides_peers = !wishes->shows_peers } };
    struct matched_collectives matched = matched_collectives_find(&made.timeline);
    if (!matched.are_alike)
        refuse_mismatch(&b, &made.timeline, &matched.mismatch);
    spans_steps_settle(&b, wishes, has_measured, &made);
    warn_of_early_ranks(&b, &made.timeline, &matched);
    matched_collectives_close(&matched);
    for (int rank = 0; rank < b.ranks; rank++)
        free(b.lanes[rank].collective);
    free(b.lanes);
    return made;
}
