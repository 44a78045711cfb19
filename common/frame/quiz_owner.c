#include "frame/quiz_owner.h"

#include "base/csv.h"
#include "base/ledger.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double LEAST_SHARE = 0.01; /* growth of an owner, of the sum in the baseline */

/* A pool keeps cached memory for its next user; until then no owner uses it. */
static bool is_asked(int owner)
{
    return owner != MEMORY_PROGRAM && owner != MEMORY_CACHED;
}

int quiz_owner_that_grew(const struct lab_spec *spec, const struct options *base, const struct variant *variant)
{
    const struct memory_estimate before = lab_spec_case_need(spec, base, spec->variants),
                                 after = lab_spec_case_need(spec, base, variant);
    double most = LEAST_SHARE * memory_estimate_sum(&before);
    int which = -1;
    for (int owner = 0; owner < MEMORY_OWNERS; owner++) {
        const double grown = after.of[owner] - before.of[owner];
        if (!is_asked(owner) || grown < most)
            continue;
        most = grown;
        which = owner;
    }
    return which;
}

int quiz_owner_called(const char *word)
{
    for (int owner = 0; owner < MEMORY_OWNERS; owner++)
        if (is_asked(owner) && strcasecmp(word, memory_owner_names[owner]) == 0)
            return owner;
    return -1;
}

/* Return the sum over all places of what an owner of rank 0 held at the peak of a case, in MB. */
static double held_mb(const struct csv_table *memory, const char *name, const char *owner)
{
    double sum = 0;
    for (int row = 0; row < memory->rows; row++)
        if (strcmp(csv_field(memory, row, "case"), name) == 0 && csv_value(memory, row, "rank") == 0 &&
            strcmp(csv_field(memory, row, "owner"), owner) == 0 && isnan(csv_value(memory, row, "layer")))
            sum += csv_value(memory, row, "at_peak_mb");
    return sum;
}

void quiz_owner_show(const char *folder, const char *baseline, const char *hidden)
{
    static const char *const columns[] = { "case", "rank", "owner", "layer", "at_peak_mb", NULL };
    char *path = memory_text("%s/memory.csv", folder);
    struct csv_table memory = csv_open(path, columns);
    printf("\nMB at the peak of a step on rank 0%13s%13s\n", baseline, hidden);
    for (int owner = 0; owner < MEMORY_OWNERS; owner++) {
        const char *name = memory_owner_names[owner];
        const double before = held_mb(&memory, baseline, name), after = held_mb(&memory, hidden, name);
        if (is_asked(owner) && (before > 0 || after > 0))
            printf("  %-32s%13.3f%13.3f\n", name, before, after);
    }
    csv_free(&memory);
    free(path);
}
