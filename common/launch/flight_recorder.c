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

/* Magic number of the file: in a container with its own process ids the same /proc path may name another file. */
static const unsigned MAGIC = 0x626f6172;

enum ending { RUNNING, TERMINATED, FINISHED, SEEN_ENDED };

struct rank_slot {
    _Alignas(64) atomic_int process; /* 0: the rank has not joined yet */
    atomic_int ending;               /* enum ending */
    atomic_uint moves;               /* entries into collectives and exits; odd while the rank is inside one */
    /* The call entered last is slot version % 2. The rank writes the other slot, then publishes it by adding 1 to `version`, so a
     * reader whose version has not changed meanwhile has read a whole call, even of a rank that stopped while it wrote. */
    atomic_uint version;
    struct shared_call {
        atomic_int sequence, ranks, step;
        atomic_size_t bytes;
    } call[2];
};

struct flight_recorder {
    struct rank_slot *mine; /* NULL for a reader */
    struct shared_page {
        unsigned magic;
        atomic_int ranks;        /* highest rank that has joined, plus 1 */
        atomic_flag is_printing; /* a process prints the message, */
        atomic_int has_printed;  /* and has finished */
        atomic_ulong heartbeats;
        _Atomic double timeout;
        atomic_int has_ended;
        struct rank_slot slot[RANKS_MOST];
    } * page;
};

static struct flight_recorder *recorder_of_die;

int flight_recorder_create(void)
{
    int file = memfd_create("lockstep-recorder", MFD_CLOEXEC);
    if (file >= 0 &&
        (ftruncate(file, sizeof(struct shared_page)) != 0 ||
         pwrite(file, &MAGIC, sizeof MAGIC, offsetof(struct shared_page, magic)) != (ssize_t)sizeof MAGIC)) {
        close(file);
        return -1;
    }
    return file;
}

/* Note that die() prints a message here, so that other processes print none. */
static void note_message(void)
{
    if (!atomic_flag_test_and_set(&recorder_of_die->page->is_printing))
        atomic_store(&recorder_of_die->page->has_printed, 1);
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
        recorder->mine = &recorder->page->slot[rank];
        atomic_store(&recorder->mine->process, (int)getpid());
        for (int ranks = atomic_load(&recorder->page->ranks); ranks <= rank;)
            atomic_compare_exchange_weak(&recorder->page->ranks, &ranks, rank + 1);
    }
    recorder_of_die = recorder;
    die_before(note_message);
    return recorder;
}

void flight_recorder_close(struct flight_recorder *recorder)
{
    if (!recorder)
        return;
    if (recorder == recorder_of_die) {
        die_before(NULL);
        recorder_of_die = NULL;
    }
    munmap(recorder->page, sizeof *recorder->page);
    free(recorder);
}

/* Count an entry or exit. Only the rank itself writes this counter. A rank that enters twice, to update `call`, stays inside. */
HOT static void count_move(struct rank_slot *mine, bool inside)
{
    unsigned moves = atomic_load_explicit(&mine->moves, memory_order_relaxed) + 1;
    moves += (moves % 2 != 0) != inside;
    atomic_store_explicit(&mine->moves, moves, memory_order_release); /* after `call` is written */
}

/* Release order of the fields puts them behind the version before, which made their slot free. */
HOT static void write_call(struct rank_slot *mine, const struct call *call)
{
    unsigned version = atomic_load_explicit(&mine->version, memory_order_relaxed) + 1;
    struct shared_call *shared = &mine->call[version % 2];
    atomic_store_explicit(&shared->sequence, call->sequence, memory_order_release);
    atomic_store_explicit(&shared->ranks, call->ranks, memory_order_release);
    atomic_store_explicit(&shared->step, call->step, memory_order_release);
    atomic_store_explicit(&shared->bytes, call->bytes, memory_order_release);
    atomic_store_explicit(&mine->version, version, memory_order_release);
}

static struct call read_call(const struct rank_slot *slot)
{
    for (;;) {
        unsigned version = atomic_load_explicit(&slot->version, memory_order_acquire);
        const struct shared_call *shared = &slot->call[version % 2];
        struct call call = {
            .sequence = atomic_load_explicit(&shared->sequence, memory_order_acquire),
            .ranks = atomic_load_explicit(&shared->ranks, memory_order_acquire),
            .step = atomic_load_explicit(&shared->step, memory_order_acquire),
            .bytes = atomic_load_explicit(&shared->bytes, memory_order_acquire),
        };
        if (atomic_load_explicit(&slot->version, memory_order_relaxed) == version)
            return call;
    }
}

