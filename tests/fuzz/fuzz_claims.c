/* fuzz_claims.c: evaluate a claim (tools/claims/expression). The first two lines of the input are a quantity and a value, the
 * rest is the table that they refer to. */
#include "fuzz.h"

#include "base/csv.h"
#include "base/files.h"
#include "claims/expression.h"

#include <stdlib.h>
#include <string.h>

static void compare(const struct csv_table *table, const char *quantity, const char *value)
{
    for (enum relation relation = EQUAL; relation <= SAME; relation++)
        for (int row = -1; row < table->rows && row < 2; row++) {
            struct reading reading = { .table = table, .row = row };
            struct sides shown;
            expression_holds(&reading, quantity, relation, value, 0.1, &shown);
        }
}

void fuzz_read(const char *path)
{
    struct csv_table table;
    char why[256], *text = file_read(path, NULL), *rest = text;
    const char *quantity = strsep(&rest, "\n"), *value = strsep(&rest, "\n");
    if (value && csv_read(path, &table, why, sizeof why)) { /* the table's comments may hold settings */
        compare(&table, quantity[0] == '#' ? quantity + 1 : quantity, value[0] == '#' ? value + 1 : value);
        csv_free(&table);
    }
    free(text);
}
