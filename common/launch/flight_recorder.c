#include "launch/flight_recorder.h"

#include "base/die.h"
#include "base/hot.h"
#include "base/memory.h"
#include "options/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned MAGIC =
    0x626f6172; /* tells a board from what else may have its path where processes are numbered anew */

enum ending { GOES_ON, WAS_TOLD_TO_END, MEANT_TO_END, WAS_SEEN_TO_END };

struct rank_slot {
    _Alignas(64) atomic_int process; /* 0: nobody has come yet */
    atomic_int ending;               /* enum ending */
    atomic_uint moves;               /* into collectives and out of them: odd where it is inside of one */
    struct call call;                /* the last one */
};

struct flight_recorder {
    struct rank_slot *mine; /* NULL for a reader */
    struct shared_page {
        unsigned magic;
        atomic_int ranks;   /* one more than the highest that has come */
        atomic_flag speaks; /* somebody does, */
        atomic_int spoken;  /* and has */
        atomic_ulong beats;
        _Atomic double allowed;
        atomic_int has_ended;
        struct rank_slot line[RANKS_MOST];
    } * page;
};

static struct flight_recorder *board_of_die;

int flight_recorder_create(void)
{
    int file = memfd_create("lockstep-board", MFD_CLOEXEC);
    if (file >= 0 &&
        (ftruncate(file, sizeof(struct shared_page)) != 0 ||
         pwrite(file, &MAGIC, sizeof MAGIC, offsetof(struct shared_page, magic)) != (ssize_t)sizeof MAGIC)) {
        close(file);
        return -1;
    }
    return file;
}

/* Before a rank's last words: the others need none. */
static void note_words(void)
{
    if (!atomic_flag_test_and_set(&board_of_die->page->speaks))
        atomic_store(&board_of_die->page->spoken, 1);
}

