/* front: the first page of the report. */
#ifndef LOCKSTEP_FRONT_H
#define LOCKSTEP_FRONT_H

#include "findings.h"
#include "html.h"
#include "lesson.h"

/* Everything that the report uses. */
struct book {
    const char *results, *sources; /* folders of the results and of the project */
    struct html_site site;
    int labs;                                               /* number of labs; their lessons come first */
    struct lesson *lessons;                                 /* lesson i is page i + 1 of the site */
    struct lab_findings *findings;                          /* (labs) */
    struct lab_findings own;                                /* blame's results for the user's own job */
    struct csv_table runs, closing, claims, guesses, blind; /* no rows if the file is missing */
};

/* Write index.html. Return its size in bytes. */
long front_write(struct book *book);

#endif
