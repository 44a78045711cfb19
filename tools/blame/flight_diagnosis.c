#include "flight_diagnosis.h"

#include "base/memory.h"
#include "base/rank_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum finding_kind { NO_FINDING, DIFFERENT, MISSING, NO_DUMP, STALLED, CONTRADICTION };

/* Mistake in a group, at its first wrong collective. */
struct finding {
    enum finding_kind kind;
    const struct flight_team *team;
    int64_t sequence;
    const struct flight_call *usual; /* the call of the larger party */
    int *at_fault, faults;           /* ranks: different, missing, or without a dump */
    int *waiting, waits;             /* ranks that called it as usual */
    bool is_tie;                     /* different: two equal parties, so all callers are at fault */
};

/* --- one collective ---------------------------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* True if two calls of one number can belong together. Sizes may differ in some kinds, and of a scatter only outputs agree. */
static bool are_alike(const struct flight_call *a, const struct flight_call *b)
{
    if (strcmp(a->kind, b->kind) != 0)
        return false;
    if (starts_with(a->kind, "all_to_all") || starts_with(a->kind, "alltoall") || strstr(a->kind, "_v") ||
        strstr(a->kind, "coalesced"))
        return true;
    if (starts_with(a->kind, "scatter"))
        return !(a->out < b->out || a->out > b->out);
    return strcmp(a->sizes, b->sizes) == 0;
}

/* Return the call that most members made; the first of equally frequent ones. *others: members that made a different one. */
static const struct flight_call *usual_call(const struct flight_team *team, int64_t sequence, int *others)
{
    const struct flight_call *usual = NULL;
    int most = 0, all = 0;
    for (int i = 0; i < team->members; i++) {
        const struct flight_call *call = flight_call_at(&team->member[i], sequence);
        int same = 0;
        for (int j = 0; call && j < team->members; j++) {
            const struct flight_call *other = flight_call_at(&team->member[j], sequence);
            same += other && are_alike(call, other);
        }
        all += call != NULL;
        if (same > most) {
            usual = call;
            most = same;
        }
        if (i == 0 && call && same == team->members)
            break; /* all are alike, as almost always */
    }
    *others = most == team->members ? 0 : all - most;
    return usual;
}

/* True if a member's call of this number, or a later one, has not ended. */
static bool has_open_call(const struct flight_team *team, int64_t sequence)
{
    for (int i = 0; i < team->members; i++)
        for (int c = team->member[i].count - 1; c >= 0 && team->member[i].call[c].sequence >= sequence; c--)
            if (!team->member[i].call[c].is_ended)
                return true;
    return false;
}

/* Collect what is wrong with a collective. */
static struct finding examine(const struct flight_team *team, int64_t sequence)
{
    int different = 0, behind = 0, absent = 0, ended = 0, completed = 0;
    struct finding f = { .team = team, .sequence = sequence, .usual = usual_call(team, sequence, &different) };
    if (!f.usual)
        return f;
    f.at_fault = memory_new((size_t)team->members, sizeof *f.at_fault);
    f.waiting = memory_new((size_t)team->members, sizeof *f.waiting);
    for (int i = 0; i < team->members; i++) {
        const struct flight_call *call = flight_call_at(&team->member[i], sequence);
        behind += flight_is_behind(&team->member[i], sequence);
        absent += !team->member[i].has_dump;
        ended += call && call->is_ended;
        completed += call && call->is_completed;
        if (call && are_alike(call, f.usual))
            f.waiting[f.waits++] = team->member[i].rank;
    }
    bool is_one_way = starts_with(f.usual->kind, "broadcast") || starts_with(f.usual->kind, "_broadcast") ||
                      starts_with(f.usual->kind, "reduce") || starts_with(f.usual->kind, "_reduce") ||
                      starts_with(f.usual->kind, "scatter") || starts_with(f.usual->kind, "gather");
    bool is_over = completed == f.waits && different == 0; /* a root may end before the others have called */
    bool is_older =
        behind && !is_one_way && (completed || (sequence < team->highest && !has_open_call(team, sequence)));
    bool is_last = sequence == team->highest && ended < f.waits;
    f.kind = different && completed < f.waits + different ? DIFFERENT
             : is_older                                   ? CONTRADICTION
             : behind && !is_over                         ? MISSING
             : absent && is_last && !completed            ? NO_DUMP
             : is_last                                    ? STALLED
                                                          : NO_FINDING;
    f.is_tie = f.kind == DIFFERENT && different == f.waits;
    return f;
}

