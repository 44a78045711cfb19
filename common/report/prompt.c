#include "report/prompt.h"

#include "base/die.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool prompt_answer(char line[PROMPT_LINE])
{
    int length = 0, character;
    fflush(stdout);
    while ((character = getchar()) != EOF && character != '\n')
        if (length < PROMPT_LINE - 1 && (length > 0 || (character != ' ' && character != '\t')))
            line[length++] = (char)character;
    while (length > 0 && strchr(" \t\r", line[length - 1]))
        length--;
    line[length] = '\0';
    bool is_end = character == EOF && length == 0;
    if (is_end || !isatty(STDIN_FILENO))
        printf("%s\n", line);
    return !is_end;
}

bool prompt_open_log(struct answer_log *log, struct file_set *files, const char *folder, const char *name)
{
    char *path = memory_text("%s/%s", folder, name);
    if (!file_set_lock(files, folder)) {
        warn("cannot save your answer in %s: another run holds the file and does not end", path);
        free(path);
        return false;
    }
    char *before = file_read(path, NULL);
    bool is_readable = before || errno == ENOENT;
    if (!is_readable)
        warn("cannot save your answer in %s: %s", path, strerror(errno));
    free(path);
    if (!is_readable)
        return false;
    time_t now = time(NULL);
    struct tm local;
    *log = (struct answer_log){ .csv = { .out = file_set_begin(files, folder, name), .is_named = before && *before } };
    fputs(before ? before : "", log->csv.out);
    strftime(log->now, sizeof log->now, "%Y-%m-%dT%H:%M:%S", localtime_r(&now, &local));
    free(before);
    return true;
}
