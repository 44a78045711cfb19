/* watchdog: a thread beside a rank that runs on when the rank itself is stuck in a collective.
 *
 * It writes down when the rank is told to end, so that nobody takes it for one that was lost. Under a launcher that is not
 * ours nobody else watches: there it also ends the job when a rank of this host is gone, or when no sign of life came for
 * too long, and says what the board (flight_recorder.h) tells. */
#ifndef LOCKSTEP_WATCHDOG_H
#define LOCKSTEP_WATCHDOG_H

#include <stdbool.h>

struct flight_recorder;
struct watchdog;

/* Starts the thread, whose is from now on a SIGTERM, with which launchers end ranks. `is_alone`: nobody else watches; then
 * it ends this process when the ranks have not joined each other within `allowed` seconds. One in a process; NULL where it
 * cannot be, which all functions below take for one that watches nothing. */
struct watchdog *watchdog_open(bool is_alone, double allowed);

/* The ranks have joined: their board, which may be NULL, and what ends them all. It may return. */
void watchdog_join(struct watchdog *watchdog, struct flight_recorder *recorder, int ranks, void (*end_all)(void));

/* The ranks part: from now on this process alone can be ended. */
void watchdog_part(struct watchdog *watchdog);
void watchdog_close(struct watchdog *watchdog);

#endif
