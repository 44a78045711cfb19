#include "files.h"

#include "die.h"
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int file_make_folder(const char *path)
{
    if (path[0] == '\0')
        return ENOENT;
    char *partial = memory_text("%s", path);
    int error = 0;
    for (char *slash = partial; slash && !error;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(partial, 0777) != 0 && errno != EEXIST)
            error = errno;
        if (slash)
            *slash = '/';
    }
    free(partial);
    struct stat status;
    if (!error && stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
        error = ENOTDIR;
    return !error && access(path, W_OK | X_OK) != 0 ? errno : error;
}

static bool has_long_name(const char *path)
{
    bool is_long = strlen(path) >= PATH_MAX;
    for (; *path; path += strcspn(path, "/") + strspn(path + strcspn(path, "/"), "/"))
        is_long |= strcspn(path, "/") > NAME_MAX;
    return is_long;
}

int file_may_make_folder(const char *path)
{
    if (path[0] == '\0' || has_long_name(path))
        return path[0] ? ENAMETOOLONG : ENOENT;
    char *above = memory_text("%s", path); /* the nearest that is there decides */
    struct stat status;
    int error = stat(above, &status) == 0 ? 0 : errno;
    while (error == ENOENT) {
        char *slash = strrchr(above, '/');
        if (slash && slash > above)
            *slash = '\0';
        else
            strcpy(above, slash ? "/" : ".");
        error = stat(above, &status) == 0 ? 0 : errno;
    }
    if (!error && !S_ISDIR(status.st_mode))
        error = ENOTDIR;
    if (!error && access(above, W_OK | X_OK) != 0)
        error = errno;
    free(above);
    return error;
}

/* --- beginning -------------------------------------------------------------------------------------------------- */

/* Who writes a file holds a lock on it: a temporary file without one was left by a program that was killed. */
static void lock(FILE *out)
{
    flock(fileno(out), LOCK_EX | LOCK_NB);
}

static void remove_if_left(int folder, const char *name)
{
    int left = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (left < 0)
        return;
    if (flock(left, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(left);
}

/* Of `name`, the temporary files of programs that are gone. */
static void remove_leftovers(const char *folder, const char *name)
{
    DIR *listing = opendir(folder);
    char *begin = memory_text(".%s.", name);
    size_t length = strlen(begin);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        const char *end = strrchr(entry->d_name, '.');
        if (strncmp(entry->d_name, begin, length) == 0 && strcmp(end, ".tmp") == 0 &&
            entry->d_name + length + strspn(entry->d_name + length, "0123456789") == end)
            remove_if_left(dirfd(listing), entry->d_name);
    }
    free(begin);
    if (listing)
        closedir(listing);
}

static void forget(struct file *file)
{
    free(file->path);
    free(file->temporary);
    *file = (struct file){ 0 };
}

/* Returns 0, or the errno of what went wrong. */
static int begin(struct file *file, const char *folder, const char *name)
{
    int error = file_make_folder(folder);
    if (error)
        return error;
    *file = (struct file){ .path = memory_text("%s/%s", folder, name),
                           .temporary = memory_text("%s/.%s.%ld.tmp", folder, name, (long)getpid()) };
    remove_leftovers(folder, name);
    int nameless = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (nameless < 0)
        file->is_named = true;
    file->out = nameless < 0 ? fopen(file->temporary, "w+ex") : fdopen(nameless, "w+");
    if (file->out) {
        lock(file->out);
        return 0;
    }
    error = errno;
    forget(file);
    return error;
}

static _Noreturn void give_up(const char *path, int error)
{
    die(STATUS_WRONG, "cannot write %s: %s; what was there is untouched", path, strerror(error));
}

struct file file_begin(const char *folder, const char *name)
{
    struct file file;
    int error = begin(&file, folder, name);
    if (error)
        give_up(memory_text("%s/%s", folder, name), error);
    return file;
}

FILE *file_set_begin(struct file_set *set, const char *folder, const char *name)
{
    struct file file;
    int error = begin(&file, folder, name);
    struct file *more = error ? NULL : realloc(set->files, ((size_t)set->count + 1) * sizeof *more);
    if (!more) {
        file_set_drop(set);
        give_up(memory_text("%s/%s", folder, name), error ? error : ENOMEM);
    }
    set->files = more;
    set->files[set->count++] = file;
    return file.out;
}

/* --- ending ----------------------------------------------------------------------------------------------------- */

void file_drop(struct file *file)
{
    fclose(file->out);
    if (file->is_named)
        unlink(file->temporary);
    forget(file);
}

void file_set_drop(struct file_set *set)
{
    for (int i = 0; i < set->count; i++)
        file_drop(&set->files[i]);
    free(set->files);
    *set = (struct file_set){ 0 };
}

/* A stream forgets why it could not write; the next write fails for the same reason. */
static int why_unwritable(FILE *out)
{
    static const char more[65536];
    return pwrite(fileno(out), more, sizeof more, lseek(fileno(out), 0, SEEK_END)) < 0 ? errno : EIO;
}

/* The next four return 0, or the errno of what went wrong. */
static int bring_to_disk(FILE *out)
{
    errno = 0;
    bool is_on_disk = fflush(out) == 0 && !ferror(out) && fsync(fileno(out)) == 0;
    return is_on_disk ? 0 : errno ? errno : why_unwritable(out);
}

/* Where a file cannot be given a name, or has lost it. */
static int copy(struct file *file)
{
    FILE *named = fopen(file->temporary, "w+ex");
    if (!named)
        return errno;
    file->is_named = true;
    lock(named);
    char bytes[65536];
    rewind(file->out);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file->out)) > 0;)
        fwrite(bytes, 1, got, named);
    int error = ferror(file->out) ? EIO : bring_to_disk(named);
    fclose(file->out);
    file->out = named;
    return error;
}

