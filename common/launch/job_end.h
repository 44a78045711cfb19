/* job_end: turns the end of a job into one exit status, and prints the reason if no rank did. */
#ifndef LOCKSTEP_JOB_END_H
#define LOCKSTEP_JOB_END_H

#include "launch/flight_recorder.h"
#include "launch/job_command.h"
#include "launch/mpirun_output.h"

/* A job that ended without the supervisor's doing. */
struct job_end {
    int status; /* the launcher's wait status */
    const struct flight_recorder *recorder;
    const char *diagnosis;              /* missing ranks by the flight recorder */
    const struct mpirun_output *output; /* of real ranks; NULL: simulated ranks */
};

/* Return the exit status for this program. */
int job_end_judge(const struct job_command *command, const struct job_end *end);

/* Status of the child if the launcher is not on the path, as in a shell. */
enum { STATUS_NO_EXEC = 127 };

#endif