static bool is_at_fault(const struct finding *f, const struct flight_member *member)
{
    const struct flight_call *call = flight_call_at(member, f->sequence);
    switch (f->kind) {
    case DIFFERENT:
        return call && (f->is_tie || !are_alike(call, f->usual));
    case MISSING:
    case CONTRADICTION:
        return flight_is_behind(member, f->sequence);
    case NO_DUMP:
        return !member->has_dump;
    default:
        return false;
    }
}

static void close_finding(struct finding *f)
{
    free(f->at_fault);
    free(f->waiting);
}

/* Return the lowest number of the members' next calls, at (members), and step behind it; INT64_MAX if there is none. */
static int64_t next_sequence(const struct flight_team *team, int *at)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i < team->members; i++)
        if (at[i] < team->member[i].count && team->member[i].call[at[i]].sequence < next)
            next = team->member[i].call[at[i]].sequence;
    for (int i = 0; i < team->members; i++)
        at[i] += at[i] < team->member[i].count && team->member[i].call[at[i]].sequence == next;
    return next;
}

/* Return a group's first finding. */
static struct finding find_first(const struct flight_team *team)
{
    struct finding f = { .team = team };
    int *at = memory_new((size_t)team->members + 1, sizeof *at); /* each member's next call */
    for (int64_t sequence; f.kind == NO_FINDING && (sequence = next_sequence(team, at)) < INT64_MAX;) {
        close_finding(&f);
        f = examine(team, sequence);
    }
    free(at);
    for (int i = 0; f.kind != NO_FINDING && i < team->members; i++)
        if (is_at_fault(&f, &team->member[i]))
            f.at_fault[f.faults++] = team->member[i].rank;
    return f;
}

/* --- which ranks wait for which across groups ---------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool has_rank(const int *ranks, int count, int rank)
{
    return count > 0 && bsearch(&rank, ranks, (size_t)count, sizeof *ranks, compare_ranks);
}

/* True if ranks wait for one that has not come, which may be unknown. */
static bool is_lacking(const struct finding *f)
{
    return f->kind == MISSING || f->kind == NO_DUMP || (f->kind == STALLED && !f->team->is_listed);
}

