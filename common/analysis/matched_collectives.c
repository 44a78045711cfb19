#include "analysis/matched_collectives.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* --- matching --------------------------------------------------------------------------------------------------- */

/* A group while its calls are matched. */
struct group_calls {
    int members, calls;    /* calls: the most of any member */
    int joined;            /* members so far */
    int mine;              /* calls of the current rank so far */
    int *rank;             /* (members) */
    struct matched *first; /* (calls) */
};

static const struct span *span_at(const struct timeline *t, int rank, int i)
{
    return &t->spans[(size_t)rank * (size_t)t->count + (size_t)i];
}

static struct group_calls *open_groups(const struct timeline *t, int *count)
{
    *count = 1;
    for (int rank = 0; rank < t->ranks; rank++)
        for (int i = 0; i < t->count; i++)
            if (span_at(t, rank, i)->group >= *count)
                *count = span_at(t, rank, i)->group + 1;
    return memory_new((size_t)*count, sizeof(struct group_calls));
}

static void begin_rank(const struct timeline *t, struct group_calls *groups, int rank)
{
    for (int i = 0; i < t->count; i++)
        groups[span_at(t, rank, i)->group].mine = 0;
}

static void count_calls(const struct timeline *t, struct group_calls *groups)
{
    for (int rank = 0; rank < t->ranks; rank++) {
        begin_rank(t, groups, rank);
        for (int i = 0; i < t->count; i++) {
            struct group_calls *group = &groups[span_at(t, rank, i)->group];
            if (span_is_phase(span_at(t, rank, i)))
                continue;
            group->members += group->mine++ == 0;
            group->calls = group->mine > group->calls ? group->mine : group->calls;
        }
    }
    groups[0].members = groups[0].calls > 0 ? t->ranks : 0;
}

static void lay_out(struct matched_collectives *m, struct group_calls *groups, int count)
{
    size_t ranks = 0, spans = 0;
    for (int g = 0; g < count; g++) {
        m->count += groups[g].calls;
        ranks += (size_t)groups[g].members;
        spans += (size_t)groups[g].members * (size_t)groups[g].calls;
    }
    m->at = memory_new((size_t)m->count, sizeof *m->at);
    m->ranks = memory_new(ranks, sizeof *m->ranks);
    m->spans = memory_new(spans, sizeof *m->spans);
    struct matched *at = m->at;
    int *rank = m->ranks;
    const struct span **span = m->spans;
    for (int g = 0; g < count; g++) {
        groups[g].first = at;
        groups[g].rank = rank;
        for (int n = 0; n < groups[g].calls; n++, span += groups[g].members)
            *at++ = (struct matched){ .members = groups[g].members, .rank = rank, .at = span };
        rank += groups[g].members;
    }
}

static void place_calls(struct matched_collectives *m, const struct timeline *t, struct group_calls *groups, int rank)
{
    begin_rank(t, groups, rank);
    if (groups[0].calls > 0)
        groups[0].rank[groups[0].joined++] = rank;
    for (int i = 0; i < t->count; i++) {
        const struct span *span = span_at(t, rank, i);
        struct group_calls *group = &groups[span->group];
        if (span_is_phase(span))
            continue;
        if (group->mine == 0 && span->group > 0)
            group->rank[group->joined++] = rank;
        struct matched_call call = { &group->first[group->mine++], group->joined - 1 };
        call.collective->at[call.member] = span;
        m->calls[span - t->spans] = call;
    }
}

/* --- agreement -------------------------------------------------------------------------------------------------- */

static int root_of(const struct matched *c, int member)
{
    return c->at[member]->from >= 0 ? c->at[member]->from : c->rank[member];
}

