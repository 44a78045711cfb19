/* front: the first page of the report. */
#ifndef LOCKSTEP_FRONT_H
#define LOCKSTEP_FRONT_H

#include "findings.h"
#include "html.h"
#include "lesson.h"

/* Everything a report is made of. */
struct book {
    const char *results;
    struct html_site site;
    int labs;                                               /* the first lessons are those of labs */
    struct lesson *lessons;                                 /* lesson i has page i + 1 of the site */
    struct lab_findings *findings;                          /* (labs) */
    struct lab_findings own;                                /* what blame wrote of the reader's own job */
    struct csv_table runs, closing, claims, guesses, blind; /* no rows where there is none */
};

/* Writes index.html; returns its bytes. */
long front_write(struct book *book);

#endif
