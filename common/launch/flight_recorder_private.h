/* flight_recorder_private: the shared memory as the texts about missing ranks and calls read it. Only flight_recorder.c knows its
 * layout; only flight_recorder_text.c and flight_recorder_desync.c include this header besides. */
#ifndef LOCKSTEP_FLIGHT_RECORDER_PRIVATE_H
#define LOCKSTEP_FLIGHT_RECORDER_PRIVATE_H

#include "launch/collective_call.h"
#include "launch/flight_recorder.h"

/* Return the highest rank that has joined on this host, plus 1; 0 for NULL. The functions below take no NULL. */
int flight_recorder_ranks(const struct flight_recorder *recorder);

/* Return the collective that the rank entered last, and true if the rank is inside a collective now. */
struct collective_call flight_recorder_call(const struct flight_recorder *recorder, int rank);
bool flight_recorder_is_inside(const struct flight_recorder *recorder, int rank);

/* Copy the last calls that the rank made, the oldest first. Return their number. */
int flight_recorder_history(const struct flight_recorder *recorder, int rank,
                            struct collective_call calls[FLIGHT_RECORDER_CALLS]);

/* Find the rank's call of the same group and number as this one; false if it has made none, or too long ago. */
bool flight_recorder_find(const struct flight_recorder *recorder, int rank, const struct collective_call *like,
                          struct collective_call *found);

/* True if this rank has recorded that it ends normally. */
bool flight_recorder_has_finished(const struct flight_recorder *recorder, int rank);

/* True if the process of this rank ended without recording its end. */
bool flight_recorder_is_gone(const struct flight_recorder *recorder, int rank);

#endif
