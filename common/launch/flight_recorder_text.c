/* Write text about missing and waiting ranks from a flight recorder. */
#include "base/memory.h"
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

/* Find the latest collective that a live rank is inside; false if there is none. The ranks missing there are behind, elsewhere or
 * gone. */
static bool find_collective(const struct flight_recorder *recorder, struct call *furthest)
{
    bool is_found = false;
    for (int rank = 0; rank < flight_recorder_ranks(recorder); rank++) {
        if (!flight_recorder_is_inside(recorder, rank) || flight_recorder_is_gone(recorder, rank))
            continue;
        struct call call = flight_recorder_call(recorder, rank);
        if (!is_found || call.sequence > furthest->sequence)
            *furthest = call;
        is_found = true;
    }
    return is_found;
}

static bool has_arrived(const struct flight_recorder *recorder, int rank, const struct call *collective)
{
    struct call call = flight_recorder_call(recorder, rank);
    return flight_recorder_is_inside(recorder, rank) && call.ranks == collective->ranks &&
           call.sequence >= collective->sequence && !flight_recorder_is_gone(recorder, rank) &&
           !is_stopped(recorder, rank);
}

/* Reasons why a rank is missing from a collective, worst first. */
enum absence { GONE, STOPPED, ELSEWHERE, ABSENCES };

/* True if a rank is absent for this reason. Without a collective (NULL) no rank counts as elsewhere. */
static bool is_absent(const struct flight_recorder *recorder, int rank, enum absence why, const struct call *collective)
{
    if (why == GONE)
        return flight_recorder_is_gone(recorder, rank);
    bool has_joined = flight_recorder_process(recorder, rank) != 0;
    if (why == STOPPED)
        return has_joined && is_stopped(recorder, rank);
    return collective && rank < collective->ranks && has_joined && !has_arrived(recorder, rank, collective);
}

/* True if a rank of this collective is on another host, and therefore writes to the recorder there. */
static bool spans_hosts(const struct flight_recorder *recorder, const struct call *collective)
{
    for (int rank = 0; collective && rank < collective->ranks; rank++)
        if (!flight_recorder_process(recorder, rank))
            return true;
    return false;
}

struct rank_list {
    int rank[RANKS_MOST], count;
};

/* List the ranks that are absent for the worst reason that any rank has: the others may be waiting for them elsewhere. Return that
 * reason. */
static enum absence list_absent(struct rank_list *absent, const struct flight_recorder *recorder,
                                const struct call *collective)
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
                         const struct call *collective)
{
    waiting->count = 0;
    for (int rank = 0; collective && rank < collective->ranks; rank++)
        if (has_arrived(recorder, rank, collective))
            waiting->rank[waiting->count++] = rank;
}

/* Print "rank 1" or "ranks 0, 2 and 3"; of many ranks only the first few. */
static void print_ranks(FILE *out, const struct rank_list *list)
{
    enum { SHOWN = 6 };
    fputs(list->count == 1 ? "rank " : "ranks ", out);
    for (int i = 0; i < list->count && i < SHOWN; i++)
        fprintf(out, "%s%d", i == 0 ? "" : i == list->count - 1 ? " and " : ", ", list->rank[i]);
    if (list->count > SHOWN)
        fprintf(out, " and %d more", list->count - SHOWN);
}

static void print_collective(FILE *out, const struct call *collective)
{
    fprintf(out, collective->bytes > 0 ? "all-reduce %d" : "barrier %d", collective->sequence);
    if (collective->bytes > 0)
        fprintf(out, " of %.3g MB", (double)collective->bytes / 1e6);
    if (collective->step >= 0)
        fprintf(out, " (step %d)", collective->step);
}

static void print_absent(FILE *out, const struct flight_recorder *recorder, enum absence why,
                         const struct rank_list *absent)
{
    static const char *const words[ABSENCES][2] = {
        [GONE] = { "is gone", "are gone" },
        [STOPPED] = { "is stopped", "are stopped" },
        [ELSEWHERE] = { "has not arrived", "have not arrived" },
    };
    print_ranks(out, absent);
    int first = absent->rank[0];
    if (absent->count == 1)
        fprintf(out, " (process %d)", flight_recorder_process(recorder, first));
    fprintf(out, " %s", words[why][absent->count > 1]);
    /* A rank that made too few calls is at an earlier collective. */
    struct call call = flight_recorder_call(recorder, first);
    if (why == ELSEWHERE && absent->count == 1 && call.ranks > 0) {
        fputs(flight_recorder_is_inside(recorder, first) ? ", it is in " : ", it left ", out);
        print_collective(out, &call);
    }
}

char *flight_recorder_text(const struct flight_recorder *recorder)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    struct call furthest;
    const struct call *collective = recorder && find_collective(recorder, &furthest) ? &furthest : NULL;
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
        print_ranks(out, &waiting);
        fputs(waiting.count == 1 ? " waits in " : " wait in ", out);
        print_collective(out, collective);
    } else if (waiting.count > 0) {
        fputs(are_all ? "all ranks have reached " : "all have reached ", out);
        print_collective(out, collective);
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
