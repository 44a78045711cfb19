/* fuzz.h: common part of the fuzz targets. A target is a reader of files that gets arbitrary bytes. It may refuse them with
 * die(), but must not crash, hang or leak. With clang and -DLOCKSTEP_FUZZ=ON, libFuzzer generates the bytes (run.sh).
 * Otherwise main() in replay.c reads them from files; CTest runs it on corpus/.
 *
 * die() is wrapped: it ends the reading, not the process, and memory allocated meanwhile is freed. */
#ifndef LOCKSTEP_FUZZ_H
#define LOCKSTEP_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read the file and use its contents. Each target defines this function. */
void fuzz_read(const char *path);

/* A target sets it if files may contradict one another, which ends the program with STATUS_WRONG. */
extern bool fuzz_may_contradict;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
