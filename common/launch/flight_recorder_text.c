/* Write text about missing and waiting ranks from a flight recorder. */
#include "base/memory.h"
#include "base/rank_list.h"
#include "launch/flight_recorder_private.h"
#include "options/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* True if the process is stopped (SIGSTOP, a debugger). */
static bool is_stopped(const struct flight_recorder *recorder, int rank)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", flight_recorder_process(recorder, rank));
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (file)
        fclose(file);
    return state == 'T' || state == 't';
}

static bool is_waiting(const struct flight_recorder *recorder, int rank)
{
    return flight_recorder_is_inside(recorder, rank) && !flight_recorder_is_gone(recorder, rank);
}

/* True if a rank of this collective is in no collective at all. */
static bool lacks_rank(const struct flight_recorder *recorder, const struct collective_call *collective)
{
    for (int rank = 0; rank < flight_recorder_ranks(recorder); rank++)
        if (collective_call_has(collective, rank) && !is_waiting(recorder, rank))
            return true;
    return false;
}

/* Find the collective that explains why ranks wait; false if no rank waits. Prefer one that lacks a rank which waits for no other
 * one, and of those the latest. The ranks missing there are behind, elsewhere or gone. */
static bool find_collective(const struct flight_recorder *recorder, struct collective_call *found)
{
    bool is_found = false, found_lacks = false;
    for (int rank = 0; rank < flight_recorder_ranks(recorder); rank++) {
        if (!is_waiting(recorder, rank))
            continue;
        struct collective_call call = flight_recorder_call(recorder, rank);
        bool lacks = lacks_rank(recorder, &call);
        bool is_better = lacks != found_lacks ? lacks : call.sequence > found->sequence;
        if (!is_found || is_better) {
            *found = call;
            found_lacks = lacks;
        }
        is_found = true;
    }
    return is_found;
}

static bool has_arrived(const struct flight_recorder *recorder, int rank, const struct collective_call *collective)
{
    struct collective_call call = flight_recorder_call(recorder, rank);
    return is_waiting(recorder, rank) && collective_call_is_of_group(&call, collective) &&
           call.sequence >= collective->sequence && !is_stopped(recorder, rank);
}

/* Reasons why a rank is missing from a collective, worst first. */
enum absence { GONE, STOPPED, ELSEWHERE, ABSENCES };

/* True if a rank is absent for this reason. Without a collective (NULL) no rank counts as elsewhere. */
static bool is_absent(const struct flight_recorder *recorder, int rank, enum absence why,
                      const struct collective_call *collective)
{
    if (why == GONE)
        return flight_recorder_is_gone(recorder, rank);
    bool has_joined = flight_recorder_process(recorder, rank) != 0;
    if (why == STOPPED)
        return has_joined && is_stopped(recorder, rank);
    return collective && collective_call_has(collective, rank) && has_joined &&
           !has_arrived(recorder, rank, collective);
}

/* True if a rank of this collective is on another host, and therefore writes to the recorder there. */
static bool spans_hosts(const struct flight_recorder *recorder, const struct collective_call *collective)
{
    for (int rank = 0; collective && rank < RANKS_MOST; rank++)
        if (collective_call_has(collective, rank) && !flight_recorder_process(recorder, rank))
            return true;
    return false;
}

struct rank_list {
    int rank[RANKS_MOST], count;
};

/* List the ranks that are absent for the worst reason that any rank has: the others may be waiting for them elsewhere. Return that
 * reason. */
static enum absence list_absent(struct rank_list *absent, const struct flight_recorder *recorder,
                                const struct collective_call *collective)
{
    absent->count = 0;
    for (enum absence why = GONE; why < ABSENCES; why++) {
        for (int rank = 0; rank < flight_recorder_ranks(recorder); rank++)
            if (is_absent(recorder, rank, why, collective))
                absent->rank[absent->count++] = rank;
        if (absent->count > 0)
            return why;
    }
    return ABSENCES;
}

static void list_waiting(struct rank_list *waiting, const struct flight_recorder *recorder,
                         const struct collective_call *collective)
{
    waiting->count = 0;
    for (int rank = 0; collective && rank < flight_recorder_ranks(recorder); rank++)
        if (collective_call_has(collective, rank) && has_arrived(recorder, rank, collective))
            waiting->rank[waiting->count++] = rank;
}

static void print_absent(FILE *out, const struct flight_recorder *recorder, enum absence why,
                         const struct rank_list *absent)
{
    static const char *const words[ABSENCES][2] = {
        [GONE] = { "is gone", "are gone" },
        [STOPPED] = { "is stopped", "are stopped" },
        [ELSEWHERE] = { "has not arrived", "have not arrived" },
    };
    rank_list_print(out, absent->rank, absent->count);
    int first = absent->rank[0];
    if (absent->count == 1)
        fprintf(out, " (process %d)", flight_recorder_process(recorder, first));
    fprintf(out, " %s", words[why][absent->count > 1]);
    /* A rank that made too few calls is at an earlier collective. */
    struct collective_call call = flight_recorder_call(recorder, first);
    if (why == ELSEWHERE && absent->count == 1 && call.ranks > 0) {
        fputs(flight_recorder_is_inside(recorder, first) ? ", it is in " : ", it left ", out);
        collective_call_print(out, &call);
    }
}

char *flight_recorder_text(const struct flight_recorder *recorder)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    struct collective_call furthest;
    const struct collective_call *collective = recorder && find_collective(recorder, &furthest) ? &furthest : NULL;
    struct rank_list absent, waiting;
    enum absence why = list_absent(&absent, recorder, collective);
    list_waiting(&waiting, recorder, collective);
    bool are_all = !recorder || !spans_hosts(recorder, collective);
    char host[HOST_NAME_MAX + 1] = "";
    if (!are_all && gethostname(host, sizeof host - 1) == 0)
        fprintf(out, "on host %s ", host);
    if (absent.count > 0)
        print_absent(out, recorder, why, &absent);
    if (absent.count > 0 && waiting.count > 0) {
        fputs("; ", out);
        rank_list_print(out, waiting.rank, waiting.count);
        fputs(waiting.count == 1 ? " waits in " : " wait in ", out);
        collective_call_print(out, collective);
    } else if (waiting.count > 0) {
        fputs(are_all ? "all ranks have reached " : "all have reached ", out);
        collective_call_print(out, collective);
        fputs(are_all ? ", which does not end" : ", and wait for other hosts", out);
    }
    fclose(out);
    return text;
}

const char *flight_recorder_kept_text(const struct flight_recorder *recorder)
{
    return flight_recorder_read(recorder).has_ended ? "this run's results are whole and in place"
                                                    : "results of earlier runs are untouched";
}

char *flight_recorder_timeout_text(const struct flight_recorder *recorder, double seconds)
{
    char *text = flight_recorder_text(recorder);
    char *message = memory_text("no heartbeat for %g s%s%s: a rank hangs or the machine is too slow; %s (--deadline-s "
                                "allows more time)",
                                seconds, *text ? "; " : "", text, flight_recorder_kept_text(recorder));
    free(text);
    return message;
}
