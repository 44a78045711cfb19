/* fuzz_csv.c: read a table (csv.h), then every cell by its column name, as text and as number. */
#include "fuzz.h"

#include "base/csv.h"

#include <stdlib.h>

void fuzz_read(const char *path)
{
    struct csv_table table;
    char why[64];
    if (!csv_read(path, &table, why, sizeof why))
        return;
    double sum = 0;
    for (int row = -1; row <= table.rows; row++)
        for (int column = 0; column < table.columns && column < 8; column++) {
            const char *name = table.cell[column], *text = csv_field(&table, row, name);
            sum += csv_value(&table, row, name);
            sum += text ? csv_find(&table, name, text) : 0;
        }
    static volatile double kept; /* otherwise the compiler would remove the reads */
    kept = sum;
    (void)kept;
    for (int n = 0; n < 3; n++)
        free(csv_comment(&table, "command", n));
    csv_free(&table);
}
