/* hot: attribute for functions that run between the work of a measured step. A step's work evicts all else from the caches, so
 * each call waits for its code. The linker places these functions together, which shortens the wait (build/bin/bench --part
 * harness). */
#ifndef LOCKSTEP_HOT_H
#define LOCKSTEP_HOT_H

#define HOT __attribute__((hot))

#endif
