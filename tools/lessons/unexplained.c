#include "unexplained.h"

#include "base/memory.h"
#include "number.h"
#include "rewrite.h"

#include <stdlib.h>
#include <string.h>

/* Return the paragraph, heading or table that holds a byte; NULL if none. */
static const struct block *block_at(const struct lesson_text *text, size_t at)
{
    for (int i = 0; i < text->block_count; i++)
        if (at >= text->blocks[i].begin && at < text->blocks[i].end)
            return &text->blocks[i];
    return NULL;
}

/* True if the number opens its heading: "3. Model", "01 · One rank is late". */
static bool opens_heading(const struct lesson_text *text, const struct block *block, size_t at)
{
    return block->kind == BLOCK_HEADING && strspn(text->raw + block->begin, "# ") == at - block->begin;
}

static bool has_link(const struct lesson_text *text, const struct block *block)
{
    const char *link = strstr(text->raw + block->begin, "](");
    return link && link < text->raw + block->end;
}

/* True if the number is a setting of a run of this text, such as 40 of --sleep-ms 40. */
static bool is_setting(const struct check *check, const struct number *number)
{
    char word[WHERE_WORD] = "";
    size_t length = 0;
    for (size_t i = number->begin; i < number->end && length + 1 < sizeof word; i++)
        if (check->text->raw[i] != ',')
            word[length++] = check->text->raw[i];
    return runs_have_setting(check->runs, word);
}

/* True if a comment begins at this byte. */
static bool has_comment(const struct lesson_text *text, size_t at)
{
    for (int i = 0; i < text->comment_count; i++)
        if (text->comments[i].begin == at)
            return true;
    return false;
}

static bool is_explained(const struct check *check, const struct number *number)
{
    const struct lesson_text *text = check->text;
    const struct block *block = block_at(text, number->begin);
    return has_comment(text, number->end) || number->is_name || number->is_count || !block || block->is_example ||
           block->is_quoted || opens_heading(text, block, number->begin) || is_setting(check, number);
}

static void check_numbers(struct check *check)
{
    const struct lesson_text *text = check->text;
    struct number number;
    for (size_t at = 0; number_next(text, &at, &number);)
        if (!is_explained(check, &number))
            complain(check, number.begin, "%.*s has no source; write an expression behind it, or see docs/lessons.md",
                     (int)(number.end - number.begin), text->raw + number.begin);
}

/* A line that begins with a comment is a block of HTML for Markdown, as a whole. */
static void check_line_begins(struct check *check, const struct comment *comment)
{
    const char *behind = check->text->raw + comment->end;
    behind += strspn(behind, " \t");
    if (comment->block < 0 && *behind && *behind != '\n' && strncmp(behind, "<!--", 4) != 0)
        complain(check, comment->begin, "a line of text cannot begin with a comment; Markdown takes the line as HTML");
}

static void check_comments(struct check *check)
{
    const struct lesson_text *text = check->text;
    for (int i = 0; i < text->comment_count; i++) {
        const struct comment *comment = &text->comments[i];
        const struct block *block = block_at(text, comment->begin);
        if (!rewrite_is_marker(check, comment))
            complain(check, comment->begin, "<!-- %s --> is no marker, and does not follow a number at once",
                     comment->text);
        else
            check_line_begins(check, comment);
        if (block && strchr(comment->text, '\n'))
            complain(check, comment->begin, "<!-- %.20s… --> goes over a line end; keep a comment within its line",
                     comment->text);
        if (block && strstr(comment->text, "--"))
            complain(check, comment->begin, "<!-- %s --> holds --, which ends a comment for Markdown", comment->text);
    }
    for (const char *at = text->raw; (at = strstr(at, "<!--")); at++)
        if (text->role[at - text->raw] == ROLE_PROSE)
            complain(check, (size_t)(at - text->raw), "a comment goes over a line end; keep it within its line");
    for (int i = 0; i < text->block_count; i++)
        if (text->blocks[i].is_quoted && !has_link(text, &text->blocks[i]))
            complain(check, text->blocks[i].begin, "marked as quoted, but it has no link to the source");
}

void find_unexplained(struct check *check)
{
    check_numbers(check);
    check_comments(check);
}
