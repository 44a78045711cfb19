#include "spans_steps.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

/* Per step of rank 0: a hash of its kinds of spans and their order, and if it has a collective. */
struct pattern {
    uint64_t *hash;       /* (steps) */
    bool *has_collective; /* (steps) */
};

static struct pattern pattern_of(const struct spans_lanes *b)
{
    size_t steps = (size_t)(b->last_step - b->first_step) + 1;
    struct pattern p = { .hash = memory_new(steps, sizeof *p.hash),
                         .has_collective = memory_new(steps, sizeof *p.has_collective) };
    const struct spans_lane *lane = &b->lanes[0];
    for (int i = 0; i < lane->count; i++) {
        const struct span *span = &lane->rows[i].span;
        int step = span->step - b->first_step;
        if (step < 0 || (size_t)step >= steps)
            continue;
        p.hash[step] = hash_add(p.hash[step] ? p.hash[step] : HASH_BEGIN, span->kind);
        p.has_collective[step] |= !span_is_phase(span);
    }
    return p;
}

/* Return the length of the shortest cycle that repeats at least twice from step `from` to the end; 1 if none. */
static int cycle_of(const struct pattern *p, int from, int steps)
{
    for (int every = 1; every <= (steps - from) / 2; every++) {
        int step = from + every;
        while (step < steps && p->hash[step] == p->hash[step - every])
            step++;
        if (step == steps)
            return every;
    }
    return 1;
}

/* Return the first measured step by the column `measured`. Warm-up must come first and be the same on all ranks. */
static int first_measured(const struct spans_lanes *b)
{
    int steps = b->last_step - b->first_step + 1, first = steps;
    const struct spans_row **row_of = memory_new((size_t)steps, sizeof *row_of);
    for (int rank = 0; rank < b->ranks; rank++)
        for (int i = 0; i < b->lanes[rank].count; i++) {
            const struct spans_row *row = &b->lanes[rank].rows[i];
            int step = row->span.step - b->first_step;
            if (!span_is_phase(&row->span))
                continue;
            if (row_of[step] && row_of[step]->is_measured != row->is_measured)
                spans_file_refuse(b->file, row->line,
                                  "measured is %d here and %d in line %d, both of step %d; a step is "
                                  "measured as a whole",
                                  row->is_measured, row_of[step]->is_measured, row_of[step]->line, row->span.step);
            row_of[step] = row_of[step] ? row_of[step] : row;
            first = row->is_measured && step < first ? step : first;
        }
    for (int step = first; step < steps; step++)
        if (!row_of[step]->is_measured)
            spans_file_refuse(b->file, row_of[step]->line,
                              "step %d is not measured, but step %d before it is; warm-up comes first",
                              row_of[step]->span.step, row_of[first]->span.step);
    free(row_of);
    return first;
}

void spans_steps_settle(const struct spans_lanes *b, const struct spans_wishes *wishes, bool has_measured,
                        struct spans_block *made)
{
    int steps = b->last_step - b->first_step + 1, skip = wishes->skip_first_steps;
    bool by_column = skip < 0 && has_measured;
    if (skip < 0)
        skip = has_measured ? first_measured(b) : steps >= 4 ? 2 : 0;
    if (skip >= steps && by_column)
        spans_file_refuse(b->file, b->lanes[0].rows[0].line,
                          "round %d of case %s has %d steps, but measured is 1 in none; write 1 in those that count, "
                          "or give --skip-first-steps 0, which ignores the column",
                          b->round, b->name, steps);
    if (skip >= steps)
        spans_file_refuse(b->file, b->lanes[0].rows[0].line,
                          "round %d of case %s has %d steps, none of which is measured; skip "
                          "fewer --skip-first-steps",
                          b->round, b->name, steps);
    struct pattern p = pattern_of(b);
    int every = cycle_of(&p, skip, steps), shift = 0;
    while (shift < every && !p.has_collective[skip + shift + every - 1])
        shift++;
    shift = shift == every ? 0 : shift;
    made->every = every;
    made->timeline.first_step = b->first_step + skip + shift;
    int measured = steps - skip - shift;
    made->timeline.steps = every > 1 ? measured / every * every : measured;
    free(p.hash);
    free(p.has_collective);
}
