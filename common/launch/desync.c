/* Find the first calls of ranks that do not fit together. */
#include "launch/desync_private.h"

#include "base/memory.h"

#include <stdlib.h>

bool desync_is_alike(const struct collective_call *a, const struct collective_call *b)
{
    return a->kind == b->kind && (a->bytes == b->bytes || a->kind == SEND_RECEIVE) && a->bucket == b->bucket &&
           a->step == b->step;
}

/* --- one rank's calls ----------------------------------------------------------------------------------------------- */

static bool is_of_group(const struct collective_call *a, const struct collective_call *b)
{
    return a->opened >= 0 && collective_call_is_of_group(a, b);
}

/* Return the rank's call with the number of this one; NULL if it has made none, or it is too long ago. */
static const struct collective_call *call_at(const struct rank_record *r, const struct collective_call *like)
{
    for (int i = r->calls - 1; i >= 0; i--)
        if (is_of_group(&r->call[i], like) && r->call[i].sequence <= like->sequence)
            return r->call[i].sequence == like->sequence ? &r->call[i] : NULL;
    return NULL;
}

/* True if the rank has made the call of this number, or perhaps so long ago that it is not recorded any more. */
static bool has_reached(const struct rank_record *r, const struct collective_call *call)
{
    for (int i = r->calls - 1; i >= 0; i--)
        if (is_of_group(&r->call[i], call))
            return r->call[i].sequence >= call->sequence;
    return r->calls >= FLIGHT_RECORDER_CALLS - 1;
}

/* True if the rank makes a call like this one in the same group, but later. */
static bool calls_later(const struct rank_record *r, const struct collective_call *like)
{
    for (int i = r->calls - 1; i >= 0 && !(is_of_group(&r->call[i], like) && r->call[i].sequence <= like->sequence);
         i--)
        if (is_of_group(&r->call[i], like) && desync_is_alike(&r->call[i], like))
            return true;
    return false;
}

/* Return the index of the n-th call that the rank made in this group and step; -1 if it made fewer, or if the begin of the step is not
 * recorded any more. */
static int nth_of_step(const struct rank_record *r, const struct collective_call *group, int step, int n)
{
    bool knows_begin = false;
    for (int i = 0; i < r->calls; i++) {
        const struct collective_call *call = &r->call[i];
        if (!is_of_group(call, group))
            continue;
        knows_begin |= call->sequence == 0 || call->step != step;
        if (call->step == step && n-- == 0)
            return knows_begin ? i : -1;
    }
    return -1;
}

/* Return the rank's call at the place of this call, one step earlier; NULL if unknown. */
static const struct collective_call *call_before(const struct rank_record *r, const struct collective_call *call)
{
    int n = 0;
    while (nth_of_step(r, call, call->step, n) >= 0 &&
           r->call[nth_of_step(r, call, call->step, n)].sequence < call->sequence)
        n++;
    const int here = nth_of_step(r, call, call->step, n);
    const int before = here >= 0 && call->step > 0 ? nth_of_step(r, call, call->step - 1, n) : -1;
    return before >= 0 ? &r->call[before] : NULL;
}

static bool has_changed(const struct collective_call *before, const struct collective_call *call)
{
    return before && (before->kind != call->kind || before->bytes != call->bytes || before->bucket != call->bucket);
}

/* --- parties ------------------------------------------------------------------------------------------------------- */

static void join(struct party *party, const struct rank_record *r, const struct collective_call *call)
{
    if (party->ranks == 0) {
        party->call = *call;
        party->first = r;
    }
    party->rank[party->ranks++] = r->rank;
}

static void exchange(struct desync *d)
{
    const struct party usual = d->usual;
    d->usual = d->odd;
    d->odd = usual;
}

static void join_all_that_wait(struct party *party, const struct rank_record *record, int count,
                               const struct collective_call *call)
{
    party->ranks = 0;
    for (int i = 0; i < count; i++)
        if (record[i].is_inside && is_of_group(&record[i].inside, call) && record[i].inside.sequence == call->sequence)
            join(party, &record[i], &record[i].inside);
}

/* --- calls of one number that differ --------------------------------------------------------------------------------- */

/* Return the call of the next member that made one of this number. */
static const struct collective_call *call_of_next(const struct rank_record *record, int count, int from,
                                                  const struct collective_call *call)
{
    for (int i = 1; i < count; i++) {
        const struct rank_record *other = &record[(from + i) % count];
        const struct collective_call *same = collective_call_has(call, other->rank) ? call_at(other, call) : NULL;
        if (same)
            return same;
    }
    return NULL;
}

