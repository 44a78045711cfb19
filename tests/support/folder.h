/* folder.h: give each test a temporary folder of its own. */
#ifndef LOCKSTEP_FOLDER_H
#define LOCKSTEP_FOLDER_H

#include "base/memory.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Set *state to the path of a new empty folder. */
static inline int make_folder(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *folder = memory_text("%s/lockstep_test.XXXXXX", parent && *parent ? parent : "/tmp");
    *state = folder;
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static inline int remove_folder(void **state)
{
    int failed = nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return failed;
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

#endif
