/* Find ranks' calls that differ in a flight recorder. */
#include "launch/desync.h"
#include "launch/flight_recorder_private.h"

#include "base/hot.h"
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Add the call that a rank waits in to the calls that it has made. */
static void add_inside(struct rank_record *r)
{
    for (int i = 0; i < r->calls; i++)
        if (collective_call_is_of_group(&r->call[i], &r->inside) && r->call[i].sequence == r->inside.sequence)
            return;
    if (r->calls < FLIGHT_RECORDER_CALLS)
        r->call[r->calls++] = r->inside;
}

/* Read a rank's current call before its last calls. The other order could miss a call that the rank makes in between. */
static struct rank_record *read_ranks(const struct flight_recorder *recorder, int *count)
{
    const int ranks = flight_recorder_ranks(recorder);
    struct rank_record *record = memory_new((size_t)ranks + 1, sizeof *record);
    *count = 0;
    for (int rank = 0; rank < ranks; rank++) {
        if (!flight_recorder_process(recorder, rank))
            continue; /* on another host */
        struct rank_record *r = &record[(*count)++];
        *r = (struct rank_record){ .rank = rank,
                                   .is_gone = flight_recorder_is_gone(recorder, rank),
                                   .has_finished = flight_recorder_has_finished(recorder, rank),
                                   .is_inside = flight_recorder_is_inside(recorder, rank),
                                   .inside = flight_recorder_call(recorder, rank) };
        r->calls = flight_recorder_history(recorder, rank, r->call);
        if (r->is_inside)
            add_inside(r);
    }
    return record;
}

/* Return a message about calls that differ at this moment; NULL if none do. */
static char *look(const struct flight_recorder *recorder, bool *is_settled)
{
    int count;
    struct rank_record *record = read_ranks(recorder, &count);
    char *text = desync_text(record, count, is_settled);
    free(record);
    return text;
}

char *flight_recorder_desync_text(const struct flight_recorder *recorder, void (*sleep_for)(double seconds))
{
    enum { LOOKS = 50 };
    bool is_settled = true;
    char *text = recorder ? look(recorder, &is_settled) : NULL;
    for (int i = 0; i < LOOKS && sleep_for && !is_settled; i++) {
        sleep_for(FLIGHT_RECORDER_SETTLE_S / LOOKS);
        char *now = look(recorder, &is_settled);
        if (!now)
            break; /* the calls have scrolled out of the records */
        free(text);
        text = now;
    }
    char *line = text ? memory_text("%s; %s", text, flight_recorder_kept_text(recorder)) : NULL;
    free(text);
    return line;
}

HOT static bool disagrees(const struct flight_recorder *recorder, int rank, const struct collective_call *call)
{
    struct collective_call other;
    return flight_recorder_find(recorder, rank, call, &other) && !desync_is_alike(call, &other);
}

/* Each of two ranks first records its call and then looks for the other's, so that at least one of them sees both. */
HOT bool flight_recorder_disagrees(const struct flight_recorder *recorder, int rank, const struct collective_call *call)
{
    const int ranks = flight_recorder_ranks(recorder);
    atomic_thread_fence(memory_order_seq_cst);
    for (int other = 0; other < ranks; other++)
        if (other != rank && collective_call_has(call, other) && disagrees(recorder, other, call))
            return true;
    return false;
}