/* Return the finding of another group in which this rank waits; NULL if there is none. */
static const struct finding *waits_elsewhere(const struct finding *all, int count, const struct finding *missing,
                                             int rank)
{
    for (int i = 0; i < count; i++)
        if (&all[i] != missing && is_lacking(&all[i]) && has_rank(all[i].waiting, all[i].waits, rank))
            return &all[i];
    return NULL;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static void print_time(FILE *out, int64_t nanoseconds)
{
    time_t seconds = (time_t)(nanoseconds / 1000000000);
    struct tm utc;
    if (nanoseconds > 0 && gmtime_r(&seconds, &utc))
        fprintf(out, "%02d:%02d:%02d.%03d UTC", utc.tm_hour, utc.tm_min, utc.tm_sec,
                (int)(nanoseconds / 1000000 % 1000));
    else
        fputs("an unknown time", out);
}

static void print_call(FILE *out, const struct flight_call *call)
{
    fprintf(out, "%s %" PRId64, call->kind, call->sequence);
    if (call->sizes[0])
        fprintf(out, " of %s", call->sizes);
}

static void print_group(FILE *out, const struct flight_team *team)
{
    bool is_described = strcmp(team->description, "undefined") != 0 && team->description[0];
    fprintf(out, "group %s%s%s%s", team->name, is_described ? " (" : "", is_described ? team->description : "",
            is_described ? ")" : "");
}

/* Print since when the ranks that called it wait. */
static void print_waiting(FILE *out, const struct finding *f)
{
    int64_t first = 0, last = 0;
    bool has_ended = false;
    for (int i = 0; i < f->team->members; i++) {
        const struct flight_call *call = flight_call_at(&f->team->member[i], f->sequence);
        if (!call || !are_alike(call, f->usual))
            continue;
        first = first == 0 || call->created < first ? call->created : first;
        last = call->created > last ? call->created : last;
        has_ended |= call->is_ended;
    }
    fputs("  ", out);
    rank_list_print(out, f->waiting, f->waits);
    fputs(" called it at ", out);
    print_time(out, first);
    if (last - first >= 500000)
        fprintf(out, " and up to %.3f s later", 1e-9 * (double)(last - first));
    fputs(has_ended
              ? "; it ended there without all ranks, by an error or a time-out, or the dumps are of different moments\n"
          : f->waits == 1 ? ", and waits\n"
                          : ", and wait\n",
          out);
}

/* Print the mistake of a rank at fault. */
static void print_fault(FILE *out, const struct finding *f, const struct flight_member *member)
{
    const struct flight_call *own = flight_call_at(member, f->sequence);
    const struct flight_call *last = own ? own : member->count ? &member->call[member->count - 1] : NULL;
    fprintf(out, "  rank %d ", member->rank);
    if (!member->has_dump) {
        fputs("left no dump: it died or exited before, or its file was not given\n", out);
        return;
    }
    if (!last) {
        fputs("called nothing in this group\n", out);
        return;
    }
    fputs(own ? "called " : "called last ", out);
    print_call(out, last);
    fputs(" at ", out);
    print_time(out, last->created);
    fputs(last->is_completed ? ", which completed\n"
          : last->is_ended   ? ", which ended\n"
                             : ", which has not ended\n",
          out);
}

static void print_finding(FILE *out, const struct finding *f)
{
    static const char *const words[][2] = {
        [DIFFERENT] = { " makes another call than ", " make other calls than " },
        [MISSING] = { " is missing in ", " are missing in " },
        [NO_DUMP] = { " left no dump, and all others have called ", " left no dump, and all others have called " },
        [CONTRADICTION] = { " has not called what ended on others: ", " have not called what ended on others: " },
    };
    if (f->kind == STALLED) {
        rank_list_print(out, f->waiting, f->waits);
        fputs(f->team->is_listed ? ", all members, have called " : " called ", out);
    } else {
        rank_list_print(out, f->at_fault, f->faults);
        fputs(f->is_tie ? " make other calls than " : words[f->kind][f->faults > 1], out);
    }
    if (f->kind == DIFFERENT && f->is_tie)
        fprintf(out, "each other as number %" PRId64, f->sequence);
    else
        print_call(out, f->usual);
    fputs(" in ", out);
    print_group(out, f->team);
    fputs(f->kind == STALLED ? ", and it has not ended on all: the network, or dumps taken in the middle of it.\n"
                             : ".\n",
          out);
    if (f->kind == CONTRADICTION) {
        fputs("  The dumps are of different moments, or of different jobs; dump all ranks at one time, before a "
              "time-out.\n",
              out);
        return;
    }
    if (f->kind != STALLED && !f->is_tie)
        print_waiting(out, f);
    enum { SHOWN = 8 };
    for (int i = 0, shown = 0; i < f->team->members && shown < SHOWN; i++)
        if (is_at_fault(f, &f->team->member[i])) {
            print_fault(out, f, &f->team->member[i]);
            shown++;
        }
}

/* Print where missing ranks wait themselves. Return true if a rank is at fault that does not wait elsewhere. */
static bool print_elsewhere(FILE *out, const struct finding *all, int count, const struct finding *f)
{
    bool has_root = false;
    for (int i = 0; i < f->faults; i++) {
        const struct finding *other = f->kind == MISSING ? waits_elsewhere(all, count, f, f->at_fault[i]) : NULL;
        has_root |= !other;
        if (!other)
            continue;
        fprintf(out, "  rank %d waits elsewhere itself, in ", f->at_fault[i]);
        print_call(out, other->usual);
        fputs(" of ", out);
        print_group(out, other->team);
        fputc('\n', out);
    }
    return has_root;
}

enum flight_verdict flight_diagnose(FILE *out, const struct flight_job *job, bool *is_well)
{
    struct finding *all = memory_new((size_t)job->teams + 1, sizeof *all);
    bool is_named = false, is_contradiction = false, has_root = false;
    *is_well = true;
    for (int i = 0; i < job->teams; i++)
        all[i] = find_first(&job->team[i]);
    for (int i = 0; i < job->teams; i++) {
        if (all[i].kind == NO_FINDING)
            continue;
        *is_well = false;
        print_finding(out, &all[i]);
        has_root |= print_elsewhere(out, all, job->teams, &all[i]);
        is_contradiction |= all[i].kind == CONTRADICTION;
        is_named |= all[i].kind != CONTRADICTION && all[i].kind != STALLED;
    }
    if (is_named && !has_root)
        fputs("These ranks wait for each other in a circle: they call the collectives of their groups in different "
              "orders.\n",
              out);
    for (int i = 0; i < job->teams; i++)
        close_finding(&all[i]);
    free(all);
    return is_contradiction ? FLIGHT_CONTRADICTION : is_named ? FLIGHT_NAMED : FLIGHT_NOTHING;
}