struct flight_recorder *flight_recorder_open(const char *path, int rank)
{
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    unsigned magic = 0;
    if (file >= 0 && (pread(file, &magic, sizeof magic, offsetof(struct shared_page, magic)) < 0 || magic != MAGIC)) {
        close(file);
        file = -1;
    }
    if (file < 0)
        return NULL;
    void *memory = mmap(NULL, sizeof(struct shared_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        return NULL;
    struct flight_recorder *recorder = memory_new(1, sizeof *recorder);
    recorder->page = memory;
    if (rank >= 0 && rank < RANKS_MOST) {
        recorder->mine = &recorder->page->line[rank];
        atomic_store(&recorder->mine->process, (int)getpid());
        for (int ranks = atomic_load(&recorder->page->ranks); ranks <= rank;)
            atomic_compare_exchange_weak(&recorder->page->ranks, &ranks, rank + 1);
    }
    board_of_die = recorder;
    die_before(note_words);
    return recorder;
}

void flight_recorder_close(struct flight_recorder *recorder)
{
    if (!recorder)
        return;
    if (recorder == board_of_die) {
        die_before(NULL);
        board_of_die = NULL;
    }
    munmap(recorder->page, sizeof *recorder->page);
    free(recorder);
}

/* Nobody else counts here. Who enters a second time, to say where it is, stays inside. */
HOT static void count_move(struct rank_slot *mine, bool inside)
{
    unsigned moves = atomic_load_explicit(&mine->moves, memory_order_relaxed) + 1;
    moves += (moves % 2 != 0) != inside;
    atomic_store_explicit(&mine->moves, moves, memory_order_release); /* after the call that it is about */
}

static bool is_inside(const struct rank_slot *line)
{
    return atomic_load(&line->moves) % 2 != 0;
}

HOT void flight_recorder_enter(struct flight_recorder *recorder, const struct call *call)
{
    if (!recorder || !recorder->mine)
        return;
    recorder->mine->call = *call;
    count_move(recorder->mine, true);
}

HOT void flight_recorder_leave(struct flight_recorder *recorder)
{
    if (!recorder || !recorder->mine)
        return;
    count_move(recorder->mine, false);
}

void flight_recorder_set_timeout(struct flight_recorder *recorder, double seconds)
{
    if (recorder)
        atomic_store(&recorder->page->allowed, seconds);
    flight_recorder_heartbeat(recorder);
}

void flight_recorder_heartbeat(struct flight_recorder *recorder)
{
    if (recorder)
        atomic_fetch_add(&recorder->page->beats, 1);
}

void flight_recorder_end(struct flight_recorder *recorder)
{
    if (recorder)
        atomic_store(&recorder->page->has_ended, 1);
}

struct heartbeat flight_recorder_read(const struct flight_recorder *recorder)
{
    if (!recorder)
        return (struct heartbeat){ 0 };
    struct heartbeat heartbeat = { .beats = atomic_load(&recorder->page->beats),
                                   .allowed = atomic_load(&recorder->page->allowed),
                                   .has_ended = atomic_load(&recorder->page->has_ended) };
    for (int rank = 0; rank < atomic_load(&recorder->page->ranks); rank++)
        heartbeat.beats += atomic_load_explicit(&recorder->page->line[rank].moves, memory_order_relaxed);
    return heartbeat;
}

void flight_recorder_leave_early(struct flight_recorder *recorder)
{
    if (recorder && recorder->mine)
        atomic_store(&recorder->mine->ending, WAS_TOLD_TO_END);
}

void flight_recorder_finish(struct flight_recorder *recorder)
{
    if (recorder && recorder->mine)
        atomic_store(&recorder->mine->ending, MEANT_TO_END);
}

int flight_recorder_process(const struct flight_recorder *recorder, int rank)
{
    return recorder ? atomic_load(&recorder->page->line[rank].process) : 0;
}

void flight_recorder_note_end(struct flight_recorder *recorder, int rank)
{
    int goes_on = GOES_ON;
    if (recorder)
        atomic_compare_exchange_strong(&recorder->page->line[rank].ending, &goes_on, WAS_SEEN_TO_END);
}

static bool is_gone(const struct rank_slot *line)
{
    int process = atomic_load(&line->process), ending = atomic_load(&line->ending);
    return ending == WAS_SEEN_TO_END || (process && ending == GOES_ON && kill(process, 0) != 0 && errno == ESRCH);
}

/* Of a process that something holds (SIGSTOP, a debugger). */
static bool is_stopped(const struct rank_slot *line)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", atomic_load(&line->process));
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (file)
        fclose(file);
    return state == 'T' || state == 't';
}

bool flight_recorder_has_lost(const struct flight_recorder *recorder, int ranks)
{
    for (int rank = 0; recorder && rank < ranks; rank++)
        if (is_gone(&recorder->page->line[rank]))
            return true;
    return false;
}

/* --- telling ----------------------------------------------------------------------------------------------------- */

/* The call that some rank is in and that is the furthest: all it waits for are behind it, elsewhere or gone. */
static const struct call *find_meeting(const struct shared_page *page)
{
    const struct call *furthest = NULL;
    for (int rank = 0; rank < atomic_load(&page->ranks); rank++) {
        const struct rank_slot *line = &page->line[rank];
        if (is_inside(line) && !is_gone(line) && (!furthest || line->call.sequence > furthest->sequence))
            furthest = &line->call;
    }
    return furthest;
}

static bool is_there(const struct rank_slot *line, const struct call *meeting)
{
    return is_inside(line) && line->call.ranks == meeting->ranks && line->call.sequence >= meeting->sequence &&
           !is_gone(line) && !is_stopped(line);
}

/* "rank 1", "ranks 0, 2 and 3"; of many the first few. */
static void list_ranks(FILE *out, const int *ranks, int count)
{
    enum { SHOWN = 6 };
    fputs(count == 1 ? "rank " : "ranks ", out);
    for (int i = 0; i < count && i < SHOWN; i++)
        fprintf(out, "%s%d", i == 0 ? "" : i == count - 1 ? " and " : ", ", ranks[i]);
    if (count > SHOWN)
        fprintf(out, " and %d more", count - SHOWN);
}

static void tell_meeting(FILE *out, const struct call *meeting)
{
    fprintf(out, meeting->bytes > 0 ? "all-reduce %d" : "barrier %d", meeting->sequence);
    if (meeting->bytes > 0)
        fprintf(out, " of %.3g MB", (double)meeting->bytes / 1e6);
    if (meeting->step >= 0)
        fprintf(out, " (step %d)", meeting->step);
}

/* What keeps a rank from coming, worst first. */
enum absence { GONE, STOPPED, ELSEWHERE, ABSENCES };

/* Whether a rank is absent for this reason: without a meeting nobody is elsewhere. */
static bool is_absent(const struct shared_page *page, int rank, enum absence why, const struct call *meeting)
{
    const struct rank_slot *line = &page->line[rank];
    if (why == GONE)
        return is_gone(line);
    if (why == STOPPED)
        return atomic_load(&line->process) && is_stopped(line);
    return meeting && rank < meeting->ranks && atomic_load(&line->process) && !is_there(line, meeting);
}

/* Somebody sits on another host, and writes on the board there. */
static bool has_others(const struct shared_page *page, const struct call *meeting)
{
    for (int rank = 0; meeting && rank < meeting->ranks; rank++)
        if (!atomic_load(&page->line[rank].process))
            return true;
    return false;
}

static void tell_absent(FILE *out, const struct shared_page *page, enum absence why, const int *ranks, int count)
{
    static const char *const words[ABSENCES][2] = {
        [GONE] = { "is gone", "are gone" },
        [STOPPED] = { "is stopped", "are stopped" },
        [ELSEWHERE] = { "has not come", "have not come" },
    };
    list_ranks(out, ranks, count);
    if (count == 1)
        fprintf(out, " (process %d)", atomic_load(&page->line[ranks[0]].process));
    fprintf(out, " %s", words[why][count > 1]);
    const struct rank_slot *one = &page->line[ranks[0]];
    if (why == ELSEWHERE && count == 1 &&
        one->call.ranks > 0) { /* who called too seldom is still before an earlier one */
        fputs(is_inside(one) ? ", it is in " : ", it left ", out);
        tell_meeting(out, &one->call);
    }
}

/* Of ranks that are absent for several reasons the worst off are named: the others may well wait for them elsewhere. */
char *flight_recorder_text(const struct flight_recorder *recorder)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        die(STATUS_WRONG, "no memory for a line of text");
    const struct call *meeting = recorder ? find_meeting(recorder->page) : NULL;
    int absent[RANKS_MOST], waiting[RANKS_MOST], count = 0, waiters = 0;
    enum absence why = GONE;
    for (; recorder && why < ABSENCES; why++) {
        for (int rank = 0; rank < atomic_load(&recorder->page->ranks); rank++)
            if (is_absent(recorder->page, rank, why, meeting))
                absent[count++] = rank;
        if (count > 0)
            break;
    }
    for (int rank = 0; meeting && rank < meeting->ranks; rank++)
        if (is_there(&recorder->page->line[rank], meeting))
            waiting[waiters++] = rank;
    bool are_all = !recorder || !has_others(recorder->page, meeting);
    char host[HOST_NAME_MAX + 1] = "";
    if (!are_all && gethostname(host, sizeof host - 1) == 0)
        fprintf(out, "on host %s ", host);
    if (count > 0)
        tell_absent(out, recorder->page, why, absent, count);
    if (count > 0 && waiters > 0) {
        fputs("; ", out);
        list_ranks(out, waiting, waiters);
        fputs(waiters == 1 ? " waits in " : " wait in ", out);
        tell_meeting(out, meeting);
    } else if (waiters > 0) {
        fputs(are_all ? "all ranks have come to " : "all have come to ", out);
        tell_meeting(out, meeting);
        fputs(are_all ? ", which does not end" : ", and wait for other hosts", out);
    }
    fclose(out);
    return text;
}

const char *flight_recorder_kept_text(const struct flight_recorder *recorder)
{
    bool is_told = recorder && atomic_load(&recorder->page->has_ended);
    return is_told ? "this run's results are whole and in place" : "results of earlier runs are untouched";
}

char *flight_recorder_timeout_text(const struct flight_recorder *recorder, double seconds)
{
    char *told = flight_recorder_text(recorder);
    char *line = memory_text("no sign of life for %g s%s%s: a rank hangs or the machine is too slow; %s (--deadline-s "
                             "allows more time)",
                             seconds, *told ? "; " : "", told, flight_recorder_kept_text(recorder));
    free(told);
    return line;
}

void flight_recorder_say(struct flight_recorder *recorder, const char *line)
{
    if (recorder && atomic_flag_test_and_set(&recorder->page->speaks))
        return;
    warn("%s", line);
    if (recorder)
        atomic_store(&recorder->page->spoken, 1);
}

bool flight_recorder_has_spoken(const struct flight_recorder *recorder)
{
    return recorder && atomic_load(&recorder->page->spoken);
}
