/* flight_recorder_private: what the text about missing ranks reads of the shared memory. Only flight_recorder.c knows its layout,
 * and only flight_recorder_text.c includes this header besides. */
#ifndef LOCKSTEP_FLIGHT_RECORDER_PRIVATE_H
#define LOCKSTEP_FLIGHT_RECORDER_PRIVATE_H

#include "launch/collective_call.h"
#include "launch/flight_recorder.h"

/* Return the highest rank that has joined on this host, plus 1; 0 for NULL. The functions below take no NULL. */
int flight_recorder_ranks(const struct flight_recorder *recorder);

/* Return the collective that the rank entered last, and true if the rank is inside a collective now. */
struct collective_call flight_recorder_call(const struct flight_recorder *recorder, int rank);
bool flight_recorder_is_inside(const struct flight_recorder *recorder, int rank);

/* True if the process of this rank ended without recording its end. */
bool flight_recorder_is_gone(const struct flight_recorder *recorder, int rank);

#endif
