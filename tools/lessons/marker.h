/* marker: evaluates the expression of a marker.
 *
 *     [WHERE:] EXPRESSION      WHERE: runs.h; EXPRESSION: claims/expression.h
 */
#ifndef LOCKSTEP_LESSONS_MARKER_H
#define LOCKSTEP_LESSONS_MARKER_H

#include "lesson_text.h"
#include "runs.h"

/* Check of a text, which counts complaints. Each complaint names a file and a line. */
struct check {
    const struct lesson_text *text;
    struct runs *runs;
    char lab[WHERE_WORD]; /* of the text; "" if it belongs to none */
    int complaints;
};

/* Print "PATH:LINE: …" and count the complaint. */
void complain(struct check *check, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Print the same on standard error and end the program with STATUS_USAGE: a marker that no run can fulfil. */
_Noreturn void refuse(const struct check *check, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Return the defaults of WHERE. */
struct where marker_defaults(const struct check *check);

/* Split off "WHERE:" and read it over the values that `where` has. Return the expression. */
const char *marker_where(const struct check *check, size_t at, const char *text, struct where *where);

/* Evaluate at a row's case (`name`; NULL: the only row). Return true with *value, or with NaN if a cell is blank. Complain and
 * return false if the run lacks it. */
bool marker_value(struct check *check, size_t at, const struct where *where, const char *name, const char *expression,
                  double *value);

/* Return the text between two pointers without blanks at its ends. Free it. */
char *marker_trimmed(const char *from, const char *to);

/* Cut a line of a marker at |, into at most `most` parts without blanks at their ends. Return their number. Free the parts. */
int marker_cut(const char *line, char **parts, int most);

/* Return the view of a table that exists; complain and return false if its run is missing. */
bool marker_view(struct check *check, size_t at, const struct where *where, struct view *view);

#endif
