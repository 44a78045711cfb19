/* trace_job: the traces of a job's ranks side by side: which rank a file is of, which steps all ranks have, which calls belong
 * together. trace_clocks.c then compares the ranks' clocks, and trace_case.c makes the timeline.
 *
 * The n-th calls of a group in a step belong together. A step in which the ranks of a group made different calls is left out. */
#ifndef LOCKSTEP_TRACE_JOB_H
#define LOCKSTEP_TRACE_JOB_H

#include "trace_lane.h"

struct trace_options {
    const char *step_name; /* annotation of a step; NULL: ProfilerStep#N */
    bool is_partial;       /* ranks may be missing */
    int threads;           /* that read files; 0: one per core */
};

/* A call, with the rank that made it. After trace_job_open(), `group` of its wait is the job's, 0 for all ranks, and `to` and
 * `from` are indices of ranks. */
struct trace_member {
    struct trace_wait *wait;
    int rank;  /* index */
    int place; /* among the group's calls of the step */
};

/* A collective: the calls that belong together. */
struct trace_collective {
    struct trace_member *member; /* (members) by rank */
    int members;
};

struct trace_job {
    int count;                /* recorded ranks, in rising order */
    struct trace_rank *ranks; /* (count) */
    struct trace_lane *lanes; /* (count) */
    int world;                /* ranks of the job, recorded or not */
    int first_step, last_step;
    struct trace_member *members; /* memory of the collectives */
    struct trace_collective *collectives;
    int collective_count;
    int groups; /* groups are numbered below it */
    int **
        group_ranks; /* (groups) the indices of a group's recorded ranks in the group's own order, -1: not recorded; NULL: unknown */
    int *group_sizes; /* (groups) */
};

/* Read the files, and end the program with one line if they cannot be used: STATUS_USAGE for files, STATUS_WRONG for calls that
 * contradict each other. Warn of what is left out, a line each. */
struct trace_job trace_job_open(const char *const *paths, int count, const struct trace_options *options);
void trace_job_close(struct trace_job *job);

/* Return the number that the job gave a recorded rank. */
static inline int trace_job_rank(const struct trace_job *job, int index)
{
    return (int)job->ranks[index].head.rank;
}

/* trace_files.c: read all files, several at a time; sort them by rank and check that they are of one job. A trace without
 * "distributedInfo" is of the rank in its name (rank_name.h); a single one of rank 0. */
void trace_files_read(struct trace_job *job, const char *const *paths, const struct trace_options *options);

/* trace_groups.c: number the job's groups. Change the calls' groups and ranks from those of a trace to those of the job. */
void trace_groups_settle(struct trace_job *job);

#endif
