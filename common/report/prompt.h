/* prompt: reads the user's answers from the terminal, and logs them in a table that grows over runs. */
#ifndef LOCKSTEP_PROMPT_H
#define LOCKSTEP_PROMPT_H

#include "base/csv.h"
#include "base/files.h"

#include <stdbool.h>

enum { PROMPT_LINE = 64 };

/* Read one line from standard input, without the blanks around it and cut to fit. False at the end of input. Input from a pipe is
 * echoed to standard output, since no terminal shows it. */
bool prompt_answer(char line[PROMPT_LINE]);

/* A table to which each run adds rows. */
struct answer_log {
    struct csv csv;
    char now[32]; /* local date and time, for the column `time` */
};

/* Begin folder/name among `files`, with its present rows. Other runs that add rows wait until the set is committed. Warns and
 * returns false if the table cannot be read, or if another run keeps it locked: a run goes on without the log. */
bool prompt_open_log(struct answer_log *log, struct file_set *files, const char *folder, const char *name);

#endif
