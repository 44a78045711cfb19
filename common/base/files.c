#include "base/files.h"

#include "base/die.h"
#include "base/file_lock.h"
#include "base/folders.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- beginning -------------------------------------------------------------------------------------------------- */

/* Remove a temporary file without a lock: its writer was killed, since a writer holds a lock on its file. */
static void remove_if_left(int folder, const char *name)
{
    int left = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (left < 0)
        return;
    if (file_lock(left))
        unlinkat(folder, name, 0);
    close(left);
}

/* Remove temporary files of `name` whose writers have ended. */
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

static void clear_file(struct file *file)
{
    free(file->path);
    free(file->temporary);
    *file = (struct file){ 0 };
}

/* Return 0 or an errno. */
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
        file_lock(fileno(file->out));
        return 0;
    }
    error = errno;
    if (nameless >= 0)
        close(nameless);
    clear_file(file);
    return error;
}

static _Noreturn void die_unwritable(const char *path, int error)
{
    die(STATUS_WRONG, "cannot write %s: %s; what was there is untouched", path, strerror(error));
}

struct file file_begin(const char *folder, const char *name)
{
    struct file file;
    int error = begin(&file, folder, name);
    if (error)
        die_unwritable(memory_text("%s/%s", folder, name), error);
    return file;
}

FILE *file_set_begin(struct file_set *set, const char *folder, const char *name)
{
    struct file file;
    int error = begin(&file, folder, name);
    struct file *more = error ? NULL : realloc(set->files, ((size_t)set->count + 1) * sizeof *more);
    if (!more) {
        file_set_drop(set);
        die_unwritable(memory_text("%s/%s", folder, name), error ? error : ENOMEM);
    }
    set->files = more;
    set->files[set->count++] = file;
    return file.out;
}

bool file_set_lock(struct file_set *set, const char *folder)
{
    if (file_make_folder(folder) != 0)
        return true; /* file_set_begin() will report this folder's error */
    bool may_write = file_lock_folder(folder, &set->lock);
    set->has_lock = set->lock >= 0;
    return may_write;
}

/* --- ending ----------------------------------------------------------------------------------------------------- */

void file_drop(struct file *file)
{
    fclose(file->out);
    if (file->is_named)
        unlink(file->temporary);
    clear_file(file);
}

static void clear_set(struct file_set *set)
{
    if (set->has_lock)
        close(set->lock);
    free(set->files);
    *set = (struct file_set){ 0 };
}

void file_set_drop(struct file_set *set)
{
    for (int i = 0; i < set->count; i++)
        file_drop(&set->files[i]);
    clear_set(set);
}

/* Return the errno of a failed write. A stream does not keep it, but the next write fails for the same reason. */
static int find_write_error(FILE *out)
{
    static const char more[65536];
    return pwrite(fileno(out), more, sizeof more, lseek(fileno(out), 0, SEEK_END)) < 0 ? errno : EIO;
}

/* The functions up to put_in_place() return 0 or an errno. */
static int flush_to_disk(FILE *out)
{
    errno = 0;
    bool is_on_disk = fflush(out) == 0 && !ferror(out) && fsync(fileno(out)) == 0;
    return is_on_disk ? 0 : errno ? errno : find_write_error(out);
}

static int copy(FILE *from, const char *path, FILE **to)
{
    *to = from ? fopen(path, "w+ex") : NULL;
    if (!*to)
        return errno;
    file_lock(fileno(*to));
    char bytes[65536];
    rewind(from);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, from)) > 0;)
        fwrite(bytes, 1, got, *to);
    return ferror(from) ? EIO : flush_to_disk(*to);
}

/* Copy a file that cannot be given a name, or has lost its name. */
static int copy_to_named(struct file *file)
{
    FILE *named;
    int error = copy(file->out, file->temporary, &named);
    if (!named)
        return error;
    file->is_named = true;
    fclose(file->out);
    file->out = named;
    return error;
}

static int name_file(struct file *file)
{
    if (file->is_named && access(file->temporary, F_OK) == 0)
        return 0;
    char *folder = memory_text("%.*s", (int)(strrchr(file->path, '/') - file->path), file->path);
    int error = file_make_folder(folder); /* another program may have removed it */
    free(folder);
    if (error)
        return error;
    char nameless[32];
    snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", fileno(file->out));
    file->is_named = linkat(AT_FDCWD, nameless, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0;
    return file->is_named ? 0 : copy_to_named(file);
}

/* Give the old file a second name, or copy it, until the new file is in place. */
static int keep_old(const struct file *file, const char *aside)
{
    if (linkat(AT_FDCWD, file->path, AT_FDCWD, aside, 0) == 0)
        return 0;
    FILE *old = fopen(file->path, "re"), *kept = NULL;
    int error = copy(old, aside, &kept);
    if (old)
        fclose(old);
    if (kept)
        fclose(kept);
    return error;
}

/* Put the new file in place and keep the old one under another temporary name, on a file system that cannot swap two names. The
 * only rename comes last, so on an error nothing has changed. */
static int replace_unswapped(struct file *file)
{
    const char *digits = strrchr(file->temporary, '.');
    while (digits[-1] != '.')
        digits--;
    char *aside =
        memory_text("%.*s0%s", (int)(digits - file->temporary), file->temporary, digits); /* a name no process uses */
    unlink(aside);
    int error = keep_old(file, aside);
    if (!error && rename(file->temporary, file->path) != 0)
        error = errno;
    if (error) {
        unlink(aside);
        free(aside);
        return error;
    }
    free(file->temporary);
    file->temporary = aside;
    return 0;
}

/* Put the file in place. Keep the old file until all files of the set are in place. */
static int put_in_place(struct file *file)
{
    struct stat status;
    bool replaces = lstat(file->path, &status) == 0;
    if (replaces && S_ISDIR(status.st_mode))
        return EISDIR;
    int error = 0;
    if (!replaces && rename(file->temporary, file->path) != 0)
        error = errno;
    if (replaces && renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_EXCHANGE) != 0)
        error = replace_unswapped(file);
    file->replaces = replaces && !error;
    file->is_named = replaces || error;
    return error;
}

static void restore_old(struct file *file)
{
    if (file->replaces)
        rename(file->temporary, file->path);
    else
        unlink(file->path);
}

static void commit(struct file *files, int count)
{
    int error = 0, named = 0, placed = 0;
    const struct file *failed = files;
    for (int i = 0; i < count && !error; i++) {
        failed = &files[i];
        error = flush_to_disk(files[i].out);
    }
    for (; named < count && !error; named++) {
        failed = &files[named];
        error = name_file(&files[named]);
    }
    while (placed < count && !error) {
        failed = &files[placed];
        error = put_in_place(&files[placed]);
        placed += !error;
    }
    char *path = error ? memory_text("%s", failed->path) : NULL;
    while (error && placed > 0)
        restore_old(&files[--placed]);
    for (int i = 0; i < count; i++)
        file_drop(&files[i]); /* removes the old file if the new one is in place */
    if (error)
        die_unwritable(path, error);
}

void file_commit(struct file *file)
{
    commit(file, 1);
}

void file_set_commit(struct file_set *set)
{
    commit(set->files, set->count);
    clear_set(set);
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
