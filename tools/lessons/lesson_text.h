/* lesson_text: gives every byte of a Markdown file a role, so that numbers, words and markers can be found by plain scans.
 *
 * cmark-gfm finds the blocks: paragraphs, headings, tables, code, HTML. The roles within a block are found here. A comment of
 * HTML is a marker; docs/lessons.md lists them. */
#ifndef LOCKSTEP_LESSON_TEXT_H
#define LOCKSTEP_LESSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum role {
    ROLE_NONE,      /* between blocks, list markers, blocks of code or HTML */
    ROLE_PROSE,     /* what a reader reads as words */
    ROLE_CODE,      /* `inline code` */
    ROLE_FORMULA,   /* **bold with = and an operator** */
    ROLE_HIDDEN,    /* comments, link targets, HTML tags */
    ROLE_GENERATED, /* between a marker and its <!-- end --> */
};

enum block_kind { BLOCK_PARAGRAPH, BLOCK_HEADING, BLOCK_TABLE };

/* A paragraph (also of a list item), a heading or a table. */
struct block {
    enum block_kind kind;
    size_t begin, end; /* bytes */
    bool is_above;     /* above the first rule --- */
    bool is_example;   /* marked <!-- example -->: its numbers are supposed */
    bool is_quoted;    /* marked <!-- quoted -->: its numbers are those of a linked source */
};

struct comment {
    size_t begin, end; /* bytes from <!-- to behind --> */
    char *text;        /* between both, without blanks at the ends */
    int block;         /* -1: on lines of its own */
};

struct picture {
    size_t at;
    char *target; /* "img/01_straggler_timeline.png" */
    bool is_above;
};

struct lesson_text {
    char *path, *raw;
    size_t size;
    unsigned char *role; /* (size) enum role */
    struct block *blocks;
    struct comment *comments;
    struct picture *pictures;
    int block_count, comment_count, picture_count;
};

/* Find the roles in a text; `path` is for messages. Copies both. */
struct lesson_text lesson_text_parse(const char *path, const char *raw);
void lesson_text_free(struct lesson_text *text);

/* Return the line that holds a byte, from 1. */
int lesson_text_line(const struct lesson_text *text, size_t at);

/* Return the text behind `prefix`, if the comment begins with it as a word; else NULL. Leading blanks are skipped. */
const char *comment_after(const struct comment *comment, const char *prefix);

#endif