static bool is_inside(const struct rank_slot *slot)
{
    return atomic_load(&slot->moves) % 2 != 0;
}

HOT void flight_recorder_enter(struct flight_recorder *recorder, const struct call *call)
{
    if (!recorder || !recorder->mine)
        return;
    write_call(recorder->mine, call);
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
        atomic_store(&recorder->page->timeout, seconds);
    flight_recorder_heartbeat(recorder);
}

void flight_recorder_heartbeat(struct flight_recorder *recorder)
{
    if (recorder)
        atomic_fetch_add(&recorder->page->heartbeats, 1);
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
    struct heartbeat heartbeat = { .heartbeats = atomic_load(&recorder->page->heartbeats),
                                   .timeout = atomic_load(&recorder->page->timeout),
                                   .has_ended = atomic_load(&recorder->page->has_ended) };
    for (int rank = 0; rank < atomic_load(&recorder->page->ranks); rank++)
        heartbeat.heartbeats += atomic_load_explicit(&recorder->page->slot[rank].moves, memory_order_relaxed);
    return heartbeat;
}

void flight_recorder_leave_early(struct flight_recorder *recorder)
{
    if (recorder && recorder->mine)
        atomic_store(&recorder->mine->ending, TERMINATED);
}

void flight_recorder_finish(struct flight_recorder *recorder)
{
    if (recorder && recorder->mine)
        atomic_store(&recorder->mine->ending, FINISHED);
}

int flight_recorder_process(const struct flight_recorder *recorder, int rank)
{
    return recorder ? atomic_load(&recorder->page->slot[rank].process) : 0;
}

void flight_recorder_note_end(struct flight_recorder *recorder, int rank)
{
    int running = RUNNING;
    if (recorder)
        atomic_compare_exchange_strong(&recorder->page->slot[rank].ending, &running, SEEN_ENDED);
}

static bool is_gone(const struct rank_slot *slot)
{
    int process = atomic_load(&slot->process), ending = atomic_load(&slot->ending);
    return ending == SEEN_ENDED || (process && ending == RUNNING && kill(process, 0) != 0 && errno == ESRCH);
}

/* True if the process is stopped (SIGSTOP, a debugger). */
static bool is_stopped(const struct rank_slot *slot)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", atomic_load(&slot->process));
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
        if (is_gone(&recorder->page->slot[rank]))
            return true;
    return false;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Find the latest collective that a live rank is inside; false if there is none. The ranks missing there are behind, elsewhere or
 * gone. */
static bool find_collective(const struct shared_page *page, struct call *furthest)
{
    bool is_found = false;
    for (int rank = 0; rank < atomic_load(&page->ranks); rank++) {
        const struct rank_slot *slot = &page->slot[rank];
        if (!is_inside(slot) || is_gone(slot))
            continue;
        struct call call = read_call(slot);
        if (!is_found || call.sequence > furthest->sequence)
            *furthest = call;
        is_found = true;
    }
    return is_found;
}

static bool has_arrived(const struct rank_slot *slot, const struct call *collective)
{
    struct call call = read_call(slot);
    return is_inside(slot) && call.ranks == collective->ranks && call.sequence >= collective->sequence &&
           !is_gone(slot) && !is_stopped(slot);
}

/* Print "rank 1" or "ranks 0, 2 and 3"; of many ranks only the first few. */
static void list_ranks(FILE *out, const int *ranks, int count)
{
    enum { SHOWN = 6 };
    fputs(count == 1 ? "rank " : "ranks ", out);
    for (int i = 0; i < count && i < SHOWN; i++)
        fprintf(out, "%s%d", i == 0 ? "" : i == count - 1 ? " and " : ", ", ranks[i]);
    if (count > SHOWN)
        fprintf(out, " and %d more", count - SHOWN);
}

static void print_collective(FILE *out, const struct call *collective)
{
    fprintf(out, collective->bytes > 0 ? "all-reduce %d" : "barrier %d", collective->sequence);
    if (collective->bytes > 0)
        fprintf(out, " of %.3g MB", (double)collective->bytes / 1e6);
    if (collective->step >= 0)
        fprintf(out, " (step %d)", collective->step);
}

/* Reasons why a rank is missing from a collective, worst first. */
enum absence { GONE, STOPPED, ELSEWHERE, ABSENCES };

