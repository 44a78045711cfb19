/* files: results that are whole or absent. A file is written under a temporary name beside its place and
 * renamed when everything is on disk; a program that dies leaves what was there before. */
#ifndef LOCKSTEP_FILES_H
#define LOCKSTEP_FILES_H

#include <stddef.h>
#include <stdio.h>

struct file {
    FILE *out;
    char *path;      /* where it will be */
    char *temporary; /* where it is until file_commit */
};

/* Makes `path` and the folders above it. Returns 0, or the errno of what went wrong. */
int file_make_folder(const char *path);

/* Whether it could, without making any: 0, or an errno. */
int file_may_make_folder(const char *path);

/* Starts writing folder/name; the folder is made when missing. Ends the program when that cannot be. */
struct file file_begin(const char *folder, const char *name);

/* Gives the new file up: what was there stays. */
void file_drop(struct file *file);

/* Brings the finished file to its place. On a full disk or any other error the temporary file is removed and
 * the program ends: the old file stays. */
void file_commit(struct file *file);

/* All bytes of a file, (*size) of them unless that is NULL, and a zero behind them. Free it. NULL, and errno says why, when
 * it cannot be read. */
char *file_read(const char *path, size_t *size);

#endif