/* Return a rank's first call that differs from that of another rank; NULL if there is none. */
static const struct collective_call *find_different(const struct rank_record *record, int count)
{
    for (int rank = 0; rank < count; rank++)
        for (int i = 0; i < record[rank].calls; i++) {
            const struct collective_call *call = &record[rank].call[i], *next = call_of_next(record, count, rank, call);
            if (next && !desync_is_alike(call, next))
                return call;
        }
    return NULL;
}

/* Divide the ranks that made a call of this number into the largest party and the next one. */
static void divide(struct desync *d, const struct rank_record *record, int count, const struct collective_call *number)
{
    struct party *party = memory_new(1, sizeof *party);
    for (int i = 0; i < count; i++) {
        const struct collective_call *call = call_at(&record[i], number);
        bool is_counted = !call;
        for (int k = 0; k < i && !is_counted; k++) {
            const struct collective_call *earlier = call_at(&record[k], number);
            is_counted = earlier && desync_is_alike(call, earlier);
        }
        party->ranks = 0;
        for (int k = i; k < count && !is_counted; k++) {
            const struct collective_call *other = call_at(&record[k], number);
            if (other && desync_is_alike(call, other))
                join(party, &record[k], other);
        }
        if (party->ranks > d->usual.ranks) {
            d->odd = d->usual;
            d->usual = *party;
        } else if (party->ranks > d->odd.ranks) {
            d->odd = *party;
        }
    }
    free(party);
}

/* Blame, of two parties of equal size, the one that called something else at this place of the step before. */
static void break_tie(struct desync *d)
{
    d->is_tie = d->usual.ranks == d->odd.ranks;
    if (!d->is_tie)
        return;
    const struct collective_call *usual = call_before(d->usual.first, &d->usual.call),
                                 *odd = call_before(d->odd.first, &d->odd.call);
    if (!usual || !odd || has_changed(usual, &d->usual.call) == has_changed(odd, &d->odd.call))
        return;
    if (has_changed(usual, &d->usual.call))
        exchange(d);
    d->is_tie = false;
}

/* Blame the party that is ahead by its numbers of steps and buckets, however many ranks it has. */
static void blame_the_one_ahead(struct desync *d)
{
    const struct collective_call *a = &d->usual.call, *b = &d->odd.call;
    const bool is_ahead = a->step != b->step ? a->step > b->step : a->bucket > b->bucket;
    if (is_ahead)
        exchange(d);
    d->is_tie = false;
}

/* True if the odd rank has called something in the step of the usual call. */
static bool has_begun_step(const struct desync *d)
{
    return nth_of_step(d->odd.first, &d->usual.call, d->usual.call.step, 0) >= 0;
}

static enum desync_kind kind_of(struct desync *d)
{
    if (d->usual.call.step < 0 && d->odd.call.step >= 0)
        exchange(d);
    const struct collective_call *usual = &d->usual.call, *odd = &d->odd.call;
    if (odd->step < 0 && usual->step >= 0) {
        d->is_tie = false;
        return has_begun_step(d) ? LEFT_OUT : ENDED_EARLY;
    }
    const bool is_numbered = usual->bucket > 0 && odd->bucket > 0;
    if (odd->step != usual->step || (is_numbered && odd->bucket != usual->bucket)) {
        blame_the_one_ahead(d);
        return calls_later(d->odd.first, usual) ? OTHER_ORDER : LEFT_OUT;
    }
    if (!is_numbered && calls_later(d->odd.first, usual))
        return OTHER_ORDER;
    if (!is_numbered && calls_later(d->usual.first, odd))
        return LEFT_OUT;
    return odd->kind == usual->kind ? OTHER_SIZE : OTHER_CALL;
}

static bool all_have_reached(const struct rank_record *record, int count, const struct collective_call *call)
{
    for (int i = 0; i < count; i++)
        if (collective_call_has(call, record[i].rank) && !has_reached(&record[i], call))
            return false;
    return true;
}

/* True if a rank will make no further call: it has ended, or is in the call where ranks differ, or in one that another rank has not
 * made. */
