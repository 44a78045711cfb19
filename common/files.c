#include "files.h"

#include "die.h"
#include "memory.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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

struct file file_begin(const char *folder, const char *name)
{
    int error = file_make_folder(folder);
    if (error)
        die(STATUS_WRONG, "cannot write into %s: %s", folder, strerror(error));
    struct file file = { .path = memory_text("%s/%s", folder, name),
                         .temporary = memory_text("%s/.%s.%ld.tmp", folder, name, (long)getpid()) };
    file.out = fopen(file.temporary, "w");
    if (!file.out)
        die(STATUS_WRONG, "cannot write %s: %s", file.temporary, strerror(errno));
    return file;
}

void file_drop(struct file *file)
{
    fclose(file->out);
    unlink(file->temporary);
    free(file->path);
    free(file->temporary);
    *file = (struct file){ 0 };
}

void file_commit(struct file *file)
{
    int failed = ferror(file->out);
    failed |= fflush(file->out) != 0;
    failed |= fsync(fileno(file->out)) != 0;
    failed |= fclose(file->out) != 0;
    if (failed || rename(file->temporary, file->path) != 0) {
        int error = errno;
        unlink(file->temporary);
        die(STATUS_WRONG, "cannot write %s: %s; the file that was there is untouched", file->path, strerror(error));
    }
    free(file->path);
    free(file->temporary);
    *file = (struct file){ 0 };
}

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
