/* breaks: measures how often the diagnosis of a hanging job is right: 50 mistakes that lab 09 makes on purpose, drawn by seed.
 *
 * Each is a job of its own: `09_ddp_inside --break WORD` with a drawn mistake, number of ranks, rank, step, and size of buckets. Its one
 * line is right if it names the mistake, the rank and the step; the launcher tells how long after the mistake it came. The same mistakes
 * are then made again by ranks that do not compare their calls (--watch-only): so only what hangs, or what MPI refuses, ends the job.
 *
 * Prints the confusion matrix and the seconds. breaks.csv has a row per job: `compared` (1 or 0), `seed`, `mistake`, `ranks`, `rank`,
 * `step`, `bucket_kb`; `diagnosed`, `right` (1 or 0), `seconds`. --rounds N: N mistakes. */
#include "bench.h"

#include "base/csv.h"
#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/random.h"
#include "jobs.h"
#include "launch/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MISTAKES = 5, NOTHING = MISTAKES, DRAWN = 50, SCRATCH_BYTES = 16 << 20 };
static const char LAB[] = "09_ddp_inside";

/* Mistakes, and the words of a diagnosis by which each is recognised. */
static const struct mistake {
    const char *word, *said, *rank_after, *step_after;
    int step_off; /* the line names the step before */
} mistakes[MISTAKES + 1] = {
    { "left_out", " left out bucket ", "09_ddp_inside: rank ", " in step ", 0 },
    { "order", " calls in another order ", "09_ddp_inside: rank ", " in step ", 0 },
    { "size", " sums another size ", "09_ddp_inside: rank ", " in step ", 0 },
    { "early_exit", " ended after step ", "09_ddp_inside: rank ", " ended after step ", 1 },
    { "crossed_groups", " are crossed: rank ", " are crossed: rank ", ", unlike in step ", 1 },
    { "nothing", NULL, NULL, NULL, 0 },
};

/* A job with one mistake, and its diagnosis. */
struct broken_job {
    int seed, mistake, ranks, rank, step, bucket_kb;
    int diagnosed; /* a mistake, or NOTHING */
    bool is_right;
    double seconds; /* NaN if no line says it */
};

static struct broken_job draw_job(int seed)
{
    static const int caps[] = { 1, 4, 8, 20, 40 };
    struct random random;
    random_seed(&random, (uint64_t)seed);
    struct broken_job job = { .seed = seed, .diagnosed = NOTHING, .seconds = (double)NAN };
    job.mistake = (int)random_below(&random, MISTAKES);
    job.ranks = 2 + (int)random_below(&random, 3);
    job.rank = (int)random_below(&random, (uint32_t)job.ranks);
    job.step = 1 + (int)random_below(&random, 9);
    job.bucket_kb = caps[random_below(&random, sizeof caps / sizeof *caps)];
    return job;
}

/* Return the number behind these words; -1 if they are not there. */
static int number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    return at ? atoi(at + strlen(words)) : -1;
}

/* Read the output of the job. Only one line may name a mistake. */
static void read_diagnosis(struct broken_job *job, const char *text, int status)
{
    int lines = 0;
    for (int i = 0; i < MISTAKES; i++)
        for (const char *at = strstr(text, mistakes[i].said); at; at = strstr(at + 1, mistakes[i].said)) {
            job->diagnosed = i;
            lines++;
        }
    const struct mistake *m = &mistakes[job->diagnosed];
    job->is_right = status == STATUS_WRONG && lines == 1 && job->diagnosed == job->mistake &&
                    number_after(text, m->rank_after) == job->rank &&
                    number_after(text, m->step_after) == job->step - m->step_off;
    const char *seconds = strstr(text, "diagnosed ");
    if (seconds)
        job->seconds = atof(seconds + strlen("diagnosed "));
}

static void run_job(struct broken_job *job, bool compares, const char *said)
{
    const struct ending ending =
        jobs_lab(LAB, said,
                 "--break=%s\n--ranks=%d\n--break-rank=%d\n--break-step=%d\n--bucket-kb=%d\n--batch-size=8\n"
                 "--input-dim=64\n--hidden-dim=64\n--num-classes=10%s",
                 mistakes[job->mistake].word, job->ranks, job->rank, job->step, job->bucket_kb,
                 compares ? "" : "\n--watch-only");
    char *text = file_read(said, NULL);
    read_diagnosis(job, text ? text : "", ending.status);
    free(text);
}

static void put_job(struct csv *csv, const struct broken_job *job, bool compares)
{
    do {
        csv_integer(csv, "compared", compares);
        csv_integer(csv, "seed", job->seed);
        csv_text(csv, "mistake", mistakes[job->mistake].word);
        csv_integer(csv, "ranks", job->ranks);
        csv_integer(csv, "rank", job->rank);
        csv_integer(csv, "step", job->step);
        csv_integer(csv, "bucket_kb", job->bucket_kb);
        csv_text(csv, "diagnosed", mistakes[job->diagnosed].word);
        csv_integer(csv, "right", job->is_right);
        csv_number(csv, "seconds", job->seconds);
    } while (csv_end_row(csv));
    fflush(csv->out);
}

static void print_matrix(const struct broken_job *jobs, int count, bool compares)
{
    int matrix[MISTAKES][MISTAKES + 1] = { { 0 } }, right = 0, within = 0, timed = 0;
    double longest = 0;
    for (int i = 0; i < count; i++) {
        matrix[jobs[i].mistake][jobs[i].diagnosed]++;
        right += jobs[i].is_right;
        within += jobs[i].seconds <= 1;
        timed += !isnan(jobs[i].seconds);
        longest = fmax(longest, jobs[i].seconds);
    }
    printf("  %-16s", compares ? "ranks compare" : "only watched");
    for (int i = 0; i <= MISTAKES; i++)
        printf(" %14s", mistakes[i].word);
    putchar('\n');
    for (int k = 0; k < MISTAKES; k++) {
        printf("  %-16s", mistakes[k].word);
        for (int i = 0; i <= MISTAKES; i++)
            printf(" %14d", matrix[k][i]);
        putchar('\n');
    }
    printf(
        "  %d of %d right, with rank and step; %d of %d within a second of the mistake, the last after %.2f s; %d when "
        "MPI had ended the job\n",
        right, count, within, timed, longest, count - timed);
    fflush(stdout);
}

void bench_breaks(struct bench *bench)
{
    const int count = bench->options.rounds ? bench->options.rounds : DRAWN;
    struct scratch scratch = scratch_open(SCRATCH_BYTES);
    struct file_set files = { 0 };
    struct broken_job *jobs = memory_new((size_t)count, sizeof *jobs);
    char *said = memory_text("%s/said", scratch.folder);
    rows_heading("Mistakes of ranks in lab 09, and their diagnoses");
    struct csv csv = { .out = file_set_begin(&files, bench->options.out, "breaks.csv") };
    fputs(bench->rows.preamble, csv.out);
    for (int compares = 1; compares >= 0; compares--) {
        for (int i = 0; i < count; i++) {
            jobs[i] = draw_job(bench->options.first + i);
            run_job(&jobs[i], compares, said);
            put_job(&csv, &jobs[i], compares);
        }
        print_matrix(jobs, count, compares);
    }
    file_set_commit(&files);
    free(said);
    free(jobs);
    scratch_close(&scratch);
}
