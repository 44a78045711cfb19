#include "scratch.h"

#include "memory.h"

#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_MOST = 16 }; /* descriptors of a walk */

static const char *const roots[] = { "/dev/shm", "/tmp" };
static const char prefix[] = "lockstep-"; /* then the supervisor's process id */

static int drop(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    remove(path);
    return 0;
}

static void drop_all(const char *folder)
{
    nftw(folder, drop, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
}

/* Of supervisors that ended without a chance to tidy up; those of other people do not let themselves be removed. */
static void drop_stale(const char *root)
{
    char *pattern = memory_text("%s/%s[0-9]*", root, prefix);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            int process = atoi(strrchr(found.gl_pathv[i], '-') + 1);
            bool is_gone = process > 0 && kill(process, 0) != 0 && errno == ESRCH;
            if (is_gone || process == getpid()) /* numbers come again */
                drop_all(found.gl_pathv[i]);
        }
        globfree(&found);
    }
    free(pattern);
}

char *scratch_open(void)
{
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        drop_stale(roots[i]);
        char *folder = memory_text("%s/%s%d", roots[i], prefix, (int)getpid());
        if (mkdir(folder, 0700) == 0)
            return folder;
        free(folder);
    }
    return NULL;
}

void scratch_close(char *folder)
{
    if (folder)
        drop_all(folder);
    free(folder);
}
