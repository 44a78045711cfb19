/* scratch: a temporary folder for a job, and a check for free space. The folder holds Open MPI's session and the files behind its
 * shared memory. Killed ranks leave such files behind, and removing the folder removes them. Launchers abort on a full disk, so the
 * supervisor checks the free space before a start. */
#ifndef LOCKSTEP_SCRATCH_H
#define LOCKSTEP_SCRATCH_H

struct scratch {
    char *folder; /* NULL: none */
    int lock;     /* held on the folder while in use; a folder without a lock is stale */
};

/* Create a folder where `needed` bytes are free: in /dev/shm, else in $TMPDIR or /tmp. Remove folders of supervisors that have
 * ended. End the program if no place has enough space. */
struct scratch scratch_open(double needed);

/* Remove the folder with its content. */
void scratch_close(struct scratch *scratch);

/* End the program if less than `needed` bytes are free in $TMPDIR, or /tmp. For a launcher that uses this place by itself. */
void scratch_refuse_full(double needed);

#endif
