/* board: memory in which each rank writes what it has come to, so that the others and the supervisor feel whether the job
 * lives, and can tell who is missing when something does not end.
 *
 * All processes of a job on this host map the same file, which has no name. Every rank writes its own line only; nobody
 * waits for anybody, so that a rank that dies holds up none who reads. */
#ifndef LOCKSTEP_BOARD_H
#define LOCKSTEP_BOARD_H

#include <stdbool.h>
#include <stddef.h>

struct flight_recorder;

/* A new file for a board: its descriptor. Its path under /proc stays good as long as this process keeps it open. */
int flight_recorder_create(void);

/* The board in this file; NULL when it cannot be had, which all functions below take for an empty one. `rank` is whose line
 * this process writes, -1 for a reader. */
struct flight_recorder *flight_recorder_open(const char *path, int rank);
void flight_recorder_close(struct flight_recorder *recorder);

/* The collective that a rank has come to. */
struct call {
    int sequence; /* the n-th of these ranks */
    int ranks;    /* world size: the first so many take part */
    int step;     /* of the block, warm-up included; -1 for none */
    size_t bytes; /* per rank; 0 for a barrier */
};
void flight_recorder_enter(struct flight_recorder *recorder, const struct call *call);
void flight_recorder_leave(struct flight_recorder *recorder); /* the one that it has come to */

/* A sign of life, and the seconds in which another is due: of these two, or any rank that enters or leaves a collective. */
void flight_recorder_set_timeout(struct flight_recorder *recorder, double seconds);
void flight_recorder_heartbeat(struct flight_recorder *recorder); /* as many as before */

/* The word that the job came to its end, right or wrong. A launcher's exit status 0 does not say so. */
void flight_recorder_end(struct flight_recorder *recorder);

/* Who looks for signs of life each second or oftener, and finds that so much more has passed, was stopped itself, and with it
 * perhaps all ranks (a container's pause): that time counts for nothing. */
enum { FLIGHT_RECORDER_PAUSE_S = 4 };

/* All signs of life so far. */
struct heartbeat {
    unsigned long beats;
    double allowed; /* seconds that the next may take after the last; 0 when nobody has said */
    bool has_ended;
};
struct heartbeat flight_recorder_read(const struct flight_recorder *recorder);

/* This rank ends because a launcher told it to: who is gone without that went first. */
void flight_recorder_leave_early(struct flight_recorder *recorder);
/* This rank ends, and means to. */
void flight_recorder_finish(struct flight_recorder *recorder);

/* The process of a rank, 0 before the rank has joined. The supervisor notes that it has ended: unless the rank meant to, it is
 * gone. */
int flight_recorder_process(const struct flight_recorder *recorder, int rank);
void flight_recorder_note_end(struct flight_recorder *recorder, int rank);

/* Whether the process of one of the first `ranks` is gone although it did not mean to end. */
bool flight_recorder_has_lost(const struct flight_recorder *recorder, int ranks);

/* What became of the results, for the end of a line about a job that did not end well. */
const char *flight_recorder_kept_text(const struct flight_recorder *recorder);

/* Who is missing, and who waits for it where: "rank 1 (process 4242) is gone; rank 0 waits in all-reduce 17 of 12.5 MB
 * (step 5)". Of ranks on other hosts nothing is known. Blank when nothing can be told. Free it. */
char *flight_recorder_text(const struct flight_recorder *recorder);

/* The same as the end of a job that showed no sign of life for that long. Free it. */
char *flight_recorder_timeout_text(const struct flight_recorder *recorder, double seconds);

/* Prints a line for people, as warn() does, unless another process of the job has; and whether one has, to the end. Who ends
 * by die() has. */
void flight_recorder_say(struct flight_recorder *recorder, const char *line);
bool flight_recorder_has_spoken(const struct flight_recorder *recorder);

#endif