static bool is_at_rest(const struct rank_record *record, int count, const struct rank_record *r,
                       const struct collective_call *different)
{
    const bool is_in_different = is_of_group(&r->inside, different) && r->inside.sequence == different->sequence;
    return r->has_finished || r->is_gone ||
           (r->is_inside && (is_in_different || !all_have_reached(record, count, &r->inside)));
}

static bool find_mismatch(const struct rank_record *record, int count, struct desync *d)
{
    const struct collective_call *number = find_different(record, count);
    if (!number)
        return false;
    divide(d, record, count, number);
    break_tie(d);
    d->kind = kind_of(d);
    const struct collective_call *before = call_before(d->odd.first, &d->odd.call);
    d->has_changed = has_changed(before, &d->odd.call);
    if (d->has_changed)
        d->before = *before;
    d->is_settled = true;
    for (int i = 0; i < count; i++)
        if (collective_call_has(number, record[i].rank))
            d->is_settled &= is_at_rest(record, count, &record[i], number);
    return true;
}

/* --- calls that a rank will never make ------------------------------------------------------------------------------ */

/* True if every rank leaves the call only after all have made it. */
static bool waits_for_all(const struct collective_call *call)
{
    return call->kind != BROADCAST && call->kind != SEND_RECEIVE;
}

static bool waits(const struct rank_record *r)
{
    return r->is_inside && waits_for_all(&r->inside);
}

static bool is_missed(const struct rank_record *r, const struct collective_call *call)
{
    return collective_call_has(call, r->rank) && !has_reached(r, call);
}

static bool find_ended(const struct rank_record *record, int count, struct desync *d)
{
    const struct collective_call *call = NULL;
    for (int i = 0; i < count && !call; i++)
        for (int k = 0; k < count && waits(&record[i]) && !call; k++)
            if (record[k].has_finished && is_missed(&record[k], &record[i].inside))
                call = &record[i].inside;
    if (!call)
        return false;
    join_all_that_wait(&d->usual, record, count, call);
    for (int i = 0; i < count; i++)
        if (record[i].has_finished && is_missed(&record[i], call))
            join(&d->odd, &record[i], call);
    d->kind = has_begun_step(d) ? LEFT_OUT : ENDED_EARLY;
    d->is_settled = d->has_ended = true;
    return true;
}

/* Return a rank that this one waits for and that waits itself; NULL if there is none. */
static const struct rank_record *waits_for(const struct rank_record *record, int count, const struct rank_record *r)
{
    for (int i = 0; i < count && waits(r); i++)
        if (waits(&record[i]) && is_missed(&record[i], &r->inside))
            return &record[i];
    return NULL;
}

/* True if the rank used to call the group of `first` before that of `second`, one step earlier. */
static bool called_first(const struct rank_record *r, const struct collective_call *first,
                         const struct collective_call *second)
{
    const int a = nth_of_step(r, first, first->step - 1, 0), b = nth_of_step(r, second, second->step - 1, 0);
    return a >= 0 && b >= 0 && a < b;
}

static bool find_crossed(const struct rank_record *record, int count, struct desync *d)
{
    const struct rank_record *one = NULL, *other = NULL;
    for (int i = 0; i < count && !one; i++) {
        other = waits_for(record, count, &record[i]);
        const struct rank_record *at = other;
        for (int hops = 0; at && at != &record[i] && hops < count; hops++)
            at = waits_for(record, count, at);
        one = at == &record[i] ? at : NULL;
    }
    if (!one)
        return false;
    join_all_that_wait(&d->usual, record, count, &one->inside);
    join_all_that_wait(&d->odd, record, count, &other->inside);
    const bool has_usual_changed = called_first(d->usual.first, &d->odd.call, &d->usual.call),
               has_odd_changed = called_first(d->odd.first, &d->usual.call, &d->odd.call);
    const bool are_equal = d->usual.ranks == d->odd.ranks;
    d->is_tie = are_equal && has_usual_changed == has_odd_changed;
    d->has_changed = has_odd_changed;
    if (are_equal ? has_usual_changed && !has_odd_changed : d->usual.ranks < d->odd.ranks) {
        exchange(d);
        d->has_changed = has_usual_changed;
    }
    d->kind = CROSSED;
    d->is_settled = true;
    return true;
}

bool desync_find(const struct rank_record *record, int count, struct desync *d)
{
    *d = (struct desync){ 0 };
    return find_mismatch(record, count, d) || find_ended(record, count, d) || find_crossed(record, count, d);
}
