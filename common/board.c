#include "board.h"

#include "die.h"
#include "hot.h"
#include "memory.h"
#include "run.h"

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

struct line {
    _Alignas(64) atomic_int process; /* 0: nobody has come yet */
    atomic_int ending;               /* enum ending */
    atomic_uint moves;               /* into collectives and out of them: odd where it is inside of one */
    struct call call;                /* the last one */
};

struct board {
    struct line *mine; /* NULL for a reader */
    struct paper {
        unsigned magic;
        atomic_int ranks;   /* one more than the highest that has come */
        atomic_flag speaks; /* somebody does, */
        atomic_int spoken;  /* and has */
        atomic_ulong beats;
        _Atomic double allowed;
        atomic_int has_ended;
        struct line line[RANKS_MOST];
    } * paper;
};

static struct board *board_of_die;

int board_create(void)
{
    int file = memfd_create("lockstep-board", MFD_CLOEXEC);
    if (file >= 0 && (ftruncate(file, sizeof(struct paper)) != 0 ||
                      pwrite(file, &MAGIC, sizeof MAGIC, offsetof(struct paper, magic)) != (ssize_t)sizeof MAGIC)) {
        close(file);
        return -1;
    }
    return file;
}

/* Before a rank's last words: the others need none. */
static void note_words(void)
{
    if (!atomic_flag_test_and_set(&board_of_die->paper->speaks))
        atomic_store(&board_of_die->paper->spoken, 1);
}

