#include "template.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The sections, and words of which a section must have one each: a bridge from the fault to the tools that a reader has. */
static const struct {
    const char *heading, *needs[3];
} sections[] = {
    { "## 1. In one sentence", { 0 } },
    { "## 2. Symptom in your job", { "HTA", "nsys", "light recorder" } },
    { "## 3. Predict", { 0 } },
    { "## 4. Run", { 0 } },
    { "## 5. What was injected", { 0 } },
    { "## 6. Model", { 0 } },
    { "## 7. Result", { 0 } },
    { "## 8. Why", { 0 } },
    { "## 9. Fix, and its price", { "DDP|PyTorch|torch.", 0 } },
    { "## 10. Exercises", { 0 } },
    { "## 11. Limits", { 0 } },
};
enum { SECTIONS = sizeof sections / sizeof *sections };

/* Return the heading's block from `from` on; -1 if it is not above the rule. */
static int find_heading(const struct lesson_text *text, int from, const char *heading)
{
    const size_t length = strlen(heading);
    for (int i = from; i < text->block_count; i++) {
        const struct block *block = &text->blocks[i];
        const char *line = text->raw + block->begin;
        if (block->kind == BLOCK_HEADING && block->is_above && strncmp(line, heading, length) == 0 &&
            strchr(" \n", line[length]))
            return i;
    }
    return -1;
}

/* True if a stretch of the text has one of the words, which | separates. */
static bool has_one(const char *raw, size_t begin, size_t end, const char *words)
{
    char *stretch = memory_text("%.*s", (int)(end - begin), raw + begin), *list = memory_text("%s", words),
         *rest = list;
    bool has = false;
    for (char *word; (word = strsep(&rest, "|"));)
        has |= strstr(stretch, word) != NULL;
    free(stretch);
    free(list);
    return has;
}

static void check_sections(struct check *check)
{
    const struct lesson_text *text = check->text;
    int at[SECTIONS + 1], from = 0;
    for (int i = 0; i < SECTIONS; i++) {
        at[i] = find_heading(text, from, sections[i].heading);
        if (at[i] < 0) {
            complain(check, 0, "no '%s' here above the rule; docs/lessons.md lists the sections", sections[i].heading);
            return;
        }
        from = at[i] + 1;
    }
    for (int i = 0; i < SECTIONS; i++) {
        const size_t begin = text->blocks[at[i]].begin,
                     end = i + 1 < SECTIONS ? text->blocks[at[i + 1]].begin : text->size;
        for (int k = 0; k < 3 && sections[i].needs[k]; k++)
            if (!has_one(text->raw, begin, end, sections[i].needs[k]))
                complain(check, begin, "'%s' says nothing of %s", sections[i].heading, sections[i].needs[k]);
    }
}

/* --- cases ---------------------------------------------------------------------------------------------------------- */

struct cases {
    char *name[64];
    int count;
};

static void add_case(struct cases *cases, const char *name, size_t length)
{
    for (int i = 0; i < cases->count; i++)
        if (strlen(cases->name[i]) == length && strncmp(cases->name[i], name, length) == 0)
            return;
    if (length > 0 && cases->count < (int)(sizeof cases->name / sizeof *cases->name))
        cases->name[cases->count++] = memory_text("%.*s", (int)length, name);
}

/* Add the cases of a table or of lanes: rows "row: CASE | …" or "row: case=CASE …". Rows of other tables name no cases. */
static void add_rows(struct cases *cases, const char *marker)
{
    for (const char *row = marker; (row = strstr(row, "\nrow:"));) {
        row += strlen("\nrow:");
        row += strspn(row, " ");
        const size_t length = strcspn(row, " |\n");
        const char *equals = memchr(row, '=', length);
        if (!equals)
            add_case(cases, row, length);
        else if (strncmp(row, "case=", 5) == 0)
            add_case(cases, row + 5, length - 5);
    }
}

/* Add the cases of "lanes [WHERE:] CASE…". */
static void add_lanes(struct cases *cases, const char *words)
{
    const char *colon = strchr(words, ':');
    if (strchr(words, '\n'))
        return; /* their rows have been added */
    for (const char *at = colon ? colon + 1 : words; *at;) {
        at += strspn(at, " ");
        const size_t length = strcspn(at, " ");
        add_case(cases, at, length);
        at += length;
    }
}

/* Return the byte where the first block below the rule begins; the size of the text if there is none. */
static size_t end_above(const struct lesson_text *text)
{
    for (int i = 0; i < text->block_count; i++)
        if (!text->blocks[i].is_above)
            return text->blocks[i].begin;
    return text->size;
}

static void check_cases(struct check *check)
{
    const struct lesson_text *text = check->text;
    struct cases cases = { .count = 0 };
    const size_t end = end_above(text);
    for (int i = 0; i < text->comment_count && text->comments[i].begin < end; i++) {
        const struct comment *comment = &text->comments[i];
        const char *lanes = comment_after(comment, "lanes");
        if (lanes || comment_after(comment, "table"))
            add_rows(&cases, comment->text);
        if (lanes)
            add_lanes(&cases, lanes);
    }
    if (cases.count > TEMPLATE_CASES)
        complain(check, 0, "%d cases in tables and lanes above the rule, %d at most", cases.count, TEMPLATE_CASES);
    while (cases.count > 0)
        free(cases.name[--cases.count]);
}

/* --- the page ------------------------------------------------------------------------------------------------------- */

/* The report puts tables of the reader's own run into these places. */
static void check_places(struct check *check)
{
    static const char *const places[] = { "cases", "claims" };
    for (int i = 0; i < 2; i++) {
        bool has = false;
        for (int k = 0; k < check->text->comment_count; k++) {
            const char *place = comment_after(&check->text->comments[k], "this run:");
            has |= place && strcmp(place, places[i]) == 0;
        }
        if (!has)
            complain(check, 0, "no <!-- this run: %s -->, the place of a table on this lesson's page", places[i]);
    }
}

void template_check(struct check *check)
{
    check_sections(check);
    check_cases(check);
    check_places(check);
}
