#include "lesson_text.h"

#include "base/memory.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Parser state. */
struct parse {
    struct lesson_text *text;
    size_t *lines; /* first byte of each line, from line 1 */
    int line_count;
    bool is_above;                        /* no rule yet */
    bool next_is_example, next_is_quoted; /* a comment on its own line marks the next block */
};

/* --- comments and pictures ------------------------------------------------------------------------------------------ */

const char *comment_after(const struct comment *comment, const char *prefix)
{
    size_t length = strlen(prefix);
    const char *rest = comment->text + length;
    bool is_word = strncmp(comment->text, prefix, length) == 0 &&
                   (*rest == '\0' || isspace((unsigned char)*rest) || prefix[length - 1] == ':');
    return is_word ? rest + strspn(rest, " \t\n") : NULL;
}

static void add_comment(struct lesson_text *text, size_t begin, size_t end, int block)
{
    const char *from = text->raw + begin + 4, *to = text->raw + end - 3;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    text->comments = memory_grow(text->comments, ((size_t)text->comment_count + 1) * sizeof *text->comments);
    text->comments[text->comment_count++] = (struct comment){
        .begin = begin, .end = end, .text = memory_text("%.*s", (int)(to - from), from), .block = block
    };
}

static void add_picture(struct parse *p, size_t at, const char *target, size_t length)
{
    struct lesson_text *text = p->text;
    text->pictures = memory_grow(text->pictures, ((size_t)text->picture_count + 1) * sizeof *text->pictures);
    text->pictures[text->picture_count++] =
        (struct picture){ .at = at, .target = memory_text("%.*s", (int)length, target), .is_above = p->is_above };
}

/* --- roles within a block ------------------------------------------------------------------------------------------- */

static void set_role(struct lesson_text *text, size_t begin, size_t end, enum role role)
{
    memset(text->role + begin, (int)role, end - begin);
}

/* Return the end of the code that a run of backticks at `at` opens; `at` itself if none closes it. */
static size_t end_of_code(const struct lesson_text *text, size_t at, size_t end)
{
    size_t ticks = strspn(text->raw + at, "`");
    for (size_t i = at + ticks; i < end;) {
        size_t run = strspn(text->raw + i, "`");
        if (run == ticks)
            return i + run;
        i += run ? run : 1;
    }
    return at;
}

/* Return the end of the bold text that ** at `at` opens, if it is a formula; else `at`. */
static size_t end_of_formula(const struct lesson_text *text, size_t at, size_t end)
{
    static const char *const operators[] = { "+", "−", "×", "/", "·", " - ", "(", "Σ", NULL };
    const char *from = text->raw + at + 2, *to = strstr(from, "**");
    if (!to || to >= text->raw + end)
        return at;
    char *bold = memory_text("%.*s", (int)(to - from), from);
    bool is_formula = false;
    for (int i = 0; strchr(bold, '=') && operators[i]; i++)
        is_formula |= strstr(bold, operators[i]) != NULL;
    is_formula &= !strstr(bold, "<!--");
    free(bold);
    return is_formula ? (size_t)(to - text->raw) + 2 : at;
}

/* Return the end of a link target, of a tag or of an address that begins at `at`; `at` if none does. */
static size_t end_of_hidden(struct parse *p, size_t at, size_t end)
{
    const char *raw = p->text->raw, *here = raw + at, *close = NULL;
    if (here[0] == ']' && here[1] == '(')
        close = strchr(here, ')');
    else if (here[0] == '<' && (isalpha((unsigned char)here[1]) || here[1] == '/'))
        close = strchr(here, '>');
    else if (strncmp(here, "https://", 8) == 0 || strncmp(here, "http://", 7) == 0)
        return at + strcspn(here, " \n<>)|");
    return close && close < raw + end ? (size_t)(close - raw) + 1 : at;
}

/* Note the picture whose text ![… ends with the target at `at`. */
static void note_picture(struct parse *p, size_t begin, size_t at, size_t end)
{
    const char *raw = p->text->raw;
    size_t open = at;
    while (open > begin && raw[open] != '[')
        open--;
    if (raw[at] == ']' && open > begin && raw[open - 1] == '!')
        add_picture(p, at, raw + at + 2, end - at - 3);
}

static void mark_block(struct parse *p, size_t begin, size_t end, int block)
{
    struct lesson_text *text = p->text;
    set_role(text, begin, end, ROLE_PROSE);
    for (size_t at = begin; at < end;) {
        if (text->raw[at] == '\\') {
            at += 2;
            continue;
        }
        size_t to;
        enum role role = ROLE_HIDDEN;
        if (strncmp(text->raw + at, "<!--", 4) == 0) {
            const char *close = strstr(text->raw + at + 4, "-->");
            to = close && close < text->raw + end ? (size_t)(close - text->raw) + 3 : at;
            if (to > at)
                add_comment(text, at, to, block);
        } else if (text->raw[at] == '`') {
            to = end_of_code(text, at, end);
            role = ROLE_CODE;
        } else if (strncmp(text->raw + at, "**", 2) == 0) {
            to = end_of_formula(text, at, end);
            role = ROLE_FORMULA;
        } else {
            to = end_of_hidden(p, at, end);
            if (to > at)
                note_picture(p, begin, at, to);
        }
        if (to > at)
            set_role(text, at, to, role);
        at = to > at ? to : at + 1 + (text->raw[at] == '*' && text->raw[at + 1] == '*');
    }
}

/* --- blocks --------------------------------------------------------------------------------------------------------- */

static size_t begin_of_line(const struct parse *p, int line)
{
    return line <= p->line_count ? p->lines[line - 1] : p->text->size;
}

