/* files: results that are whole or absent. A file takes its place when everything is on disk, by a rename; a program that
 * dies before leaves what was there. Until then it has no name, so that it goes with the program; where the file system
 * knows no such files (NFS), it has a temporary one, which is removed when the same file is next begun. */
#ifndef LOCKSTEP_FILES_H
#define LOCKSTEP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct file {
    FILE *out;
    char *path;      /* where it will be */
    char *temporary; /* its name on the way there */
    bool is_named;   /* it has that name */
    bool replaces;   /* there was a file at its place, which now has the temporary name */
};

/* Makes `path` and the folders above it. Returns 0, or the errno of what went wrong. */
int file_make_folder(const char *path);

/* Whether it could, without making any: 0, or an errno. */
int file_may_make_folder(const char *path);

/* Ends the program with STATUS_USAGE where `error`, of one of these two for the option --out, is not 0. */
void file_refuse_out(const char *out, int error);

/* Starts writing folder/name; the folder is made when missing. Ends the program when that cannot be. */
struct file file_begin(const char *folder, const char *name);

/* Gives the new file up: what was there stays. */
void file_drop(struct file *file);

/* Brings the finished file to its place, in a folder made anew if it has vanished. On a full disk or any other error the
 * new file is given up and the program ends: the old file stays. */
void file_commit(struct file *file);

/* Files that tell of one run, and so take their places together: when one cannot be written, none does. Where two names
 * cannot be swapped (NFS), what was there gets a second name first, or is copied where there is none to be had. { 0 } is a set of
 * none. (Only a program that is killed between two renames leaves new files beside old ones, each of them whole.) */
struct file_set {
    struct file *files;
    int count;
    int lock; /* of file_set_lock(), where has_lock */
    bool has_lock;
};

/* Waits until no other set has this folder's lock, and has it until the end of the set, which may have one. For files that
 * are made of what stands in them. False after 10 s: somebody stopped who has it. Where a folder cannot be locked (NFS) it is
 * true, and of two who do it at once one may lose. */
bool file_set_lock(struct file_set *set, const char *folder);

/* file_begin() of one more. It is the set's: write into it, close nothing. */
FILE *file_set_begin(struct file_set *set, const char *folder, const char *name);

/* file_drop() and file_commit() of all, after which the set is one of none. */
void file_set_drop(struct file_set *set);
void file_set_commit(struct file_set *set);

/* Takes a lock, which goes with the descriptor or the process, whichever ends first. False, and errno is EWOULDBLOCK, when
 * somebody else has it. Who is gone has none: so a program knows what others have left behind. */
bool file_lock(int descriptor);

/* All bytes of a file, (*size) of them unless that is NULL, and a zero behind them. Free it. NULL, and errno says why, when
 * it cannot be read. */
char *file_read(const char *path, size_t *size);

#endif
