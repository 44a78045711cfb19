/* watchdog: a thread beside a rank that keeps running when the rank is stuck in a collective.
 *
 * The watchdog records when a launcher ends the rank, so that the rank does not count as lost. Under another launcher than ours
 * there is no supervisor. The watchdog then also ends the job if a rank of this host is gone or no heartbeat came within the
 * timeout, and prints the flight recorder's text (flight_recorder.h). */
#ifndef LOCKSTEP_WATCHDOG_H
#define LOCKSTEP_WATCHDOG_H

#include <stdbool.h>

struct flight_recorder;
struct watchdog;

/* Start the thread, at most one per process. From now on the watchdog handles SIGTERM, with which launchers end ranks. `is_alone`
 * means that no supervisor watches. The watchdog then ends this process if the ranks have not joined within `timeout` seconds.
 * Return NULL if there can be no thread; all functions below do nothing for NULL. */
struct watchdog *watchdog_open(bool is_alone, double timeout);

/* Record that the ranks have joined, with their flight recorder (may be NULL) and a function that ends all ranks (may return). */
void watchdog_join(struct watchdog *watchdog, struct flight_recorder *recorder, int ranks, void (*end_all)(void));

/* Record that the ranks leave the job. From now on the watchdog can end only this process. */
void watchdog_part(struct watchdog *watchdog);
void watchdog_close(struct watchdog *watchdog);

#endif
