/* learner: what is asked of the person at the terminal, and a diary of the answers that grows over runs. */
#ifndef LOCKSTEP_LEARNER_H
#define LOCKSTEP_LEARNER_H

#include "csv.h"
#include "files.h"

#include <stdbool.h>

enum { LEARNER_LINE = 64 };

/* Reads one line from standard input, without the blanks around it; what does not fit is cut. False at the end of input.
 * Answers that no terminal shows, as from a pipe, are written to standard output. */
bool learner_answer(char line[LEARNER_LINE]);

/* A table to which rows are added. */
struct diary {
    struct csv csv;
    char now[32]; /* local date and time, of the column `time` */
};

/* Begins folder/name among `files`, with what stands in it; other runs that add to it wait until the set is committed. Warns
 * and returns false when it cannot be read, or when one of them does not end: nothing ends for lack of a diary. */
bool learner_open_diary(struct diary *diary, struct file_set *files, const char *folder, const char *name);

#endif