struct board *board_open(const char *path, int rank)
{
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    unsigned magic = 0;
    if (file >= 0 && (pread(file, &magic, sizeof magic, offsetof(struct paper, magic)) < 0 || magic != MAGIC)) {
        close(file);
        file = -1;
    }
    if (file < 0)
        return NULL;
    void *memory = mmap(NULL, sizeof(struct paper), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        return NULL;
    struct board *board = memory_new(1, sizeof *board);
    board->paper = memory;
    if (rank >= 0 && rank < RANKS_MOST) {
        board->mine = &board->paper->line[rank];
        atomic_store(&board->mine->process, (int)getpid());
        for (int ranks = atomic_load(&board->paper->ranks); ranks <= rank;)
            atomic_compare_exchange_weak(&board->paper->ranks, &ranks, rank + 1);
    }
    board_of_die = board;
    die_before(note_words);
    return board;
}

void board_close(struct board *board)
{
    if (!board)
        return;
    if (board == board_of_die) {
        die_before(NULL);
        board_of_die = NULL;
    }
    munmap(board->paper, sizeof *board->paper);
    free(board);
}

/* Nobody else counts here. Who enters a second time, to say where it is, stays inside. */
HOT static void count_move(struct line *mine, bool inside)
{
    unsigned moves = atomic_load_explicit(&mine->moves, memory_order_relaxed) + 1;
    moves += (moves % 2 != 0) != inside;
    atomic_store_explicit(&mine->moves, moves, memory_order_release); /* after the call that it is about */
}

static bool is_inside(const struct line *line)
{
    return atomic_load(&line->moves) % 2 != 0;
}

HOT void board_enter(struct board *board, const struct call *call)
{
    if (!board || !board->mine)
        return;
    board->mine->call = *call;
    count_move(board->mine, true);
}

HOT void board_leave(struct board *board)
{
    if (!board || !board->mine)
        return;
    count_move(board->mine, false);
}

void board_allow(struct board *board, double seconds)
{
    if (board)
        atomic_store(&board->paper->allowed, seconds);
    board_beat(board);
}

void board_beat(struct board *board)
{
    if (board)
        atomic_fetch_add(&board->paper->beats, 1);
}

void board_end(struct board *board)
{
    if (board)
        atomic_store(&board->paper->has_ended, 1);
}

struct pulse board_pulse(const struct board *board)
{
    if (!board)
        return (struct pulse){ 0 };
    struct pulse pulse = { .beats = atomic_load(&board->paper->beats),
                           .allowed = atomic_load(&board->paper->allowed),
                           .has_ended = atomic_load(&board->paper->has_ended) };
    for (int rank = 0; rank < atomic_load(&board->paper->ranks); rank++)
        pulse.beats += atomic_load_explicit(&board->paper->line[rank].moves, memory_order_relaxed);
    return pulse;
}

void board_leave_early(struct board *board)
{
    if (board && board->mine)
        atomic_store(&board->mine->ending, WAS_TOLD_TO_END);
}

void board_finish(struct board *board)
{
    if (board && board->mine)
        atomic_store(&board->mine->ending, MEANT_TO_END);
}

int board_process(const struct board *board, int rank)
{
    return board ? atomic_load(&board->paper->line[rank].process) : 0;
}

void board_note_end(struct board *board, int rank)
{
    int goes_on = GOES_ON;
    if (board)
        atomic_compare_exchange_strong(&board->paper->line[rank].ending, &goes_on, WAS_SEEN_TO_END);
}

static bool is_gone(const struct line *line)
{
    int process = atomic_load(&line->process), ending = atomic_load(&line->ending);
    return ending == WAS_SEEN_TO_END || (process && ending == GOES_ON && kill(process, 0) != 0 && errno == ESRCH);
}

/* Of a process that something holds (SIGSTOP, a debugger). */
static bool is_stopped(const struct line *line)
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

bool board_has_lost(const struct board *board, int ranks)
{
    for (int rank = 0; board && rank < ranks; rank++)
        if (is_gone(&board->paper->line[rank]))
            return true;
    return false;
}

/* --- telling ----------------------------------------------------------------------------------------------------- */

/* The call that some rank is in and that is the furthest: all it waits for are behind it, elsewhere or gone. */
static const struct call *find_meeting(const struct paper *paper)
{
    const struct call *furthest = NULL;
    for (int rank = 0; rank < atomic_load(&paper->ranks); rank++) {
        const struct line *line = &paper->line[rank];
        if (is_inside(line) && !is_gone(line) && (!furthest || line->call.sequence > furthest->sequence))
            furthest = &line->call;
    }
    return furthest;
}

static bool is_there(const struct line *line, const struct call *meeting)
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
static bool is_absent(const struct paper *paper, int rank, enum absence why, const struct call *meeting)
{
    const struct line *line = &paper->line[rank];
    if (why == GONE)
        return is_gone(line);
    if (why == STOPPED)
        return atomic_load(&line->process) && is_stopped(line);
    return meeting && rank < meeting->ranks && atomic_load(&line->process) && !is_there(line, meeting);
}

/* Somebody sits on another host, and writes on the board there. */
static bool has_others(const struct paper *paper, const struct call *meeting)
{
    for (int rank = 0; meeting && rank < meeting->ranks; rank++)
        if (!atomic_load(&paper->line[rank].process))
            return true;
    return false;
}

static void tell_absent(FILE *out, const struct paper *paper, enum absence why, const int *ranks, int count)
{
    static const char *const words[ABSENCES][2] = {
        [GONE] = { "is gone", "are gone" },
        [STOPPED] = { "is stopped", "are stopped" },
        [ELSEWHERE] = { "has not come", "have not come" },
    };
    list_ranks(out, ranks, count);
    if (count == 1)
        fprintf(out, " (process %d)", atomic_load(&paper->line[ranks[0]].process));
    fprintf(out, " %s", words[why][count > 1]);
    const struct line *one = &paper->line[ranks[0]];
    if (why == ELSEWHERE && count == 1 &&
        one->call.ranks > 0) { /* who called too seldom is still before an earlier one */
        fputs(is_inside(one) ? ", it is in " : ", it left ", out);
        tell_meeting(out, &one->call);
    }
}

/* Of ranks that are absent for several reasons the worst off are named: the others may well wait for them elsewhere. */
char *board_tell(const struct board *board)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        die(STATUS_WRONG, "no memory for a line of text");
    const struct call *meeting = board ? find_meeting(board->paper) : NULL;
    int absent[RANKS_MOST], waiting[RANKS_MOST], count = 0, waiters = 0;
    enum absence why = GONE;
    for (; board && why < ABSENCES; why++) {
        for (int rank = 0; rank < atomic_load(&board->paper->ranks); rank++)
            if (is_absent(board->paper, rank, why, meeting))
                absent[count++] = rank;
        if (count > 0)
            break;
    }
    for (int rank = 0; meeting && rank < meeting->ranks; rank++)
        if (is_there(&board->paper->line[rank], meeting))
            waiting[waiters++] = rank;
    bool are_all = !board || !has_others(board->paper, meeting);
    char host[HOST_NAME_MAX + 1] = "";
    if (!are_all && gethostname(host, sizeof host - 1) == 0)
        fprintf(out, "on host %s ", host);
    if (count > 0)
        tell_absent(out, board->paper, why, absent, count);
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

const char *board_kept(const struct board *board)
{
    bool is_told = board && atomic_load(&board->paper->has_ended);
    return is_told ? "this run's results are whole and in place" : "results of earlier runs are untouched";
}

char *board_tell_late(const struct board *board, double seconds)
{
    char *told = board_tell(board);
    char *line = memory_text("no sign of life for %g s%s%s: a rank hangs or the machine is too slow; %s (--deadline-s "
                             "allows more time)",
                             seconds, *told ? "; " : "", told, board_kept(board));
    free(told);
    return line;
}

void board_say(struct board *board, const char *line)
{
    if (board && atomic_flag_test_and_set(&board->paper->speaks))
        return;
    warn("%s", line);
    if (board)
        atomic_store(&board->paper->spoken, 1);
}

bool board_has_spoken(const struct board *board)
{
    return board && atomic_load(&board->paper->spoken);
}
