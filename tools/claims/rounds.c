#include "rounds.h"

#include "base/die.h"
#include "base/memory.h"

#include <math.h>
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
    static const char *const columns[] = { "case", "round", "slowest_step_ms", NULL };
    static const char *const newer[] = { "launch", "local_drift", "taken_share", "is_disturbed" };
    if (access(path, F_OK) != 0)
        die(STATUS_USAGE, "%s is missing; run build/bin/%s again", path, lab);
    struct rounds rounds = { .table = csv_open(path, columns) };
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
        if (csv_column(&rounds.table, newer[i]) < 0)
            die(STATUS_USAGE, "%s is of an older version (no column %s); run build/bin/%s again", path, newer[i], lab);
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

double rounds_drift(const struct rounds *rounds)
{
    double least = INFINITY, most = 0;
    for (int round = 0; round < rounds->count; round++) {
        double sum = 0;
        int cases = 0;
        for (int row = 0; row < rounds->table.rows; row++) {
            const double drift = csv_value(&rounds->table, row, "local_drift");
            if (rounds->of_row[row] != round || !(drift > 0) || csv_value(&rounds->table, row, "is_disturbed") > 0)
                continue;
            sum += log(drift);
            cases++;
        }
        least = cases ? fmin(least, exp(sum / cases)) : least;
        most = cases ? fmax(most, exp(sum / cases)) : most;
    }
    return most > 0 ? most / least : 1;
}
