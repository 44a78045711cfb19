#include "flight.h"

#include "base/die.h"
#include "base/memory.h"
#include "base/rank_list.h"
#include "flight_arrivals.h"
#include "flight_diagnosis.h"
#include "flight_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char flag[] = "--flight";

bool flight_is_meant(int argc, char **argv)
{
    return argc > 1 && (strcmp(argv[1], flag) == 0 || (argv[1][0] != '-' && flight_file_is_dump(argv[1])));
}

static int compare_dumps(const void *a, const void *b)
{
    return ((const struct flight_dump *)a)->rank - ((const struct flight_dump *)b)->rank;
}

/* Read the files; refuse other words, and two files of one rank. */
static struct flight_dump *read_dumps(char **words, int count)
{
    if (count < 1)
        die(STATUS_USAGE, "%s needs the dumps of all ranks, as in blame %s dump_rank*.json", flag, flag);
    struct flight_dump *dumps = memory_new((size_t)count, sizeof *dumps);
    for (int i = 0; i < count; i++) {
        if (words[i][0] == '-')
            die(STATUS_USAGE, "%s: dumps of a flight recorder take no options; name the files only", words[i]);
        dumps[i] = flight_file_read(words[i]);
    }
    qsort(dumps, (size_t)count, sizeof *dumps, compare_dumps);
    for (int i = 1; i < count; i++)
        if (dumps[i].rank == dumps[i - 1].rank)
            die(STATUS_USAGE, "%s and %s are both of rank %d by their names; name one file for each rank",
                dumps[i - 1].path, dumps[i].path, dumps[i].rank);
    return dumps;
}

/* Print the numbers of dumps and groups, and the ranks of a group that left no dump. */
static void print_head(const struct flight_job *job)
{
    int *absent = NULL, count = 0;
    printf("Flight recorders of %d rank%s, %d group%s.\n", job->dumps, job->dumps == 1 ? "" : "s", job->teams,
           job->teams == 1 ? "" : "s");
    for (int i = 0; i < job->teams; i++) {
        const struct flight_team *team = &job->team[i];
        absent = memory_grow(absent, ((size_t)team->members + 1) * sizeof *absent);
        count = 0;
        for (int m = 0; m < team->members; m++)
            if (!team->member[m].has_dump)
                absent[count++] = team->member[m].rank;
        if (count == 0)
            continue;
        printf("No dump of ");
        rank_list_print(stdout, absent, count);
        printf(" of group %s: died or exited before, or not given. What is missing there is not seen.\n", team->name);
    }
    free(absent);
    if (job->messages > 0)
        printf("%d message%s (send, recv) are not compared.\n", job->messages, job->messages == 1 ? "" : "s");
}

int flight_main(int argc, char **argv)
{
    int skipped = strcmp(argv[1], flag) == 0 ? 2 : 1, count = argc - skipped;
    struct flight_dump *dumps = read_dumps(argv + skipped, count);
    struct flight_job job = flight_job_of(dumps, count);
    bool is_well = false;
    print_head(&job);
    enum flight_verdict verdict = flight_diagnose(stdout, &job, &is_well);
    if (is_well) {
        printf("All of them called the same collectives.\n");
        flight_arrivals_print(stdout, &job);
    }
    flight_job_close(&job);
    for (int i = 0; i < count; i++)
        flight_file_close(&dumps[i]);
    free(dumps);
    return (int)verdict;
}