/* True if a rank is absent for this reason. Without a collective (NULL) no rank counts as elsewhere. */
static bool is_absent(const struct shared_page *page, int rank, enum absence why, const struct call *collective)
{
    const struct rank_slot *slot = &page->slot[rank];
    if (why == GONE)
        return is_gone(slot);
    if (why == STOPPED)
        return atomic_load(&slot->process) && is_stopped(slot);
    return collective && rank < collective->ranks && atomic_load(&slot->process) && !has_arrived(slot, collective);
}

/* True if a rank of this collective is on another host, and therefore writes to the recorder there. */
static bool spans_hosts(const struct shared_page *page, const struct call *collective)
{
    for (int rank = 0; collective && rank < collective->ranks; rank++)
        if (!atomic_load(&page->slot[rank].process))
            return true;
    return false;
}

static void print_absent(FILE *out, const struct shared_page *page, enum absence why, const int *ranks, int count)
{
    static const char *const words[ABSENCES][2] = {
        [GONE] = { "is gone", "are gone" },
        [STOPPED] = { "is stopped", "are stopped" },
        [ELSEWHERE] = { "has not come", "have not come" },
    };
    list_ranks(out, ranks, count);
    if (count == 1)
        fprintf(out, " (process %d)", atomic_load(&page->slot[ranks[0]].process));
    fprintf(out, " %s", words[why][count > 1]);
    const struct rank_slot *one = &page->slot[ranks[0]];
    /* A rank that made too few calls is at an earlier collective. */
    struct call call = read_call(one);
    if (why == ELSEWHERE && count == 1 && call.ranks > 0) {
        fputs(is_inside(one) ? ", it is in " : ", it left ", out);
        print_collective(out, &call);
    }
}

/* If ranks are absent for several reasons, name only those with the worst: the others may be waiting for them elsewhere. */
char *flight_recorder_text(const struct flight_recorder *recorder)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
    struct call furthest;
    const struct call *collective = recorder && find_collective(recorder->page, &furthest) ? &furthest : NULL;
    int absent[RANKS_MOST], waiting[RANKS_MOST], count = 0, waiters = 0;
    enum absence why = GONE;
    for (; recorder && why < ABSENCES; why++) {
        for (int rank = 0; rank < atomic_load(&recorder->page->ranks); rank++)
            if (is_absent(recorder->page, rank, why, collective))
                absent[count++] = rank;
        if (count > 0)
            break;
    }
    for (int rank = 0; collective && rank < collective->ranks; rank++)
        if (has_arrived(&recorder->page->slot[rank], collective))
            waiting[waiters++] = rank;
    bool are_all = !recorder || !spans_hosts(recorder->page, collective);
    char host[HOST_NAME_MAX + 1] = "";
    if (!are_all && gethostname(host, sizeof host - 1) == 0)
        fprintf(out, "on host %s ", host);
    if (count > 0)
        print_absent(out, recorder->page, why, absent, count);
    if (count > 0 && waiters > 0) {
        fputs("; ", out);
        list_ranks(out, waiting, waiters);
        fputs(waiters == 1 ? " waits in " : " wait in ", out);
        print_collective(out, collective);
    } else if (waiters > 0) {
        fputs(are_all ? "all ranks have come to " : "all have come to ", out);
        print_collective(out, collective);
        fputs(are_all ? ", which does not end" : ", and wait for other hosts", out);
    }
    fclose(out);
    return text;
}

const char *flight_recorder_kept_text(const struct flight_recorder *recorder)
{
    bool has_ended = recorder && atomic_load(&recorder->page->has_ended);
    return has_ended ? "this run's results are whole and in place" : "results of earlier runs are untouched";
}

char *flight_recorder_timeout_text(const struct flight_recorder *recorder, double seconds)
{
    char *text = flight_recorder_text(recorder);
    char *message =
        memory_text("no sign of life for %g s%s%s: a rank hangs or the machine is too slow; %s (--deadline-s "
                    "allows more time)",
                    seconds, *text ? "; " : "", text, flight_recorder_kept_text(recorder));
    free(text);
    return message;
}

void flight_recorder_say(struct flight_recorder *recorder, const char *line)
{
    if (recorder && atomic_flag_test_and_set(&recorder->page->is_printing))
        return;
    warn("%s", line);
    if (recorder)
        atomic_store(&recorder->page->has_printed, 1);
}

bool flight_recorder_has_spoken(const struct flight_recorder *recorder)
{
    return recorder && atomic_load(&recorder->page->has_printed);
}
