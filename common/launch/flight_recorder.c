#include "launch/flight_recorder.h"

#include "base/die.h"
#include "base/hot.h"
#include "base/memory.h"
#include "launch/flight_recorder_private.h"
#include "options/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Magic number of the file: in a container with its own process ids the same /proc path may name another file. */
static const unsigned MAGIC = 0x626f6172;

enum { LINE = 4096 }; /* most bytes of a message, with its end */

static const double PASSED_ON_S = 0.3; /* for a launcher to pass a line on */

enum ending { RUNNING, TERMINATED, FINISHED, SEEN_ENDED };

struct rank_slot {
    _Alignas(64) atomic_int process; /* 0: the rank has not joined yet */
    atomic_int ending;               /* enum ending */
    atomic_uint moves;               /* entries into collectives and exits; odd while the rank is inside one */
    atomic_uint made;                /* collectives run or started so far */
    /* The call entered last is slot version % 2. The rank writes the other slot, then publishes it by adding 1 to `version`, so a
     * reader whose version has not changed meanwhile has read a whole call, even of a rank that stopped while it wrote. */
    atomic_uint version;
    struct shared_call {
        atomic_int kind, opened, group, sequence, ranks, step, bucket;
        atomic_size_t bytes;
        _Atomic uint64_t members;
    } call[2];
    struct shared_call history[FLIGHT_RECORDER_CALLS]; /* the n-th call made, from 0 on, at n % FLIGHT_RECORDER_CALLS */
};

struct flight_recorder {
    struct rank_slot *mine; /* NULL for a reader */
    struct shared_page {
        unsigned magic;
        atomic_int ranks;         /* highest rank that has joined, plus 1 */
        atomic_int is_supervised; /* the supervisor prints what ranks say */
        atomic_flag is_printing;  /* a process prints the message, or stores it in `said`, */
        atomic_int has_printed;   /* and has finished */
        char said[LINE];          /* valid once has_printed; blank: the process printed the message itself */
        atomic_ulong heartbeats;
        _Atomic double timeout;
        _Atomic double planted; /* moment at which a rank made a mistake on purpose; 0: none did */
        atomic_int has_ended, is_stopped;
        struct rank_slot slot[RANKS_MOST];
    } * page;
};

/* Recorder that note_message() writes to. A static variable, because die_before() takes a function without arguments. */
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

/* Release order of the fields puts them behind the number before, which made their place free. */
HOT static void store_call(struct shared_call *shared, const struct collective_call *call)
{
    atomic_store_explicit(&shared->kind, (int)call->kind, memory_order_release);
    atomic_store_explicit(&shared->opened, call->opened, memory_order_release);
    atomic_store_explicit(&shared->group, call->group, memory_order_release);
    atomic_store_explicit(&shared->members, call->members, memory_order_release);
    atomic_store_explicit(&shared->sequence, call->sequence, memory_order_release);
    atomic_store_explicit(&shared->ranks, call->ranks, memory_order_release);
    atomic_store_explicit(&shared->step, call->step, memory_order_release);
    atomic_store_explicit(&shared->bucket, call->bucket, memory_order_release);
    atomic_store_explicit(&shared->bytes, call->bytes, memory_order_release);
}

static struct collective_call load_call(const struct shared_call *shared)
{
    return (struct collective_call){
        .kind = (enum collective_kind)atomic_load_explicit(&shared->kind, memory_order_acquire),
        .opened = atomic_load_explicit(&shared->opened, memory_order_acquire),
        .group = atomic_load_explicit(&shared->group, memory_order_acquire),
        .members = atomic_load_explicit(&shared->members, memory_order_acquire),
        .sequence = atomic_load_explicit(&shared->sequence, memory_order_acquire),
        .ranks = atomic_load_explicit(&shared->ranks, memory_order_acquire),
        .step = atomic_load_explicit(&shared->step, memory_order_acquire),
        .bucket = atomic_load_explicit(&shared->bucket, memory_order_acquire),
        .bytes = atomic_load_explicit(&shared->bytes, memory_order_acquire),
    };
}

HOT static void write_call(struct rank_slot *mine, const struct collective_call *call)
{
    unsigned version = atomic_load_explicit(&mine->version, memory_order_relaxed) + 1;
    store_call(&mine->call[version % 2], call);
    atomic_store_explicit(&mine->version, version, memory_order_release);
}

struct collective_call flight_recorder_call(const struct flight_recorder *recorder, int rank)
{
    const struct rank_slot *slot = &recorder->page->slot[rank];
    for (;;) {
        unsigned version = atomic_load_explicit(&slot->version, memory_order_acquire);
        const struct collective_call call = load_call(&slot->call[version % 2]);
        if (atomic_load_explicit(&slot->version, memory_order_relaxed) == version)
            return call;
    }
}

int flight_recorder_ranks(const struct flight_recorder *recorder)
{
    return recorder ? atomic_load(&recorder->page->ranks) : 0;
}

bool flight_recorder_is_inside(const struct flight_recorder *recorder, int rank)
{
    return atomic_load(&recorder->page->slot[rank].moves) % 2 != 0;
}

