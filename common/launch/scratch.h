/* scratch: room for what a job shares while it runs, and whether there is enough. Open MPI's session and the files behind its
 * shared memory get a folder here; ranks that are killed leave them behind, and they go with the folder. Launchers tell of a
 * full disk by an abort, so it is looked at before. */
#ifndef LOCKSTEP_SCRATCH_H
#define LOCKSTEP_SCRATCH_H

struct scratch {
    char *folder; /* NULL: none */
    int lock;     /* on the folder, as long as it is ours: a folder without one was left by somebody who is gone */
};

/* Makes a folder where `needed` bytes are free: in shared memory, else in $TMPDIR, or /tmp. Removes those of supervisors that
 * are gone. Ends the program when there is room in none of them. */
struct scratch scratch_open(double needed);

/* Removes it with all that is in it. */
void scratch_close(struct scratch *scratch);

/* For a launcher that takes $TMPDIR, or /tmp, by itself: ends the program when less than `needed` bytes are free there. */
void scratch_refuse_full(double needed);

#endif
