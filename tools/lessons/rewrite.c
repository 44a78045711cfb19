#include "rewrite.h"

#include "base/memory.h"
#include "claims/expression.h"
#include "generated.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A text that is being copied. */
struct copy {
    FILE *out;
    size_t at; /* bytes of the text that were copied or replaced */
    struct check *check;
    bool writes;
};

static void copy_to(struct copy *copy, size_t end)
{
    fwrite(copy->check->text->raw + copy->at, 1, end - copy->at, copy->out);
    copy->at = end;
}

/* Print the difference; of long texts only the first line that differs. */
static void say_difference(struct copy *copy, size_t begin, size_t end, const char *right)
{
    const char *raw = copy->check->text->raw, *old = raw + begin;
    size_t same = 0; /* bytes of equal lines */
    for (size_t i = 0; old + i < raw + end && old[i] == right[i]; i++)
        same = right[i] == '\n' ? i + 1 : same;
    int old_length = (int)strcspn(old + same, "\n"), right_length = (int)strcspn(right + same, "\n");
    if (old + same + old_length > raw + end)
        old_length = (int)(raw + end - old - (long)same);
    if (copy->writes)
        printf("%s:%d: '%.*s' is now '%.*s'\n", copy->check->text->path,
               lesson_text_line(copy->check->text, begin + same), old_length, old + same, right_length, right + same);
    else
        complain(copy->check, begin + same, "the text has '%.*s', the run '%.*s'", old_length, old + same, right_length,
                 right + same);
}

/* Put `right` in place of bytes begin … end. Frees `right`. */
static void replace(struct copy *copy, size_t begin, size_t end, char *right)
{
    const char *raw = copy->check->text->raw;
    if (strlen(right) != end - begin || strncmp(raw + begin, right, end - begin) != 0)
        say_difference(copy, begin, end, right);
    copy_to(copy, begin);
    fputs(right, copy->out);
    copy->at = end;
    free(right);
}

/* --- numbers and sentences ------------------------------------------------------------------------------------------ */

static void put_number(struct copy *copy, const struct comment *comment, const struct number *number)
{
    struct check *check = copy->check;
    struct where where = marker_defaults(check);
    const char *expression = marker_where(check, comment->begin, comment->text, &where);
    double value = NAN;
    if (!marker_value(check, comment->begin, &where, NULL, expression, &value))
        return;
    char *old = memory_text("%.*s", (int)(number->end - number->begin), check->text->raw + number->begin);
    if (isfinite(value))
        replace(copy, number->begin, number->end, number_like(old, value));
    else
        complain(check, number->begin, "%s: '%s' is no number in this run", old, expression);
    free(old);
}

static bool relation_holds(double left, const char *relation, double right)
{
    bool or_equal = relation[1] == '=' && left == right;
    return *relation == '<' ? left < right || or_equal : *relation == '>' ? left > right || or_equal : left == right;
}

/* Check the relation of a marker "holds: [WHERE:] A < B". */
static void check_relation(struct check *check, const struct comment *comment)
{
    struct where where = marker_defaults(check);
    const char *text = marker_where(check, comment->begin, comment_after(comment, "holds:"), &where);
    size_t length = strcspn(text, "<>=");
    const char *relation = text + length, *right_text = relation + strspn(relation, "<>=");
    if (!*relation || right_text - relation > 2)
        refuse(check, comment->begin, "'%s' is no relation; write A < B, or with <=, >, >=, =", text);
    char *left_text = memory_text("%.*s", (int)length, text);
    double left = NAN, right = NAN;
    bool are_there = marker_value(check, comment->begin, &where, NULL, left_text, &left);
    char *trimmed = memory_text("%s", right_text + strspn(right_text, " "));
    if (strspn(trimmed, "0123456789.") == strlen(trimmed))
        right = atof(trimmed);
    else
        are_there = are_there && marker_value(check, comment->begin, &where, NULL, trimmed, &right);
    if (are_there && !relation_holds(left, relation, right))
        complain(check, comment->begin, "'%s' does not hold: %.6g and %.6g", text, left, right);
    free(left_text);
    free(trimmed);
}

/* --- comments ------------------------------------------------------------------------------------------------------- */

static char *generated(struct check *check, const struct comment *comment)
{
    if (comment_after(comment, "table"))
        return generated_table(check, comment);
    return comment_after(comment, "lanes") ? generated_lanes(check, comment) : generated_machine(check, comment);
}

/* Put what belongs between a comment and its <!-- end -->, which is the next one. */
static void put_generated(struct copy *copy, const struct comment *comment, const struct comment *end)
{
    if (!comment_after(end, "end"))
        refuse(copy->check, comment->begin, "'%.20s' has no <!-- end -->", comment->text);
    char *right = generated(copy->check, comment);
    if (right)
        replace(copy, comment->end, end->begin, right);
}

static bool is_generated(const struct comment *comment)
{
    return comment_after(comment, "table") || comment_after(comment, "lanes") || comment_after(comment, "machine");
}

/* True if the comment is a word of ours that needs no number before it. */
static bool is_word(const struct comment *comment)
{
    static const char *const words[] = { "run:", "this run:", "end", "example", "quoted", "holds:", NULL };
    for (int i = 0; words[i]; i++)
        if (comment_after(comment, words[i]))
            return true;
    return is_generated(comment);
}

bool rewrite_is_marker(const struct check *check, const struct comment *comment)
{
    struct number number;
    return is_word(comment) || (comment->block >= 0 && number_before(check->text->raw, comment->begin, &number));
}

char *rewrite(struct check *check, bool writes)
{
    const struct lesson_text *text = check->text;
    char *right = NULL;
    size_t size = 0;
    struct copy copy = { .out = memory_stream(&right, &size), .check = check, .writes = writes };
    for (int i = 0; i < text->comment_count; i++) {
        const struct comment *comment = &text->comments[i];
        struct number number;
        if (is_generated(comment))
            put_generated(&copy, comment, i + 1 < text->comment_count ? comment + 1 : comment);
        else if (comment_after(comment, "holds:"))
            check_relation(check, comment);
        else if (!is_word(comment) && comment->block >= 0 && number_before(text->raw, comment->begin, &number))
            put_number(&copy, comment, &number);
    }
    copy_to(&copy, text->size);
    fclose(copy.out);
    return right;
}
