#include "trace_job.h"

#include "base/cores.h"
#include "base/die.h"
#include "base/memory.h"
#include "rank_name.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* Threads take the next file until none is left. */
struct pool {
    struct trace_job *job;
    const char *const *paths;
    const char *step_name;
    atomic_int next;
};

static void *read_files(void *argument)
{
    struct pool *pool = argument;
    for (int i; (i = atomic_fetch_add(&pool->next, 1)) < pool->job->count;) {
        trace_rank_read(&pool->job->ranks[i], pool->paths[i], pool->step_name);
        pool->job->lanes[i] = trace_lane_of(&pool->job->ranks[i]);
    }
    return NULL;
}

static void read_all(struct pool *pool, int cores)
{
    enum { THREADS_MOST = 64 };
    pthread_t threads[THREADS_MOST];
    int started = 0, more = pool->job->count < cores ? pool->job->count - 1 : cores - 1;
    while (started < more && started < THREADS_MOST && pthread_create(&threads[started], NULL, read_files, pool) == 0)
        started++;
    read_files(pool);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

/* --- checks ----------------------------------------------------------------------------------------------------- */

static void check_file(struct trace_rank *rank, const struct trace_lane *lane, const struct trace_options *options,
                       int count)
{
    enum { RANKS_MOST = 1 << 14 };
    if (rank->end == TRACE_REFUSED)
        die(STATUS_USAGE, "%s: %s", rank->path, rank->why);
    if (rank->end == TRACE_CUT && !options->is_partial)
        die(STATUS_USAGE,
            "%s: %s; copy the file again, or give --partial, which counts this rank as missing: events are in no "
            "order, "
            "so any may be lost",
            rank->path, rank->why);
    if (rank->end == TRACE_CUT)
        return;
    if (rank->head.rank < 0)
        rank->head.rank = count == 1 ? 0 : rank_of_name(rank->path);
    if (rank->head.rank < 0 || rank->head.rank >= RANKS_MOST)
        die(STATUS_USAGE,
            "%s: no rank in \"distributedInfo\" nor in the file's name; name it rank0.json, rank1.json and so on",
            rank->path);
    if (lane->last_step < lane->first_step && options->step_name)
        die(STATUS_USAGE, "%s: no range is called '%s'; give --step-name the annotation around a step", rank->path,
            options->step_name);
    if (lane->last_step < lane->first_step)
        die(STATUS_USAGE,
            "%s: no ProfilerStep; call the profiler's step() after each step, or give --step-name an annotation",
            rank->path);
}

static void drop(struct trace_job *job, int i)
{
    trace_rank_close(&job->ranks[i]);
    trace_lane_close(&job->lanes[i]);
    job->count--;
    memmove(&job->ranks[i], &job->ranks[i + 1], (size_t)(job->count - i) * sizeof *job->ranks);
    memmove(&job->lanes[i], &job->lanes[i + 1], (size_t)(job->count - i) * sizeof *job->lanes);
}

static void drop_cut(struct trace_job *job)
{
    const char *path = "";
    for (int i = job->count - 1; i >= 0; i--)
        if (job->ranks[i].end == TRACE_CUT) {
            warn("%s: %s; its rank counts as missing", job->ranks[i].path, job->ranks[i].why);
            path = job->ranks[i].path;
            drop(job, i);
        }
    if (job->count == 0)
        die(STATUS_USAGE, "%s: no other trace is left; copy the file again", path);
}

static void sort(struct trace_job *job)
{
    for (int i = 1; i < job->count; i++)
        for (int j = i; j > 0 && job->ranks[j].head.rank < job->ranks[j - 1].head.rank; j--) {
            struct trace_rank rank = job->ranks[j];
            struct trace_lane lane = job->lanes[j];
            job->ranks[j] = job->ranks[j - 1];
            job->lanes[j] = job->lanes[j - 1];
            job->ranks[j - 1] = rank;
            job->lanes[j - 1] = lane;
        }
}

/* Check that the files are of the ranks of one job. */
static void check_ranks(struct trace_job *job, bool is_partial)
{
    const struct trace_rank *last = &job->ranks[job->count - 1];
    job->world = (int)last->head.rank + 1;
    for (int i = 0; i < job->count; i++) {
        const struct trace_rank *rank = &job->ranks[i];
        if (i > 0 && rank->head.rank == rank[-1].head.rank)
            die(STATUS_USAGE, "%s: of rank %d, as is %s; give each rank's trace once", rank->path, (int)rank->head.rank,
                rank[-1].path);
        if (rank->head.world_size >= 0 && job->ranks[0].head.world_size >= 0 &&
            rank->head.world_size != job->ranks[0].head.world_size)
            die(STATUS_USAGE, "%s: of a job of %lld ranks, but %s is of one of %lld; give the traces of one job",
                rank->path, (long long)rank->head.world_size, job->ranks[0].path,
                (long long)job->ranks[0].head.world_size);
        if (rank->head.world_size > job->world && rank->head.world_size < 1 << 20)
            job->world = (int)rank->head.world_size;
    }
    int missing = 0;
    while (missing < job->count && job->ranks[missing].head.rank == missing)
        missing++;
    if (job->count < job->world && !is_partial)
        die(STATUS_USAGE,
            "%s: of a job of %d ranks, but rank %d%s has no trace here; give all of them, or --partial, and waits are "
            "lower bounds",
            job->ranks[0].path, job->world, missing, job->count + 1 < job->world ? " for one" : "");
}

void trace_files_read(struct trace_job *job, const char *const *paths, const struct trace_options *options)
{
    struct pool pool = { .job = job, .paths = paths, .step_name = options->step_name };
    job->ranks = memory_new((size_t)job->count, sizeof *job->ranks);
    job->lanes = memory_new((size_t)job->count, sizeof *job->lanes);
    read_all(&pool, options->threads ? options->threads : cores_here());
    for (int i = 0; i < job->count; i++)
        check_file(&job->ranks[i], &job->lanes[i], options, job->count);
    drop_cut(job);
    sort(job);
    check_ranks(job, options->is_partial);
}
