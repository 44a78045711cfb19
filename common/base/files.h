/* files: write result files that are complete or absent. A rename puts a file in place once all data is on disk; a program that
 * dies earlier leaves the old file. Until then the new file has no name, so the kernel removes it with the process. On file
 * systems without nameless files (NFS) it has a temporary name; the next file_begin() of the same file removes leftovers. */
#ifndef LOCKSTEP_FILES_H
#define LOCKSTEP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct file {
    FILE *out;
    char *path;      /* final path */
    char *temporary; /* temporary name before that */
    bool is_named;   /* the temporary name exists */
    bool replaces;   /* the old file at `path` now has the temporary name */
};

/* Begin to write folder/name, and make a missing folder. On an error end the program. */
struct file file_begin(const char *folder, const char *name);

/* Discard the new file; the old one stays. */
void file_drop(struct file *file);

/* Put the finished file in place; make its folder again if it has vanished. On a full disk or any other error discard the new
 * file and end the program; the old file stays. */
void file_commit(struct file *file);

/* Files of one run, put in place together: if one file cannot be written, all old files stay. Where two names cannot be swapped
 * (NFS), the old file first gets a second name, or is copied if it cannot have one. { 0 } is an empty set. (Only a program
 * killed between two renames leaves new files beside old ones, each of them complete.) */
struct file_set {
    struct file *files;
    int count;
    int lock; /* descriptor from file_set_lock(), valid if has_lock */
    bool has_lock;
};

/* Wait for this folder's lock and hold it until the set ends; a set may hold one lock. Use it for files that are rewritten from
 * their old content. Return false after 10 s, if the process that holds the lock has stopped. Where a folder cannot be locked
 * (NFS), return true; of two concurrent writers one may then lose its change. */
bool file_set_lock(struct file_set *set, const char *folder);

/* Add a file as file_begin() does. The set owns the stream: write to it, do not close it. */
FILE *file_set_begin(struct file_set *set, const char *folder, const char *name);

/* Call file_drop() or file_commit() for all files; the set is then empty. */
void file_set_drop(struct file_set *set);
void file_set_commit(struct file_set *set);

/* Read a whole file, append a zero byte, and store its size in *size unless `size` is NULL. Free the result. Return NULL and set
 * errno if the file cannot be read. */
char *file_read(const char *path, size_t *size);

#endif
