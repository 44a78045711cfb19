/* hot: functions that run between the work of a measured step. A step's work leaves nothing else in the caches, so each call
 * waits for its code; the linker puts these functions side by side, which makes that wait shorter (build/bin/bench --part harness). */
#ifndef LOCKSTEP_HOT_H
#define LOCKSTEP_HOT_H

#define HOT __attribute__((hot))

#endif
