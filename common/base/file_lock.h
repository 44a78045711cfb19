/* file_lock: locks of files and folders, which the kernel releases when their process ends. */
#ifndef LOCKSTEP_FILE_LOCK_H
#define LOCKSTEP_FILE_LOCK_H

#include <stdbool.h>

/* Lock a file without waiting. The lock ends with the descriptor or the process, whichever ends first. Return false, with errno
 * EWOULDBLOCK, if another process holds the lock. A process that has ended holds none; so leftover files can be recognised. */
bool file_lock(int descriptor);

/* Wait at most 10 s for the lock of a folder. Return false if another process still holds it, and true if the folder cannot be
 * opened or locked (NFS). Store its descriptor in *lock, or -1; close it in every case. */
bool file_lock_folder(const char *folder, int *lock);

#endif
