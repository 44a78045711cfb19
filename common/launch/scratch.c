#include "launch/scratch.h"

#include "base/die.h"
#include "base/files.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { OPEN_MOST = 16 }; /* descriptors of a walk */

static const char prefix[] =
    "lockstep-"; /* then the supervisor's process id, for people, and letters that nobody has */

static const char *temporary_root(void)
{
    const char *given = getenv("TMPDIR");
    return given && *given ? given : "/tmp";
}

/* Why there is no such room in `root`; NULL when there is. Free it. */
static char *lacks_room(const char *root, double needed)
{
    struct statvfs disk;
    if (statvfs(root, &disk) != 0 || access(root, W_OK | X_OK) != 0)
        return memory_text("%s cannot be used (%s)", root, strerror(errno));
    double left = (double)disk.f_bavail * (double)disk.f_frsize;
    return left < needed ? memory_text("%.1f MB are left in %s", left / 1e6, root) : NULL;
}

void scratch_refuse_full(double needed)
{
    char *lack = lacks_room(temporary_root(), needed);
    if (lack)
        die(STATUS_WRONG, "%s, and what starts the ranks needs %.1f MB there; make room, or set TMPDIR", lack,
            needed / 1e6);
}

/* --- folders ---------------------------------------------------------------------------------------------------- */

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

static int open_folder(const char *folder)
{
    return open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Of supervisors that ended without a chance to tidy up; those of other people do not let themselves be opened. A process
 * id would not tell: it may be one of another container's, which shares this memory. */
static void drop_stale(const char *root)
{
    char *pattern = memory_text("%s/%s[0-9]*", root, prefix);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            int folder = open_folder(found.gl_pathv[i]);
            if (folder >= 0 && file_lock(folder))
                drop_all(found.gl_pathv[i]);
            if (folder >= 0)
                close(folder);
        }
        globfree(&found);
    }
    free(pattern);
}

/* Between the making of a folder and its lock somebody may take it for a stale one: then it is made again. */
static struct scratch make_folder(const char *root)
{
    struct stat status;
    for (;;) {
        struct scratch made = { .folder = memory_text("%s/%s%d.XXXXXX", root, prefix, (int)getpid()), .lock = -1 };
        if (!mkdtemp(made.folder)) {
            free(made.folder);
            return (struct scratch){ .lock = -1 };
        }
        made.lock = open_folder(made.folder);
        bool is_taken = made.lock >= 0 && !file_lock(made.lock) && errno == EWOULDBLOCK;
        if (!is_taken && stat(made.folder, &status) == 0)
            return made;
        scratch_close(&made);
    }
}

struct scratch scratch_open(double needed)
{
    const char *const roots[] = { "/dev/shm", temporary_root() };
    char *lacks[] = { NULL, NULL };
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        drop_stale(roots[i]);
        lacks[i] = lacks_room(roots[i], needed);
        struct scratch made = { .lock = -1 };
        if (!lacks[i])
            made = make_folder(roots[i]);
        if (made.folder) {
            free(lacks[0]);
            return made;
        }
        if (!lacks[i])
            lacks[i] = memory_text("%s cannot be used (%s)", roots[i], strerror(errno));
    }
    die(STATUS_WRONG, "%s, %s, and what ranks share needs %.1f MB; make room in one of them, or set TMPDIR", lacks[0],
        lacks[1], needed / 1e6);
}

void scratch_close(struct scratch *scratch)
{
    if (scratch->folder)
        drop_all(scratch->folder);
    if (scratch->lock >= 0)
        close(scratch->lock);
    free(scratch->folder);
    *scratch = (struct scratch){ .lock = -1 };
}
