/* html: writes self-contained pages: one file each, style sheet included, no script, nothing fetched. */
#ifndef LOCKSTEP_HTML_H
#define LOCKSTEP_HTML_H

#include "base/files.h"

#include <stdbool.h>
#include <stdio.h>

/* A page to which all pages link. */
struct html_link {
    char *file, *title; /* "01_straggler.html", "01 · One rank is late" */
};

struct html_site {
    const char *folder;      /* output folder */
    char *look;              /* style sheet, copied into each page */
    struct html_link *links; /* (count) in reading order; the first is the front page */
    int count;
    struct file_set pages; /* pages begun; all are renamed into place together */
};

/* Begin the page links[which]: its head, and links to all pages unless it is the only one. */
FILE *html_begin(struct html_site *site, int which);
/* End the page, with links to the previous and the next page. Return its size in bytes. */
long html_end(FILE *out, const struct html_site *site, int which);

/* Write escaped text, also valid within double quotes. */
void html_text(FILE *out, const char *text);

/* Write a link to a path below the results. */
void html_link(FILE *out, const char *path, const char *text);

/* Begin a table, which scrolls sideways if too wide. The caption may be NULL. */
void html_table(FILE *out, const char *caption);
/* Begin a row. */
void html_row(FILE *out);
void html_head(FILE *out, const char *text);
/* Write a row of column heads, (count). */
void html_heads(FILE *out, const char *const *texts, size_t count);
void html_cell(FILE *out, const char *text);
/* Write a cell with a sentence, which may wrap. */
void html_long_cell(FILE *out, const char *text);
/* Write a right-aligned number; blank for NaN. */
void html_number(FILE *out, double value, int decimals);
void html_table_end(FILE *out);

#endif
