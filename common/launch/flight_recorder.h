/* flight_recorder: shared memory in which each rank records its current collective, and its last calls.
 *
 * Ranks and supervisor read heartbeats from the recorder, and find the missing ranks when a collective does not end, or ranks whose
 * calls do not fit together (desync.h). All processes of a job on this host map the same unnamed file. Each rank writes only its own
 * slot and takes no lock, so a dead rank blocks no reader. */
#ifndef LOCKSTEP_FLIGHT_RECORDER_H
#define LOCKSTEP_FLIGHT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>

struct flight_recorder;
struct collective_call;

/* Create the file of a flight recorder. Return its descriptor, or -1. The path under /proc is valid while this process keeps the
 * descriptor open. */
int flight_recorder_create(void);

/* Map the flight recorder in this file. Return NULL on failure; all functions below treat NULL as an empty recorder. This process
 * writes the slot of `rank`, or none if `rank` is -1. */
struct flight_recorder *flight_recorder_open(const char *path, int rank);
void flight_recorder_close(struct flight_recorder *recorder);

/* Record that this rank runs or starts a collective. The last of these calls are kept. */
enum { FLIGHT_RECORDER_CALLS = 64 };
void flight_recorder_note(struct flight_recorder *recorder, const struct collective_call *call);

/* Return true if another rank of this host has recorded a call with the number of this one that does not fit to it. */
bool flight_recorder_disagrees(const struct flight_recorder *recorder, int rank, const struct collective_call *call);

/* Record that this rank enters or leaves a collective; it leaves the one that it entered last. To wait for a started collective
 * is to enter it. */
void flight_recorder_enter(struct flight_recorder *recorder, const struct collective_call *call);
void flight_recorder_leave(struct flight_recorder *recorder);

/* Send a heartbeat and set the timeout for the next one. Each rank that enters or leaves a collective also sends a heartbeat. */
void flight_recorder_set_timeout(struct flight_recorder *recorder, double seconds);
void flight_recorder_heartbeat(struct flight_recorder *recorder); /* keeps the timeout */

/* Record that the job reached its end, with right or wrong results. A launcher's exit status 0 does not prove that. */
void flight_recorder_end(struct flight_recorder *recorder);

/* Record that the supervisor ends the job. Ranks may go on for a while: mpirun wakes stopped ranks a second before it ends them. Their
 * results then no longer count, because the supervisor has said that earlier ones stay. */
void flight_recorder_stop(struct flight_recorder *recorder);
bool flight_recorder_is_stopped(const struct flight_recorder *recorder);

/* Longest normal time between two checks for heartbeats, which are at most a second apart. A longer gap means that the checking
 * process was stopped, perhaps with all ranks (a paused container). Such a gap does not count towards the timeout. */
enum { FLIGHT_RECORDER_PAUSE_S = 4 };

/* All heartbeats so far. */
struct heartbeat {
    unsigned long heartbeats;
    double timeout; /* timeout in seconds from the last heartbeat to the next; 0: not set */
    bool has_ended;
};
struct heartbeat flight_recorder_read(const struct flight_recorder *recorder);

/* Record that a rank makes a mistake on purpose, at `now` of the monotonic clock; return that moment, 0 for none. The
 * diagnosis does not use it; it shows how long the diagnosis took. */
void flight_recorder_plant(struct flight_recorder *recorder, double now);
double flight_recorder_planted(const struct flight_recorder *recorder);

/* Record that this rank ends because of a launcher's signal. A rank that is gone without any such record ended first. */
void flight_recorder_leave_early(struct flight_recorder *recorder);
/* Record that this rank ends normally. */
void flight_recorder_finish(struct flight_recorder *recorder);

/* Return the process id of a rank; 0 before the rank has joined. The supervisor calls flight_recorder_note_end() when that process
 * has ended. The rank then counts as gone, unless the rank itself had recorded its end. */
int flight_recorder_process(const struct flight_recorder *recorder, int rank);
void flight_recorder_note_end(struct flight_recorder *recorder, int rank);

/* True if the process of one of the first `ranks` ranks ended without recording its end. */
bool flight_recorder_has_lost(const struct flight_recorder *recorder, int ranks);

/* Return the state of the results as text, for the end of a message about a failed job. */
const char *flight_recorder_kept_text(const struct flight_recorder *recorder);

/* Return the missing ranks, the waiting ranks and their collective as text: "rank 1 (process 4242) is gone; rank 0 waits in
 * all-reduce 17 of 12.5 MB (step 5)". Ranks on other hosts do not appear. Blank if there is nothing to report. Free the text. */
char *flight_recorder_text(const struct flight_recorder *recorder);

/* Return a message about ranks whose calls do not fit together, with the likely cause and its cure (desync.h); NULL if there is none.
 * Such ranks wait for each other without end, or add up data that do not belong together. If there is such a message, first wait up to
 * FLIGHT_RECORDER_SETTLE_S, by `sleep_for`, until the ranks have made their last calls; NULL: do not wait. Free the message. */
#define FLIGHT_RECORDER_SETTLE_S 1.0
char *flight_recorder_desync_text(const struct flight_recorder *recorder, void (*sleep_for)(double seconds));

/* Return the message for a job without a heartbeat for `seconds`, which includes the same text. Free the message. */
char *flight_recorder_timeout_text(const struct flight_recorder *recorder, double seconds);

/* Report why the job ends, unless another process of the job has already begun to. If a supervisor prints the ranks' lines, store the line
 * for it: a launcher may drop what a rank printed just before MPI_Abort(). Otherwise print it as warn() does, and give the launcher
 * time to pass it on, by `sleep_for`; NULL: do not wait. flight_recorder_has_spoken() returns true once a line is complete; a message
 * of die() counts too. */
void flight_recorder_say(struct flight_recorder *recorder, const char *line, void (*sleep_for)(double seconds));
bool flight_recorder_has_spoken(const struct flight_recorder *recorder);

/* Make this process the supervisor, which prints the ranks' lines. Return the line that a rank stored; NULL for none. */
void flight_recorder_supervise(struct flight_recorder *recorder);
const char *flight_recorder_said(const struct flight_recorder *recorder);

#endif