/* True if a member made the call that the first member made. */
static bool agrees(const struct timeline *t, const struct matched *c, int member)
{
    const struct span *x = c->at[0], *y = c->at[member];
    if (!x || !y)
        return x == y;
    return x->kind == y->kind && x->step == y->step && x->sequence == y->sequence &&
           (x->bytes == y->bytes || x->kind == SPAN_SEND_RECEIVE) &&
           (x->kind != SPAN_BROADCAST || t->hides_peers || root_of(c, 0) == root_of(c, member));
}

/* Compare all members' calls; false and the first mismatch if they differ. */
static bool compare_calls(const struct matched_collectives *m, const struct timeline *t, struct mismatch *mismatch)
{
    for (int n = 0; n < m->count; n++) {
        const struct matched *c = &m->at[n];
        for (int member = 1; member < c->members; member++) {
            if (agrees(t, c, member))
                continue;
            const struct span *call = c->at[0] ? c->at[0] : c->at[member];
            *mismatch = (struct mismatch){ call->group, { c->rank[0], c->rank[member] }, { c->at[0], c->at[member] } };
            return false;
        }
    }
    return true;
}

/* --- arrivals --------------------------------------------------------------------------------------------------- */

int matched_member(const struct matched *c, int rank)
{
    int low = 0, high = c->members;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (c->rank[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->members && c->rank[low] == rank ? low : -1;
}

static int last_member(const struct matched *c)
{
    int last = 0;
    for (int member = 1; member < c->members; member++)
        if (c->at[member]->start > c->at[last]->start)
            last = member;
    return last;
}

/* Return the part of a member's wait that would vanish if the last rank had come with the one before it, at `second`. A blocked member
 * has waited since then; of a started collective, what was hidden is no wait. */
static double vanishing(const struct matched *c, const struct span *at, double second)
{
    if (!at->progressed || !(at->entered > at->start))
        return c->latest - second;
    return fmax(0, fmin(at->end, c->latest) - fmax(at->entered, second));
}

/* Charge the waiting for `cause`. `shortest`: times below it cannot be measured. */
static void charge(struct matched *c, double shortest)
{
    double second = -INFINITY, all = 0, late = 0;
    int others = 0;
    for (int i = 0; i < c->members; i++) {
        double before = c->latest - c->at[i]->start;
        if (i == c->cause || before < 0)
            continue;
        second = fmax(second, c->at[i]->start);
        all += before < shortest ? 0 : before;
        others++;
    }
    bool is_broadcast = c->at[0]->kind == SPAN_BROADCAST;
    for (int i = 0; i < c->members; i++)
        late += i == c->cause || c->latest - c->at[i]->start < 0 ? 0 : vanishing(c, c->at[i], second);
    c->late = c->latest - second;
    c->caused = is_broadcast ? all : late;
    if (others > 0 && (is_broadcast ? all > 0 : !(c->late < shortest)))
        c->last = c->rank[c->cause];
}

static void find_last(const struct timeline *t, struct matched *c)
{
    c->cause = c->last = -1;
    c->latest = (double)NAN;
    if (!span_has_peers(c->at[0]))
        c->cause = last_member(c);
    else if (c->at[0]->kind == SPAN_BROADCAST && !t->hides_peers)
        c->cause = matched_member(c, root_of(c, 0));
    if (c->cause < 0)
        return;
    c->latest = c->at[c->cause]->start;
    if (!t->hides_arrivals)
        charge(c, fmax(MATCHED_TIE, t->clock_error));
}

double matched_caused_by_host(const struct timeline *t, const struct matched *c, const int *hosts, int *host)
{
    double second = -INFINITY, caused = 0;
    *host = -1;
    if (c->cause < 0 || t->hides_arrivals)
        return 0;
    const int last = hosts[c->rank[c->cause]];
    for (int i = 0; i < c->members; i++)
        second = hosts[c->rank[i]] == last ? second : fmax(second, c->at[i]->start);
    if (c->at[0]->kind == SPAN_BROADCAST) {
        *host = c->last < 0 ? -1 : last;
        return c->last < 0 ? 0 : c->caused;
    }
    if (isinf(second) || c->latest - second < fmax(MATCHED_TIE, t->clock_error))
        return 0;
    for (int i = 0; i < c->members; i++)
        caused += i == c->cause ? 0 : vanishing(c, c->at[i], fmax(second, c->at[i]->start));
    *host = last;
    return caused;
}

struct awaited matched_awaited(struct matched_call call)
{
    const struct matched *c = call.collective;
    const struct span *span = matched_span(call);
    if (!span_has_peers(span))
        return (struct awaited){ c->latest, c->last };
    struct awaited awaited = { span->start, c->rank[call.member] };
    const int peers[] = { matched_member(c, span->from), matched_member(c, span->to) };
    for (int i = 0; i < 2; i++)
        if (peers[i] >= 0 && (span->kind == SPAN_BROADCAST || c->at[peers[i]]->start > awaited.latest))
            awaited = (struct awaited){ c->at[peers[i]]->start, c->rank[peers[i]] };
    return awaited;
}

/* ---------------------------------------------------------------------------------------------------------------- */

struct matched_collectives matched_collectives_find(const struct timeline *t)
{
    struct matched_collectives m = { .calls = memory_new((size_t)t->count * (size_t)t->ranks, sizeof *m.calls) };
    int count;
    struct group_calls *groups = open_groups(t, &count);
    count_calls(t, groups);
    lay_out(&m, groups, count);
    for (int rank = 0; rank < t->ranks; rank++)
        place_calls(&m, t, groups, rank);
    free(groups);
    m.are_alike = compare_calls(&m, t, &m.mismatch);
    for (int n = 0; m.are_alike && n < m.count; n++)
        find_last(t, &m.at[n]);
    return m;
}

void matched_collectives_close(struct matched_collectives *matched)
{
    free(matched->at);
    free(matched->calls);
    free(matched->ranks);
    free(matched->spans);
    *matched = (struct matched_collectives){ 0 };
}

static int compare_entries(const void *a, const void *b)
{
    const struct span *x = matched_span(*(const struct matched_call *)a);
    const struct span *y = matched_span(*(const struct matched_call *)b);
    if (x->entered < y->entered || x->entered > y->entered)
        return x->entered < y->entered ? -1 : 1;
    return x < y ? -1 : 1; /* in order of recording */
}

int matched_calls_of(const struct matched_collectives *matched, const struct timeline *t, int rank,
                     struct matched_call *calls)
{
    int count = 0;
    for (int i = 0; i < t->count; i++) {
        struct matched_call call = matched->calls[(size_t)rank * (size_t)t->count + (size_t)i];
        if (call.collective)
            calls[count++] = call;
    }
    qsort(calls, (size_t)count, sizeof *calls, compare_entries);
    return count;
}

struct collective_traffic matched_traffic(const struct timeline *t, struct matched_call call)
{
    const struct span *span = matched_span(call);
    if (t->hides_peers && span_has_peers(span))
        return (struct collective_traffic){ (double)NAN, (double)NAN };
    return collective_traffic((enum span_kind)span->kind, call.collective->members, span->bytes, span->to, span->from);
}

struct parts parts_of(const struct timeline *t, struct matched_call call)
{
    const struct span *span = matched_span(call);
    double s = span->start, e = span->entered, l = span->end, latest = matched_awaited(call).latest;
    bool was_started = s < e, hides_peers = t->hides_peers && span_has_peers(span);
    struct parts parts = {
        .wait = fmax(0, fmin(l, latest) - e),
        .transfer = fmax(0, l - fmax(e, latest)),
        .hidden = e - s,
        .exposed = l - e,
        .is_known =
            !t->hides_arrivals && !hides_peers && !(was_started && e < latest - t->clock_error && !span->progressed),
    };
    if (parts.wait < t->clock_error) {
        parts.wait = 0;
        parts.transfer = parts.exposed;
    }
    return parts;
}