static void add_block(struct parse *p, cmark_node *node, enum block_kind kind)
{
    struct lesson_text *text = p->text;
    size_t begin = begin_of_line(p, cmark_node_get_start_line(node)) + (size_t)cmark_node_get_start_column(node) - 1;
    size_t end = begin_of_line(p, cmark_node_get_end_line(node) + 1);
    text->blocks = memory_grow(text->blocks, ((size_t)text->block_count + 1) * sizeof *text->blocks);
    int index = text->block_count++;
    text->blocks[index] = (struct block){ .kind = kind,
                                          .begin = begin,
                                          .end = end,
                                          .is_above = p->is_above,
                                          .is_example = p->next_is_example,
                                          .is_quoted = p->next_is_quoted };
    p->next_is_example = p->next_is_quoted = false;
    int before = text->comment_count;
    mark_block(p, begin, end, index);
    for (int i = before; i < text->comment_count; i++) {
        text->blocks[index].is_example |= comment_after(&text->comments[i], "example") != NULL;
        text->blocks[index].is_quoted |= comment_after(&text->comments[i], "quoted") != NULL;
    }
}

/* Find the comments in a block of HTML. cmark-gfm 0.29 gives such a block a wrong last line, so its lines are counted. */
static void add_html(struct parse *p, cmark_node *node)
{
    struct lesson_text *text = p->text;
    int line = cmark_node_get_start_line(node);
    const char *at = text->raw + begin_of_line(p, line);
    for (const char *c = cmark_node_get_literal(node); *c; c++)
        line += *c == '\n';
    const char *end = text->raw + begin_of_line(p, line);
    while ((at = strstr(at, "<!--")) && at < end) {
        const char *close = strstr(at + 4, "-->");
        if (!close || close >= end)
            return;
        add_comment(text, (size_t)(at - text->raw), (size_t)(close - text->raw) + 3, -1);
        const struct comment *comment = &text->comments[text->comment_count - 1];
        p->next_is_example |= comment_after(comment, "example") != NULL;
        p->next_is_quoted |= comment_after(comment, "quoted") != NULL;
        at = close + 3;
    }
}

static void add_node(struct parse *p, cmark_node *node)
{
    const char *type = cmark_node_get_type_string(node);
    if (strcmp(type, "paragraph") == 0)
        add_block(p, node, BLOCK_PARAGRAPH);
    else if (strcmp(type, "heading") == 0)
        add_block(p, node, BLOCK_HEADING);
    else if (strcmp(type, "table") == 0)
        add_block(p, node, BLOCK_TABLE);
    else if (strcmp(type, "html_block") == 0)
        add_html(p, node);
    else if (strcmp(type, "thematic_break") == 0)
        p->is_above = false;
}

static cmark_node *read_blocks(const char *raw, size_t size)
{
    cmark_gfm_core_extensions_ensure_registered();
    cmark_parser *parser = cmark_parser_new(CMARK_OPT_DEFAULT);
    cmark_parser_attach_syntax_extension(parser, cmark_find_syntax_extension("table"));
    cmark_parser_feed(parser, raw, size);
    cmark_node *document = cmark_parser_finish(parser);
    cmark_parser_free(parser);
    return document;
}

static void find_lines(struct parse *p)
{
    const char *raw = p->text->raw;
    size_t count = 1;
    for (size_t i = 0; i < p->text->size; i++)
        count += raw[i] == '\n';
    p->lines = memory_new(count, sizeof *p->lines);
    p->line_count = 1;
    for (size_t i = 0; i < p->text->size; i++)
        if (raw[i] == '\n')
            p->lines[p->line_count++] = i + 1;
}

/* Mark what lies between the marker of a table, of lanes or of a machine and its <!-- end -->. */
static void mark_generated(struct lesson_text *text)
{
    static const char *const openers[] = { "table", "lanes", "machine", NULL };
    for (int i = 0; i + 1 < text->comment_count; i++)
        for (int k = 0; openers[k]; k++)
            if (comment_after(&text->comments[i], openers[k]) && comment_after(&text->comments[i + 1], "end"))
                set_role(text, text->comments[i].end, text->comments[i + 1].begin, ROLE_GENERATED);
}

struct lesson_text lesson_text_parse(const char *path, const char *raw)
{
    struct lesson_text text = { .path = memory_text("%s", path), .raw = memory_text("%s", raw), .size = strlen(raw) };
    text.role = memory_new(text.size + 1, 1);
    struct parse p = { .text = &text, .is_above = true };
    find_lines(&p);
    cmark_node *document = read_blocks(raw, text.size);
    cmark_iter *iter = cmark_iter_new(document);
    for (cmark_event_type event; (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE;)
        if (event == CMARK_EVENT_ENTER)
            add_node(&p, cmark_iter_get_node(iter));
    cmark_iter_free(iter);
    cmark_node_free(document);
    free(p.lines);
    mark_generated(&text);
    return text;
}

void lesson_text_free(struct lesson_text *text)
{
    for (int i = 0; i < text->comment_count; i++)
        free(text->comments[i].text);
    for (int i = 0; i < text->picture_count; i++)
        free(text->pictures[i].target);
    free(text->pictures);
    free(text->comments);
    free(text->blocks);
    free(text->role);
    free(text->raw);
    free(text->path);
    *text = (struct lesson_text){ 0 };
}

int lesson_text_line(const struct lesson_text *text, size_t at)
{
    int line = 1;
    for (size_t i = 0; i < at; i++)
        line += text->raw[i] == '\n';
    return line;
}