HOT void flight_recorder_note(struct flight_recorder *recorder, const struct collective_call *call)
{
    if (!recorder || !recorder->mine)
        return;
    unsigned made = atomic_load_explicit(&recorder->mine->made, memory_order_relaxed);
    store_call(&recorder->mine->history[made % FLIGHT_RECORDER_CALLS], call);
    atomic_store_explicit(&recorder->mine->made, made + 1, memory_order_release);
}

/* The place of the oldest call is the one that its rank writes next, so it is left out. Calls that were overwritten while they were
 * read are dropped. */
int flight_recorder_history(const struct flight_recorder *recorder, int rank,
                            struct collective_call calls[FLIGHT_RECORDER_CALLS])
{
    const struct rank_slot *slot = &recorder->page->slot[rank];
    const unsigned end = atomic_load_explicit(&slot->made, memory_order_acquire), most = FLIGHT_RECORDER_CALLS - 1;
    const unsigned begin = end > most ? end - most : 0;
    for (unsigned i = begin; i < end; i++)
        calls[i - begin] = load_call(&slot->history[i % FLIGHT_RECORDER_CALLS]);
    const unsigned now = atomic_load_explicit(&slot->made, memory_order_relaxed);
    const unsigned whole = now > most ? now - most : 0;
    const unsigned lost = whole > begin ? whole - begin : 0;
    if (lost >= end - begin)
        return 0;
    memmove(calls, calls + lost, (end - begin - lost) * sizeof *calls);
    return (int)(end - begin - lost);
}

HOT bool flight_recorder_find(const struct flight_recorder *recorder, int rank, const struct collective_call *like,
                              struct collective_call *found)
{
    const struct rank_slot *slot = &recorder->page->slot[rank];
    const unsigned end = atomic_load_explicit(&slot->made, memory_order_acquire), most = FLIGHT_RECORDER_CALLS - 1;
    for (unsigned i = end; i > 0 && i + most > end; i--) {
        *found = load_call(&slot->history[(i - 1) % FLIGHT_RECORDER_CALLS]);
        if (!collective_call_is_of_group(found, like) || found->sequence > like->sequence)
            continue;
        const unsigned now = atomic_load_explicit(&slot->made, memory_order_relaxed);
        return found->sequence == like->sequence && now - i < most;
    }
    return false;
}

HOT void flight_recorder_enter(struct flight_recorder *recorder, const struct collective_call *call)
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

void flight_recorder_plant(struct flight_recorder *recorder, double now)
{
    if (recorder)
        atomic_store(&recorder->page->planted, now);
}

double flight_recorder_planted(const struct flight_recorder *recorder)
{
    return recorder ? atomic_load(&recorder->page->planted) : 0;
}

void flight_recorder_end(struct flight_recorder *recorder)
{
    if (recorder)
        atomic_store(&recorder->page->has_ended, 1);
}

void flight_recorder_stop(struct flight_recorder *recorder)
{
    if (recorder)
        atomic_store(&recorder->page->is_stopped, 1);
}

bool flight_recorder_is_stopped(const struct flight_recorder *recorder)
{
    return recorder && atomic_load(&recorder->page->is_stopped);
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

bool flight_recorder_has_finished(const struct flight_recorder *recorder, int rank)
{
    return atomic_load(&recorder->page->slot[rank].ending) == FINISHED;
}

bool flight_recorder_is_gone(const struct flight_recorder *recorder, int rank)
{
    const struct rank_slot *slot = &recorder->page->slot[rank];
    int process = atomic_load(&slot->process), ending = atomic_load(&slot->ending);
    return ending == SEEN_ENDED || (process && ending == RUNNING && kill(process, 0) != 0 && errno == ESRCH);
}

bool flight_recorder_has_lost(const struct flight_recorder *recorder, int ranks)
{
    for (int rank = 0; recorder && rank < ranks; rank++)
        if (flight_recorder_is_gone(recorder, rank))
            return true;
    return false;
}

void flight_recorder_say(struct flight_recorder *recorder, const char *line, void (*sleep_for)(double seconds))
{
    const bool is_first = !recorder || !atomic_flag_test_and_set(&recorder->page->is_printing);
    const bool is_supervised = recorder && atomic_load(&recorder->page->is_supervised);
    if (is_first && is_supervised)
        snprintf(recorder->page->said, sizeof recorder->page->said, "%s", line);
    else if (is_first)
        warn("%s", line);
    if (is_first && recorder)
        atomic_store(&recorder->page->has_printed, 1);
    if (!is_supervised && sleep_for) /* also after another rank's line, which this rank's MPI_Abort() could cut off */
        sleep_for(PASSED_ON_S);
}

bool flight_recorder_has_spoken(const struct flight_recorder *recorder)
{
    return recorder && atomic_load(&recorder->page->has_printed);
}

void flight_recorder_supervise(struct flight_recorder *recorder)
{
    atomic_store(&recorder->page->is_supervised, 1);
}

const char *flight_recorder_said(const struct flight_recorder *recorder)
{
    return flight_recorder_has_spoken(recorder) && *recorder->page->said ? recorder->page->said : NULL;
}
