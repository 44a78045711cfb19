#include "launch/scratch.h"

#include "base/die.h"
#include "base/file_lock.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Start of a folder's name. The supervisor's process id, for the user's information, and unique letters follow. */
static const char prefix[] = "lockstep-";

static const char *temporary_root(void)
{
    const char *given = getenv("TMPDIR");
    return given && *given ? given : "/tmp";
}

/* Return why `root` cannot hold `needed` bytes; NULL if it can. Free the text. */
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
        die(STATUS_WRONG, "%s, but the launcher of the ranks needs %.1f MB there; make room, or set TMPDIR", lack,
            needed / 1e6);
}

/* --- folders ---------------------------------------------------------------------------------------------------- */

static int open_below(int folder, const char *name)
{
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Remove all that is in an open folder. Work by descriptors, never by paths, in which another process could put a link. */
static void empty_folder(int folder)
{
    int own = dup(folder);
    DIR *entries = own >= 0 ? fdopendir(own) : NULL;
    if (!entries) {
        if (own >= 0)
            close(own);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int below = open_below(folder, entry->d_name);
        if (below >= 0) {
            empty_folder(below);
            close(below);
        }
        unlinkat(folder, entry->d_name, below >= 0 ? AT_REMOVEDIR : 0);
    }
    closedir(entries);
}

static void remove_folder(int folder, const char *path)
{
    if (folder >= 0)
        empty_folder(folder);
    rmdir(path);
}

static int open_folder(const char *folder)
{
    return open_below(AT_FDCWD, folder);
}

/* True for a folder of this user. Root could open folders that other users planted. */
static bool is_own(int folder)
{
    struct stat status;
    return fstat(folder, &status) == 0 && status.st_uid == geteuid();
}

/* Remove folders of supervisors that ended without cleaning up. Folders of other users cannot be opened. A process id would not
 * show that a folder is stale, because another container may share this memory. */
static void remove_stale(const char *root)
{
    char *pattern = memory_text("%s/%s[0-9]*", root, prefix);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            int folder = open_folder(found.gl_pathv[i]);
            if (folder >= 0 && is_own(folder) && file_lock(folder))
                remove_folder(folder, found.gl_pathv[i]);
            if (folder >= 0)
                close(folder);
        }
        globfree(&found);
    }
    free(pattern);
}

/* Create and lock a folder. Before the lock, another process may remove the folder as stale; in that case create a new one. */
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
        remove_stale(roots[i]);
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
    die(STATUS_WRONG, "%s, %s, but the ranks' shared memory needs %.1f MB; make room in one of them, or set TMPDIR",
        lacks[0], lacks[1], needed / 1e6);
}

void scratch_close(struct scratch *scratch)
{
    if (scratch->folder)
        remove_folder(scratch->lock, scratch->folder);
    if (scratch->lock >= 0)
        close(scratch->lock);
    free(scratch->folder);
    *scratch = (struct scratch){ .lock = -1 };
}
