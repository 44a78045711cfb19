#include "rounds.h"

#include "analysis/culprits.h"
#include "base/die.h"
#include "base/memory.h"
#include "base/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Return the first row with the same text in these columns as `row`. */
static int first_alike(const struct csv_table *table, int row, const char *const *columns)
{
    for (int first = 0; first < row; first++) {
        bool is_alike = true;
        for (int i = 0; columns[i]; i++)
            is_alike &= strcmp(csv_field(table, first, columns[i]), csv_field(table, row, columns[i])) == 0;
        if (is_alike)
            return first;
    }
    return row;
}

struct rounds rounds_open(const char *path, const char *lab)
{
    static const char *const columns[] = { "case",        "round",       "slowest_step_ms", "launch",
                                           "local_drift", "taken_share", "is_disturbed",    NULL };
    if (access(path, F_OK) != 0)
        die(STATUS_USAGE, "%s is missing; run build/bin/%s again", path, lab);
    struct rounds rounds = { .table = csv_open(path, columns) };
    rounds.of_row = memory_new((size_t)rounds.table.rows + 1, sizeof *rounds.of_row);
    for (int row = 0; row < rounds.table.rows; row++) {
        int first = first_alike(&rounds.table, row, (const char *const[]){ "launch", "round", NULL });
        rounds.of_row[row] = first < row ? rounds.of_row[first] : rounds.count++;
        rounds.launches += first_alike(&rounds.table, row, (const char *const[]){ "launch", NULL }) == row;
    }
    return rounds;
}

void rounds_close(struct rounds *rounds)
{
    csv_free(&rounds->table);
    free(rounds->of_row);
}

int rounds_row(const struct rounds *rounds, int index, const char *name)
{
    const struct csv_table *table = &rounds->table;
    for (int row = csv_find(table, "case", name); row >= 0 && row < table->rows; row++)
        if (rounds->of_row[row] == index && strcmp(csv_field(table, row, "case"), name) == 0)
            return row;
    return -1;
}

double rounds_mean(const struct rounds *rounds, const char *name, const char *column)
{
    const struct csv_table *table = &rounds->table;
    double sum[2] = { 0, 0 }; /* of undisturbed and of all rounds */
    int count[2] = { 0, 0 };
    for (int row = 0; row < table->rows; row++) {
        double value = csv_value(table, row, column);
        if (strcmp(csv_field(table, row, "case"), name) != 0 || isnan(value))
            continue;
        for (int all = csv_value(table, row, "is_disturbed") > 0; all < 2; all++) {
            sum[all] += value;
            count[all]++;
        }
    }
    int all = count[0] == 0;
    return count[all] > 0 ? sum[all] / count[all] : (double)NAN;
}

/* Read the charge of each rank in a round of a case: caused (ranks), in milliseconds per step. What is charged to others is spread
 * evenly over them. Return the largest charge; NaN if the row has none or is disturbed. */
static double read_charges(const struct csv_table *table, int row, const char *name, double *caused, int ranks)
{
    const double rank = csv_value(table, row, "charged_rank"), most = csv_value(table, row, "charged_ms"),
                 all = csv_value(table, row, "charged_total_ms");
    if (strcmp(csv_field(table, row, "case"), name) != 0 || csv_value(table, row, "is_disturbed") > 0 ||
        !(rank >= 0 && rank < ranks))
        return NAN;
    for (int other = 0; other < ranks; other++)
        caused[other] = other == (int)rank ? most : (all - most) / (ranks - 1);
    return most;
}

int rounds_blamed(const struct rounds *rounds, const char *name, const char *usual, int ranks)
{
    const struct csv_table *table = &rounds->table;
    double *caused = memory_new(2 * (size_t)ranks, sizeof *caused), *sum = caused + ranks,
           *without = memory_new((size_t)table->rows + 1, sizeof *without);
    struct culprits culprits;
    struct charges charges = { .caused = sum };
    int count = 0, usual_count = 0;
    bool is_too_short = false;
    if (ranks < 2 || csv_column(table, "charged_rank") < 0)
        ranks = 0;
    culprits_open(&culprits, ranks, 1);
    for (int row = 0; ranks && row < table->rows; row++) {
        if (!isnan(read_charges(table, row, name, caused, ranks))) {
            culprits_add_round(&culprits, caused, 1);
            for (int rank = 0; rank < ranks; rank++)
                sum[rank] += caused[rank];
            charges.rank_seconds += ranks * csv_value(table, row, "slowest_step_ms");
            count++;
        }
        const double most = read_charges(table, row, usual, caused, ranks);
        if (!isnan(most) && strcmp(name, usual) != 0)
            without[usual_count++] = most;
    }
    charges.usual = usual_count > 0 ? count * stats_quantile(without, usual_count, 0.95) : 0;
    const int blamed = count > 0 ? culprits_judge(&culprits, &charges, &is_too_short) : -1;
    culprits_close(&culprits);
    free(without);
    free(caused);
    return blamed;
}

/* Speed of the machine in a round: logarithms of local_drift, summed over its undisturbed cases. */
struct speed {
    double sum;
    int cases; /* 0: unknown */
    int launch;
};

static double mean_in_launch(const struct speed *speed, int rounds, int launch)
{
    double sum = 0;
    int known = 0;
    for (int round = 0; round < rounds; round++)
        if (speed[round].cases > 0 && speed[round].launch == launch) {
            sum += speed[round].sum / speed[round].cases;
            known++;
        }
    return sum / known;
}

double rounds_drift(const struct rounds *rounds)
{
    static const double left_out = 0.125; /* at either end */
    struct speed *speed = memory_new((size_t)rounds->count + 1, sizeof *speed);
    double *relative = memory_new((size_t)rounds->count + 1, sizeof *relative);
    int count = 0;
    for (int row = 0; row < rounds->table.rows; row++) {
        const double drift = csv_value(&rounds->table, row, "local_drift");
        if (!(drift > 0) || csv_value(&rounds->table, row, "is_disturbed") > 0)
            continue;
        struct speed *s = &speed[rounds->of_row[row]];
        s->launch = (int)csv_value(&rounds->table, row, "launch");
        s->sum += log(drift);
        s->cases++;
    }
    for (int round = 0; round < rounds->count; round++)
        if (speed[round].cases > 0)
            relative[count++] =
                speed[round].sum / speed[round].cases - mean_in_launch(speed, rounds->count, speed[round].launch);
    const double changed =
        count > 0 ? exp(stats_quantile(relative, count, 1 - left_out) - stats_quantile(relative, count, left_out)) : 1;
    free(relative);
    free(speed);
    return changed;
}
