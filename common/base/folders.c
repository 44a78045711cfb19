#include "base/folders.h"

#include "base/die.h"
#include "base/memory.h"

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
    char *above = memory_text("%s", path); /* check the nearest existing folder */
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

void file_refuse_out(const char *out, int error)
{
    if (error)
        die(STATUS_USAGE, "--out %.200s cannot be written: %s; name a folder that can", out, strerror(error));
}

char *file_glob_escape(const char *path)
{
    char *escaped = memory_new(2 * strlen(path) + 1, 1), *to = escaped;
    for (; *path; *to++ = *path++)
        if (strchr("*?[\\", *path))
            *to++ = '\\';
    return escaped;
}