static int name(struct file *file)
{
    if (file->is_named && access(file->temporary, F_OK) == 0)
        return 0;
    char *folder = memory_text("%.*s", (int)(strrchr(file->path, '/') - file->path), file->path);
    int error = file_make_folder(folder); /* somebody may have removed it */
    free(folder);
    if (error)
        return error;
    char nameless[32];
    snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", fileno(file->out));
    file->is_named = linkat(AT_FDCWD, nameless, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0;
    return file->is_named ? 0 : copy(file);
}

/* The old file is kept until all of a set have their places. (Not every file system can swap two names.) */
static int take_place(struct file *file)
{
    struct stat status;
    file->replaces = lstat(file->path, &status) == 0;
    if (file->replaces && S_ISDIR(status.st_mode))
        return EISDIR;
    file->is_swapped = renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_EXCHANGE) == 0;
    if (!file->is_swapped && rename(file->temporary, file->path) != 0)
        return errno;
    file->is_named = file->is_swapped;
    return 0;
}

static void give_place_back(struct file *file)
{
    if (file->is_swapped)
        renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_EXCHANGE);
    else if (!file->replaces)
        unlink(file->path);
}

static void commit(struct file *files, int count)
{
    int error = 0, named = 0, placed = 0;
    const struct file *failed = files;
    for (int i = 0; i < count && !error; i++) {
        failed = &files[i];
        error = bring_to_disk(files[i].out);
    }
    for (; named < count && !error; named++) {
        failed = &files[named];
        error = name(&files[named]);
    }
    while (placed < count && !error) {
        failed = &files[placed];
        error = take_place(&files[placed]);
        placed += !error;
    }
    char *path = error ? memory_text("%s", failed->path) : NULL;
    while (error && placed > 0)
        give_place_back(&files[--placed]);
    for (int i = 0; i < count; i++)
        file_drop(&files[i]); /* or what it replaced */
    if (error)
        give_up(path, error);
}

void file_commit(struct file *file)
{
    commit(file, 1);
}

void file_set_commit(struct file_set *set)
{
    commit(set->files, set->count);
    free(set->files);
    *set = (struct file_set){ 0 };
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

char *file_read(const char *path, size_t *size)
{
    enum { BLOCK = 65536 };
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *bytes = NULL, *larger;
    size_t used = 0, got = 0;
    do {
        larger = realloc(bytes, used + BLOCK + 1);
        if (!larger)
            break;
        bytes = larger;
        got = fread(bytes + used, 1, BLOCK, file);
        used += got;
    } while (got > 0);
    int error = !larger ? ENOMEM : ferror(file) ? errno : 0;
    fclose(file);
    if (error) {
        free(bytes);
        errno = error;
        return NULL;
    }
    bytes[used] = '\0';
    if (size)
        *size = used;
    return bytes;
}
