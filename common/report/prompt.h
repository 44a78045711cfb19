/* learner: what is asked of the person at the terminal, and a diary of the answers that grows over runs. */
#ifndef LOCKSTEP_LEARNER_H
#define LOCKSTEP_LEARNER_H

#include "base/csv.h"
#include "base/files.h"

#include <stdbool.h>

enum { PROMPT_LINE = 64 };

/* Reads one line from standard input, without the blanks around it; what does not fit is cut. False at the end of input.
 * Answers that no terminal shows, as from a pipe, are written to standard output. */
bool prompt_answer(char line[PROMPT_LINE]);

/* A table to which rows are added. */
struct answer_log {
    struct csv csv;
    char now[32]; /* local date and time, of the column `time` */
};

/* Begins folder/name among `files`, with what stands in it; other runs that add to it wait until the set is committed. Warns
 * and returns false when it cannot be read, or when one of them does not end: nothing ends for lack of a diary. */
bool prompt_open_diary(struct answer_log *diary, struct file_set *files, const char *folder, const char *name);

#endif
