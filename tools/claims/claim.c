#include "claim.h"

#include "base/die.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *const needs_words[] = { [NEEDS_ANY] = "any",
                                           [NEEDS_CORES] = "cores>=ranks",
                                           [NEEDS_SEVERAL] = "ranks>1",
                                           [NEEDS_CPU] = "cpu",
                                           [NEEDS_REAL] = "real",
                                           [NEEDS_SIM] = "sim",
                                           [NEEDS_MODEL] = "model",
                                           [NEEDS_GPU] = "gpu",
                                           [NEEDS_ARRIVALS] = "arrivals",
                                           [NEEDS_PUBLISHED] = "published",
                                           NULL };
const char *const relation_words[] = {
    [EQUAL] = "=", [NEAR] = "~",      [EXTRA] = "extra", [LESS] = "<", [AT_MOST] = "<=",
    [MORE] = ">",  [AT_LEAST] = ">=", [SAME] = "same",   NULL
};
const char *const kind_words[] = { "exact", "formula", "sim", "ratio", "shape", "example", NULL };

struct claim_file claim_file_open(char *path)
{
    static const char *const columns[] = { "id",    "case",      "needs", "quantity", "relation",
                                           "value", "tolerance", "kind",  "why",      NULL };
    return (struct claim_file){ .path = path, .table = csv_open(path, columns) };
}

void claim_file_close(struct claim_file *file)
{
    csv_free(&file->table);
    free(file->path);
}

_Noreturn void claim_die(const struct claim_file *file, int row, const char *what, const char *which, const char *cure)
{
    die(STATUS_USAGE, "%s:%d: %s '%s'; %s", file->path, file->table.line[row + 1], what, which, cure);
}

static const char *text_of(const struct claim_file *file, int row, const char *column)
{
    const char *text = csv_field(&file->table, row, column);
    if (!*text)
        claim_die(file, row, "blank column", column, "only the tolerance may be blank");
    return text;
}

static int choice_of(const struct claim_file *file, int row, const char *column, const char *const *words)
{
    const char *text = text_of(file, row, column);
    int index = 0;
    while (words[index] && strcmp(words[index], text) != 0)
        index++;
    if (!words[index])
        claim_die(file, row, memory_text("unknown %s", column), text, "tools/claims/claims.c opens with the list");
    return index;
}

bool claim_must_hold(const struct claim *claim)
{
    return claim->kind == EXACT || claim->kind == FORMULA || claim->kind == SIM;
}

bool claim_is_blame(const struct claim *claim)
{
    const char *dot = strrchr(claim->quantity, '.');
    return claim->relation == EQUAL && strcmp(dot ? dot + 1 : claim->quantity, "blamed_rank") == 0;
}

int claim_find(const struct claim_file *file, const char *id)
{
    return csv_find(&file->table, "id", id);
}

bool claim_is_together(const struct claim *claim)
{
    return strcmp(claim->name, "all") == 0 || strncmp(claim->name, "all but ", strlen("all but ")) == 0;
}

bool claim_leaves_out(const struct claim *claim, const char *name)
{
    const size_t length = strlen(name);
    for (const char *word = claim->name; *word; word += strcspn(word, " "), word += strspn(word, " "))
        if (strcspn(word, " ") == length && strncmp(word, name, length) == 0)
            return true;
    return false;
}

/* End the program if relation, tolerance and kind do not go together. */
static void check(const struct claim_file *file, int row, const struct claim *claim)
{
    const char *tolerance = csv_field(&file->table, row, "tolerance");
    bool is_about_time = claim->kind == RATIO || claim->kind == SHAPE;
    bool is_wrong = *tolerance ? claim->relation > EXTRA || !(claim->tolerance >= 0)
                               : claim->relation == NEAR || claim->relation == EXTRA;
    if (is_wrong)
        claim_die(file, row, "wrong tolerance", tolerance,
                  "= may have one, ~ and extra need one, the others take none");
    if (is_about_time && (claim->relation == SAME || (claim->relation == EQUAL && !claim_is_blame(claim))))
        claim_die(file, row, "wrong relation", relation_words[claim->relation],
                  "time varies: use ~, extra, < or >; = is for blamed_rank");
    if (claim_is_together(claim) && (claim->relation != NEAR || claim->kind != RATIO))
        claim_die(file, row, "wrong relation or kind for all cases together:", relation_words[claim->relation],
                  "use ~ and ratio");
}

struct claim claim_read(const struct claim_file *file, int row)
{
    const char *tolerance = csv_field(&file->table, row, "tolerance");
    struct claim claim = {
        .id = text_of(file, row, "id"),
        .name = text_of(file, row, "case"),
        .needs = (enum needs)choice_of(file, row, "needs", needs_words),
        .quantity = text_of(file, row, "quantity"),
        .relation = (enum relation)choice_of(file, row, "relation", relation_words),
        .value = text_of(file, row, "value"),
        .tolerance = *tolerance ? csv_value(&file->table, row, "tolerance") : 0,
        .kind = (enum kind)choice_of(file, row, "kind", kind_words),
        .why = text_of(file, row, "why"),
    };
    check(file, row, &claim);
    if (claim_find(file, claim.id) < row)
        claim_die(file, row, "a second claim", claim.id, "an id is used once");
    return claim;
}
