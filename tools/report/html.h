/* html: pages that stand alone. One file each, the look inside, no script, nothing fetched. */
#ifndef LOCKSTEP_HTML_H
#define LOCKSTEP_HTML_H

#include "base/files.h"

#include <stdbool.h>
#include <stdio.h>

/* A page that the others lead to. */
struct html_link {
    char *file, *title; /* "01_straggler.html", "01 · One rank is late" */
};

struct html_site {
    const char *folder;      /* where pages go */
    char *look;              /* the style sheet, put into each page */
    struct html_link *links; /* (count) in reading order; the first is the front page */
    int count;
    struct file_set pages; /* that were begun; they take their places together */
};

/* Begins the page that links[which] names, and its head, with the way to all others. */
FILE *html_begin(struct html_site *site, int which);
/* Ends it, with the way to the one before and the one behind. Returns its bytes. */
long html_end(FILE *out, const struct html_site *site, int which);

/* Text, also within double quotes. */
void html_text(FILE *out, const char *text);

/* A link to a path below the results. */
void html_link(FILE *out, const char *path, const char *text);

/* A table, scrolled sideways where it does not fit. The caption may be NULL. */
void html_table(FILE *out, const char *caption);
/* A row: its cells follow until the next row. */
void html_row(FILE *out);
void html_head(FILE *out, const char *text);
/* The row of all heads, (count). */
void html_heads(FILE *out, const char *const *texts, size_t count);
void html_cell(FILE *out, const char *text);
/* A cell of a sentence, which may take several lines. */
void html_long_cell(FILE *out, const char *text);
/* A cell of a number, right-aligned: with so many decimals, blank for NaN. */
void html_number(FILE *out, double value, int decimals);
void html_table_end(FILE *out);

#endif
