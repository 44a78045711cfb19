/* test_flight_recorder.c: test that the flight recorder, in which processes record their collectives, names missing ranks. */
#include "launch/collective_call.h"
#include "launch/flight_recorder.h"

#include "base/memory.h"
#include "support/unit.h"
#include "world/watchdog.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, NOWHERE = -1 };

struct job {
    int file;
    char *path;
    struct flight_recorder *recorder;
    pid_t rank[RANKS];
};

static struct collective_call all_reduce_of_all(int sequence)
{
    return (struct collective_call){
        .kind = ALL_REDUCE, .sequence = sequence, .ranks = RANKS, .step = 5, .bytes = 12500000
    };
}

/* A call in group 2, which consists of ranks 0 and 2. */
static struct collective_call call_in_group(enum collective_kind kind, int sequence, size_t bytes)
{
    return (struct collective_call){
        .kind = kind, .group = 2, .members = 5, .sequence = sequence, .ranks = 2, .step = 5, .bytes = bytes
    };
}

/* Start a rank that enters this call, or a call that it leaves at once (sequence NOWHERE). Return when the rank is there. */
static pid_t start_rank(const char *path, int rank, struct collective_call call)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no processes behind */
        struct flight_recorder *recorder = flight_recorder_open(path, rank);
        watchdog_join(watchdog_open(false, 0), recorder, RANKS, NULL);
        bool is_nowhere = call.sequence == NOWHERE;
        call.sequence = is_nowhere ? 0 : call.sequence;
        flight_recorder_enter(recorder, &call);
        if (call.sequence % 2 == 0)
            flight_recorder_enter(recorder, &call); /* entering twice has no effect */
        if (is_nowhere)
            flight_recorder_leave(recorder);
        if (write(ready[1], "!", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char sign;
    assert_int_equal(read(ready[0], &sign, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static struct job start_job_in(const struct collective_call calls[RANKS])
{
    struct job job = { .file = flight_recorder_create() };
    job.path = memory_text("/proc/%d/fd/%d", (int)getpid(), job.file);
    job.recorder = flight_recorder_open(job.path, -1);
    assert_non_null(job.recorder);
    for (int rank = 0; rank < RANKS; rank++)
        job.rank[rank] = start_rank(job.path, rank, calls[rank]);
    return job;
}

static struct job start_job(const int sequences[RANKS])
{
    struct collective_call calls[RANKS];
    for (int rank = 0; rank < RANKS; rank++)
        calls[rank] = all_reduce_of_all(sequences[rank]);
    return start_job_in(calls);
}

static void end_rank(struct job *job, int rank, int signal)
{
    kill(job->rank[rank], signal);
    waitpid(job->rank[rank], NULL, 0);
    job->rank[rank] = 0;
}

static void end_job(struct job *job)
{
    for (int rank = 0; rank < RANKS; rank++)
        if (job->rank[rank])
            end_rank(job, rank, SIGKILL);
    flight_recorder_close(job->recorder);
    close(job->file);
    free(job->path);
}

/* Assert that the flight recorder's text equals `format`, in which %d stands for a process. */
static void expect(const struct job *job, const char *format, pid_t process)
{
    char *text = flight_recorder_text(job->recorder), wanted[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(wanted, sizeof wanted, format, (int)process);
#pragma GCC diagnostic pop
    assert_string_equal(text, wanted);
    free(text);
}

TEST(a_rank_that_has_not_come_is_named)
{
    struct job job = start_job((int[]){ 17, 16, 17 });
    expect(&job,
           "rank 1 (process %d) has not arrived, it is in all-reduce 16 of 12.5 MB (step 5); ranks 0 and 2 wait in "
           "all-reduce 17 "
           "of 12.5 MB (step 5)",
           job.rank[1]);
    assert_false(flight_recorder_has_lost(job.recorder, RANKS));
    end_job(&job);
    job = start_job((int[]){ NOWHERE, NOWHERE, 17 });
    expect(&job, "ranks 0 and 1 have not arrived; rank 2 waits in all-reduce 17 of 12.5 MB (step 5)", 0);
    end_job(&job);
}

TEST(a_dead_rank_is_named_before_those_elsewhere)
{
    struct job job = start_job((int[]){ 17, 16, 17 });
    pid_t dead = job.rank[2];
    end_rank(&job, 2, SIGKILL);
    assert_true(flight_recorder_has_lost(job.recorder, RANKS));
    assert_false(flight_recorder_has_lost(job.recorder, 2)); /* the first two ranks are alive */
    expect(&job, "rank 2 (process %d) is gone; rank 0 waits in all-reduce 17 of 12.5 MB (step 5)", dead);
    end_job(&job);
}

/* Terminate the others after one rank has died, as a launcher does. Only the first rank counts as gone. */
TEST(a_rank_that_was_told_to_end_is_not_missed)
{
    struct job job = start_job((int[]){ 17, 17, 17 });
    pid_t dead = job.rank[1];
    end_rank(&job, 1, SIGKILL);
    end_rank(&job, 0, SIGTERM);
    end_rank(&job, 2, SIGTERM);
    expect(&job, "rank 1 (process %d) is gone; ranks 0 and 2 wait in all-reduce 17 of 12.5 MB (step 5)", dead);
    end_job(&job);
}

TEST(a_stopped_rank_is_called_so_wherever_it_is)
{
    struct job job = start_job((int[]){ 17, 17, 17 });
    kill(job.rank[0], SIGSTOP);
    waitpid(job.rank[0], NULL, WUNTRACED);
    expect(&job, "rank 0 (process %d) is stopped; ranks 1 and 2 wait in all-reduce 17 of 12.5 MB (step 5)",
           job.rank[0]);
    end_job(&job);
    job = start_job((int[]){ NOWHERE, NOWHERE, NOWHERE });
    expect(&job, "", 0);
    kill(job.rank[0], SIGSTOP);
    waitpid(job.rank[0], NULL, WUNTRACED);
    expect(&job, "rank 0 (process %d) is stopped", job.rank[0]);
    end_job(&job);
}

TEST(a_collective_that_all_have_come_to_is_named)
{
    struct job job = start_job((int[]){ 3, 3, 3 });
    expect(&job, "all ranks have reached all-reduce 3 of 12.5 MB (step 5), which does not end", 0);
    end_job(&job);
}

/* Rank 1 is in no collective, but ranks 0 and 2 wait in another group than all ranks. */
TEST(a_group_is_named)
{
    struct job job = start_job_in((struct collective_call[]){
        call_in_group(ALL_GATHER, 9, 2000000), all_reduce_of_all(NOWHERE), call_in_group(ALL_GATHER, 8, 2000000) });
    expect(&job,
           "rank 2 (process %d) has not arrived, it is in all-gather 8 of 2 MB in group 2 of ranks 0 and 2 (step 5); "
           "rank 0 waits in "
           "all-gather 9 of 2 MB in group 2 of ranks 0 and 2 (step 5)",
           job.rank[2]);
    assert_null(flight_recorder_desync_text(job.recorder, NULL));
    end_job(&job);
}

/* Rank 0 waits for rank 2, which waits for all ranks: only rank 1 can help. */
TEST(the_rank_at_the_end_of_a_chain_is_named)
{
    struct job job = start_job_in((struct collective_call[]){ call_in_group(BROADCAST, 40, 800),
                                                              all_reduce_of_all(NOWHERE), all_reduce_of_all(17) });
    char *text = flight_recorder_text(job.recorder);
    assert_non_null(strstr(text, "ranks 0 and 1 have not arrived; rank 2 waits in all-reduce 17"));
    free(text);
    end_job(&job);
}

static void assert_desync(struct collective_call of_0, struct collective_call of_2, const char *wanted)
{
    struct job job = start_job_in((struct collective_call[]){ of_0, all_reduce_of_all(NOWHERE), of_2 });
    char *text = flight_recorder_desync_text(job.recorder, NULL);
    if (!wanted)
        assert_null(text);
    else
        assert_non_null(strstr(text ? text : "nothing", wanted));
    free(text);
    end_job(&job);
}

TEST(ranks_that_call_different_collectives_are_named)
{
    assert_desync(all_reduce_of_all(17), all_reduce_of_all(16), NULL);
    assert_desync(all_reduce_of_all(16), all_reduce_of_all(16), NULL);
    assert_desync(call_in_group(BARRIER, 4, 0), call_in_group(BROADCAST, 4, 800),
                  "rank 0 and rank 2 disagree in step 5: collective 4 in group 2 of ranks 0 and 2 is barrier on rank "
                  "0, but broadcast of 800 B on rank 2; cause: another size or order of calls; cure: all ranks of a "
                  "group must make the same calls in the same order; results of earlier runs are untouched");
    assert_desync(call_in_group(ALL_REDUCE, 4, 800), call_in_group(ALL_REDUCE, 4, 400),
                  "all-reduce 4 in group 2 of ranks 0 and 2 is 800 B on rank 0, but 400 B on rank 2");
    assert_desync(call_in_group(SEND_RECEIVE, 4, 800), call_in_group(SEND_RECEIVE, 4, 0),
                  NULL); /* the end of a chain */
    assert_desync(call_in_group(ALL_REDUCE, 4, 800), all_reduce_of_all(NOWHERE), NULL);
    assert_desync(call_in_group(ALL_REDUCE, 4, 800), all_reduce_of_all(4), "groups 2 and 0 are crossed");
}

/* Let two ranks make this call; the second one gives a size of its own. */
static void make_call(struct flight_recorder *const writer[2], int sequence, size_t second_bytes)
{
    for (int rank = 0; rank < 2; rank++) {
        struct collective_call call = all_reduce_of_all(sequence);
        call.bytes = rank == 1 ? second_bytes : 400;
        assert_int_equal(flight_recorder_disagrees(writer[rank], rank, &call), rank == 1 && second_bytes != 400);
        flight_recorder_note(writer[rank], &call);
    }
}

static void expect_desync(const struct job *job, bool is_there)
{
    char *text = flight_recorder_desync_text(job->recorder, NULL);
    assert_int_equal(text != NULL, is_there);
    free(text);
}

/* Calls that ranks made and left count, too; of those before the last ones nothing is known. */
TEST(the_last_calls_are_kept)
{
    struct job job = start_job((int[RANKS]){ NOWHERE, NOWHERE, NOWHERE });
    struct flight_recorder *const writer[2] = { flight_recorder_open(job.path, 0), flight_recorder_open(job.path, 1) };
    for (int i = 1; i < 4; i++)
        make_call(writer, i, 400);
    expect_desync(&job, false);
    make_call(writer, 4, 800);
    expect_desync(&job, true);
    for (int i = 5; i < 4 + FLIGHT_RECORDER_CALLS - 1; i++)
        make_call(writer, i, 400);
    expect_desync(&job, true);
    make_call(writer, 4 + FLIGHT_RECORDER_CALLS - 1, 400);
    expect_desync(&job, false);
    flight_recorder_close(writer[0]);
    flight_recorder_close(writer[1]);
    end_job(&job);
}

TEST(one_speaks_for_all)
{
    struct job job = start_job((int[]){ 1, 1, 1 });
    assert_false(flight_recorder_has_spoken(job.recorder));
    flight_recorder_say(job.recorder, "said once", NULL);
    flight_recorder_say(job.recorder, "never said", NULL);
    assert_true(flight_recorder_has_spoken(job.recorder));
    assert_null(flight_recorder_said(job.recorder)); /* printed, as no supervisor does */
    end_job(&job);
    assert_null(flight_recorder_open("/nowhere/at/all", 0)); /* all functions accept NULL, an empty recorder */
    flight_recorder_enter(NULL, &(struct collective_call){ .sequence = 1 });
    flight_recorder_leave(NULL);
    assert_false(flight_recorder_has_lost(NULL, RANKS));
    char *text = flight_recorder_text(NULL);
    assert_string_equal(text, "");
    free(text);
}

/* A supervisor finds the line of the first rank that says one, in another mapping of the same file. */
TEST(a_supervisor_finds_what_a_rank_said)
{
    struct job job = start_job((int[]){ 1, 1, 1 });
    flight_recorder_supervise(job.recorder);
    assert_null(flight_recorder_said(job.recorder));
    struct flight_recorder *const rank = flight_recorder_open(job.path, 1);
    flight_recorder_say(rank, "rank 1 gives up", NULL);
    flight_recorder_say(rank, "never said", NULL);
    flight_recorder_close(rank);
    assert_true(flight_recorder_has_spoken(job.recorder));
    assert_string_equal(flight_recorder_said(job.recorder), "rank 1 gives up");
    end_job(&job);
}

/* A rank that enters one collective after the other while this process reads: number and size always belong together. */
TEST(a_call_is_read_whole)
{
    struct job job = start_job((int[RANKS]){ NOWHERE, NOWHERE, NOWHERE });
    pid_t writer = fork();
    if (writer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct flight_recorder *recorder = flight_recorder_open(job.path, 0);
        for (int n = 1;; n = n % 900 + 1) {
            const struct collective_call call = {
                .sequence = n, .ranks = RANKS, .step = n, .bytes = (size_t)n * 1000000
            };
            flight_recorder_enter(recorder, &call);
            for (volatile int work = 0; work < 300; work++)
                ; /* readers need a moment in which nothing is written */
        }
    }
    int reads = 0;
    for (int i = 0; i < 3000; i++) {
        char *text = flight_recorder_text(job.recorder);
        const char *at = strstr(text, "waits in all-reduce ");
        int sequence = 0, megabytes = 0, step = 0;
        if (at && sscanf(at, "waits in all-reduce %d of %d MB (step %d)", &sequence, &megabytes, &step) == 3) {
            if (megabytes != sequence || step != sequence)
                fail_msg("all-reduce %d of %d MB in step %d", sequence, megabytes, step);
            reads++;
        }
        free(text);
    }
    assert_true(reads > 100);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    end_job(&job);
}
