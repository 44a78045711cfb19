/* scratch: a folder for what a job's ranks share while they run: Open MPI's session and the files behind its shared memory.
 * Ranks that are killed leave them behind; here they go with the folder. */
#ifndef LOCKSTEP_SCRATCH_H
#define LOCKSTEP_SCRATCH_H

/* Makes the folder, in shared memory where there is some, and removes those of supervisors that are gone. NULL when no folder
 * can be made. */
char *scratch_open(void);

/* Removes it with all that is in it, and frees the path; NULL is none. */
void scratch_close(char *folder);

#endif
