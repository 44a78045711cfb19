/* folders: make folders for results, and refuse those that cannot be written. */
#ifndef LOCKSTEP_FOLDERS_H
#define LOCKSTEP_FOLDERS_H

/* Make `path` and the folders above. Return 0 or an errno. */
int file_make_folder(const char *path);

/* Check if file_make_folder() would succeed, without making a folder. Return 0 or an errno. */
int file_may_make_folder(const char *path);

/* End the program with STATUS_USAGE if `error`, the result of one of these two for option --out, is not 0. */
void file_refuse_out(const char *out, int error);

/* Return a copy of a path in which glob() takes each character for itself. Free it. */
char *file_glob_escape(const char *path);

#endif
