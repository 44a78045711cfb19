/* fuzz: what the targets share. A target is a reader of files that is given any bytes; it may refuse them with die(), and
 * must not crash, hang or leak. With clang and -DLOCKSTEP_FUZZ=ON libFuzzer makes the bytes up (run.sh); else main()
 * in replay.c reads them from files, which is how CTest goes through corpus/.
 *
 * die() is wrapped: it ends the reading, not the process, and what was allocated meanwhile is given back. */
#ifndef LOCKSTEP_FUZZ_H
#define LOCKSTEP_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* One per target: reads the file, and uses what it read. */
void fuzz_read(const char *path);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
