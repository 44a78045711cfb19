#include "flight_json.h"

#include "base/die.h"
#include "base/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MOST = 64, MB_MOST = 256, REASON = 160 };

/* Refuse deep nesting before the tree is built: yajl_tree_free() calls itself for each level. */
static void check_depth(const char *path, const char *text, size_t size)
{
    int depth = 0;
    bool is_text = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (is_text && c == '\\')
            i++;
        else if (c == '"')
            is_text = !is_text;
        else if (!is_text && (c == '{' || c == '['))
            depth++;
        else if (!is_text && (c == '}' || c == ']'))
            depth--;
        if (depth > DEPTH_MOST)
            die(STATUS_USAGE, "%s: nested more than %d deep at byte %zu; a dump of the flight recorder is not", path,
                DEPTH_MOST, i);
    }
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_keys(const char *path, yajl_val value)
{
    for (size_t i = 0; YAJL_IS_ARRAY(value) && i < value->u.array.len; i++)
        check_keys(path, value->u.array.values[i]);
    if (!YAJL_IS_OBJECT(value))
        return;
    for (size_t i = 0; i < value->u.object.len; i++)
        check_keys(path, value->u.object.values[i]);
    size_t count = value->u.object.len;
    const char **keys = malloc((count + 1) * sizeof *keys);
    if (!keys)
        die(STATUS_WRONG, "%s: no memory for its %zu keys", path, count);
    for (size_t i = 0; i < count; i++)
        keys[i] = value->u.object.keys[i];
    qsort(keys, count, sizeof *keys, compare_texts);
    for (size_t i = 1; i < count; i++)
        if (strcmp(keys[i], keys[i - 1]) == 0) {
            char key[40];
            flight_json_copy(key, sizeof key, keys[i]);
            die(STATUS_USAGE, "%s: the key '%s' stands twice in an object; dump the flight recorder again", path, key);
        }
    free(keys);
}

yajl_val flight_json_read(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && status.st_size > (off_t)MB_MOST * 1000000)
        die(STATUS_USAGE, "%s has more than %d MB; a dump of the flight recorder has a few", path, MB_MOST);
    size_t size = 0;
    char *text = file_read(path, &size), reason[REASON];
    if (!text)
        die(STATUS_USAGE, "cannot read %s: %s", path, strerror(errno));
    if (strlen(text) != size)
        die(STATUS_USAGE,
            "%s: a zero byte at %zu; a pickled dump is converted first, as notebooks-md/your_own_job.md says", path,
            strlen(text));
    check_depth(path, text, size);
    yajl_val tree = yajl_tree_parse(text, reason, sizeof reason);
    free(text);
    reason[strcspn(reason, "\n")] = '\0';
    if (!tree)
        die(STATUS_USAGE, "%s is no JSON: %s; a pickled dump is converted first, as notebooks-md/your_own_job.md says",
            path, reason[0] ? reason : "it is empty");
    check_keys(path, tree);
    return tree;
}

yajl_val flight_json_field(yajl_val object, const char *key)
{
    const char *path[] = { key, NULL };
    yajl_val value = YAJL_IS_OBJECT(object) ? yajl_tree_get(object, path, yajl_t_any) : NULL;
    return YAJL_IS_NULL(value) ? NULL : value;
}

yajl_val flight_json_need(const char *path, const char *what, yajl_val object, const char *key, yajl_type type)
{
    static const char *const words[] = {
        [yajl_t_string] = "a text", [yajl_t_object] = "an object", [yajl_t_array] = "a list"
    };
    yajl_val value = flight_json_field(object, key);
    if (!value || value->type != type)
        die(STATUS_USAGE, "%s: %s has no '%s' that is %s; is this a dump of PyTorch's flight recorder?", path, what,
            key, words[type]);
    return value;
}

int64_t flight_json_whole(const char *path, const char *what, yajl_val object, const char *key, int64_t low,
                          int64_t otherwise)
{
    yajl_val value = flight_json_field(object, key);
    if (!value)
        return otherwise;
    if (YAJL_IS_INTEGER(value) && YAJL_GET_INTEGER(value) >= low)
        return YAJL_GET_INTEGER(value);
    const char *text = YAJL_IS_STRING(value) ? YAJL_GET_STRING(value) : "";
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < low)
        die(STATUS_USAGE, "%s: '%s' of %s is no whole number from %" PRId64 " on; dump the flight recorder again", path,
            key, what, low);
    return number;
}

void flight_json_copy(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
    for (char *c = to; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = '?';
}
