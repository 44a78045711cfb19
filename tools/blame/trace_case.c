#include "trace_case.h"

#include "base/die.h"
#include "base/memory.h"
#include "spans_parts.h"
#include "trace_clocks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool trace_is_trace(const char *path)
{
    unsigned char head[4] = { 0 };
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    size_t at = 0;
    while (at < got && strchr(" \t\r\n", head[at]))
        at++;
    return (got > 1 && head[0] == 0x1f && head[1] == 0x8b) || (at < got && (head[at] == '{' || head[at] == '['));
}

/* --- one rank's rows -------------------------------------------------------------------------------------------- */

static int compare_ends(const void *a, const void *b)
{
    const struct trace_wait *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* The phases and calls of a rank in the common steps. `waits` is a copy in order of the ends. */
struct lane {
    struct trace_phase *phases; /* (phase_count) */
    int phase_count;
    struct trace_wait *waits; /* (wait_count) */
    int wait_count;
};

static struct lane cut(const struct trace_job *job, int rank)
{
    const struct trace_lane *all = &job->lanes[rank];
    struct lane lane = { .phases = all->phases };
    int begin = 0;
    while (begin < all->phase_count && all->phases[begin].step < job->first_step)
        begin++;
    lane.phases += begin;
    while (begin + lane.phase_count < all->phase_count && lane.phases[lane.phase_count].step <= job->last_step)
        lane.phase_count++;
    lane.waits = memory_new((size_t)all->wait_count + 1, sizeof *lane.waits);
    for (int i = 0; i < all->wait_count; i++)
        if (all->waits[i].step >= job->first_step && all->waits[i].step <= job->last_step)
            lane.waits[lane.wait_count++] = all->waits[i];
    qsort(lane.waits, (size_t)lane.wait_count, sizeof *lane.waits, compare_ends);
    return lane;
}

/* A rank waits for one collective after the other, and not before its first phase. */
static void order_waits(struct lane *lane)
{
    int64_t before = lane->phases[0].start;
    for (int i = 0; i < lane->wait_count; i++) {
        struct trace_wait *wait = &lane->waits[i];
        wait->end = wait->end > before ? wait->end : before;
        wait->entered = wait->entered > before ? wait->entered : before;
        wait->entered = wait->entered < wait->end ? wait->entered : wait->end;
        wait->start = wait->start < wait->entered ? wait->start : wait->entered;
        before = wait->end;
    }
}

/* A rank that waits does nothing else, so the phase in which it begins to wait lasts until the end. The next ones become shorter. */
static void extend_phases(struct lane *lane)
{
    int at = 0;
    for (int i = 0; i < lane->wait_count; i++) {
        const struct trace_wait *wait = &lane->waits[i];
        while (at + 1 < lane->phase_count && lane->phases[at + 1].start <= wait->entered)
            at++;
        if (lane->phases[at].end >= wait->end)
            continue;
        lane->phases[at].end = wait->end;
        for (int next = at + 1; next < lane->phase_count && lane->phases[next].start < wait->end; next++) {
            lane->phases[next].start = wait->end;
            lane->phases[next].end = lane->phases[next].end > wait->end ? lane->phases[next].end : wait->end;
        }
    }
}

/* --- all rows --------------------------------------------------------------------------------------------------- */

struct rows {
    struct spans_row *at;
    int count;
    int64_t origin; /* ns: time 0 */
};

static double seconds(const struct rows *rows, int64_t time)
{
    return 1e-9 * (double)(time - rows->origin);
}

static void add_phase(struct rows *rows, int rank, const struct trace_phase *phase)
{
    struct span span = { .start = seconds(rows, phase->start),
                         .end = seconds(rows, phase->end),
                         .step = phase->step,
                         .kind = phase->kind,
                         .sequence = -1,
                         .to = -1,
                         .from = -1 };
    span.entered = span.start;
    rows->at[rows->count++] = (struct spans_row){ .span = span, .rank = rank, .is_measured = true };
}

static void add_wait(struct rows *rows, int rank, const struct trace_wait *wait)
{
    struct span span = { .start = seconds(rows, wait->start),
                         .entered = seconds(rows, wait->entered),
                         .end = seconds(rows, wait->end),
                         .step = wait->step,
                         .kind = wait->kind,
                         .bytes = wait->bytes,
                         .group = (int16_t)wait->group,
                         .sequence = -1,
                         .to = wait->to,
                         .from = wait->from,
                         .progressed = true }; /* by gloo's threads, or NCCL's own stream */
    rows->at[rows->count++] = (struct spans_row){ .span = span, .rank = rank, .is_measured = true };
}

static struct rows make_rows(const struct trace_job *job)
{
    struct rows rows = { .origin = INT64_MAX };
    struct lane *lanes = memory_new((size_t)job->count, sizeof *lanes);
    size_t all = 0;
    for (int r = 0; r < job->count; r++) {
        lanes[r] = cut(job, r);
        order_waits(&lanes[r]);
        extend_phases(&lanes[r]);
        all += (size_t)lanes[r].phase_count + (size_t)lanes[r].wait_count;
        rows.origin = lanes[r].phases[0].start < rows.origin ? lanes[r].phases[0].start : rows.origin;
    }
    rows.at = memory_new(all, sizeof *rows.at);
    for (int r = 0; r < job->count; r++) {
        int begin = rows.count;
        for (int i = 0; i < lanes[r].phase_count; i++)
            add_phase(&rows, r, &lanes[r].phases[i]);
        for (int i = 0; i < lanes[r].wait_count; i++)
            add_wait(&rows, r, &lanes[r].waits[i]);
        spans_rows_sort(rows.at + begin, rows.count - begin);
        free(lanes[r].waits);
    }
    free(lanes);
    return rows;
}

/* --- broadcasts ------------------------------------------------------------------------------------------------- */

/* Traces do not name a broadcast's root. No rank has the data before the root enters, so of the ranks of a group the root is the first
 * one, in the group's order, for which this holds in all broadcasts; DDP's is the group's first. Return its index, -1 if none. */
static int root_of(const struct trace_job *job, int group, double error)
{
    const int *ranks = job->group_ranks[group];
    int size = ranks ? job->group_sizes[group] : job->count;
    for (int i = 0; i < size; i++) {
        int root = ranks ? ranks[i] : i;
        bool is_possible = root >= 0;
        for (int n = 0; is_possible && n < job->collective_count; n++) {
            const struct trace_collective *m = &job->collectives[n];
            const struct trace_wait *sent = NULL;
            if (m->member[0].wait->group != group || m->member[0].wait->kind != SPAN_BROADCAST)
                continue;
            for (int k = 0; k < m->members; k++)
                sent = m->member[k].rank == root ? m->member[k].wait : sent;
            is_possible = sent != NULL;
            for (int k = 0; is_possible && k < m->members; k++)
                is_possible = m->member[k].wait->end >= sent->start - (int64_t)(1e9 * error);
        }
        if (is_possible)
            return root;
    }
    return -1;
}

/* Find the roots of all broadcasts. Return false if one is unknown: then only `exposed` is known. */
static bool find_roots(const struct trace_job *job, double error)
{
    static const double stamp_error = 1e-3;
    int *roots = memory_new((size_t)job->groups, sizeof *roots); /* plus two; 0: not asked yet */
    bool are_known = true;
    for (int n = 0; n < job->collective_count; n++) {
        const struct trace_collective *m = &job->collectives[n];
        int group = m->member[0].wait->group;
        if (m->member[0].wait->kind != SPAN_BROADCAST)
            continue;
        if (roots[group] == 0)
            roots[group] = 2 + root_of(job, group, error + stamp_error);
        int root = roots[group] - 2;
        are_known &= root >= 0;
        for (int i = 0; i < m->members; i++)
            m->member[i].wait->from = (int16_t)(m->member[i].rank == root ? -1 : root);
    }
    free(roots);
    return are_known;
}

/* --- the case --------------------------------------------------------------------------------------------------- */

/* Write comment lines as at the head of a spans.csv: where the spans come from, and what was assumed. */
static char *head_of(const struct trace_job *job, const struct trace_clocks *clocks, double error)
{
    char *text;
    size_t size;
    FILE *out = memory_stream(&text, &size);
    fprintf(out, "# traces: %d of %d ranks, steps %d to %d\n", job->count, job->world, job->first_step, job->last_step);
    fprintf(out, "# times: of the %s\n", job->lanes[0].is_gpu ? "GPU's compute stream" : "CPU");
    if (clocks->are_kernels)
        fprintf(out, "# clocks: shifted by up to %.3f ms, so that NCCL's kernels end together\n",
                1e3 * clocks->largest_offset);
    else if (!clocks->are_one)
        fprintf(out, "# clocks: shifted by up to %.3f ms, error %.3f ms by the bounds of the collectives\n",
                1e3 * clocks->largest_offset, 1e3 * error);
    fclose(out);
    return text;
}

static char *file_names(const char *const *paths, int count)
{
    const char *last = strrchr(paths[count - 1], '/');
    return count == 1 ? memory_text("%s", paths[0])
                      : memory_text("%s … %s", paths[0], last ? last + 1 : paths[count - 1]);
}

/* Return the names of the ranks' hosts; NULL if a trace has none. */
static char **hosts_of(const struct trace_job *job)
{
    for (int r = 0; r < job->count; r++)
        if (job->ranks[r].head.host[0] == '\0')
            return NULL;
    char **hosts = memory_new((size_t)job->count, sizeof *hosts);
    for (int r = 0; r < job->count; r++)
        hosts[r] = memory_text("%s", job->ranks[r].head.host);
    return hosts;
}

struct spans_file *trace_case_open(const char *const *paths, int count, const struct trace_options *options,
                                   const struct spans_wishes *wishes)
{
    struct trace_job job = trace_job_open(paths, count, options);
    struct trace_clocks clocks = trace_clocks_settle(&job);
    struct spans_wishes effective = *wishes;
    if (isnan(effective.clock_error))
        effective.clock_error = clocks.error;
    effective.shows_peers = find_roots(&job, effective.clock_error);
    effective.skip_first_steps = wishes->skip_first_steps < 0 ? 0 : wishes->skip_first_steps;
    struct spans_file *file = memory_new(1, sizeof *file);
    file->path = file->own_path = file_names(paths, count);
    file->table.text = head_of(&job, &clocks, effective.clock_error);
    file->count = 1;
    struct rows rows = make_rows(&job);
    struct spans_case *made = &file->cases[0];
    *made = (struct spans_case){ .name = "job", .ranks = job.count, .count = 1 };
    made->blocks = memory_new(1, sizeof *made->blocks);
    made->blocks[0] = spans_block_of(file, made, rows.at, rows.count, &effective, false);
    made->hosts = hosts_of(&job);
    file->missing_ranks = job.world - job.count;
    file->rank_numbers = memory_new((size_t)job.count, sizeof *file->rank_numbers);
    for (int r = 0; r < job.count; r++)
        file->rank_numbers[r] = trace_job_rank(&job, r);
    made->blocks[0].timeline.numbers = file->rank_numbers;
    free(rows.at);
    free(clocks.offsets);
    trace_job_close(&job);
    return file;
}
